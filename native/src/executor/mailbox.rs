//! What waits for a thread of the pool, and how threads wait for it.

use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use thunkscope_core::graph::NodeId;
use thunkscope_core::trace::TaskId;

/// Something for an idle thread to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// The loop of a posted task, whose queue is in this slot of its plan.
    Task { plan: u32, slot: u32, id: TaskId },
    /// A posted blocking thunk.
    Node { plan: u32, node: NodeId, id: TaskId },
    /// The continuation of a pending thunk that was completed elsewhere.
    Resume { plan: u32, node: NodeId, well: bool },
}

/// A queue of items with parking.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Length of the queue, to look at without the lock.
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    sleepers: usize,
    closed: bool,
}

/// Looks at the queue before a thread parks: some tens of microseconds, what a wake-up costs on a
/// virtual machine.
const SPINS: u32 = 2_000;

impl Mailbox {
    pub(super) fn reserve(&self, items: usize) {
        let mut queue = self.lock();
        let room = items.saturating_sub(queue.items.len());
        queue.items.reserve(room);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, item: Item) {
        let mut queue = self.lock();
        queue.items.push_back(item);
        self.waiting.store(queue.items.len(), Release);
        let wake = queue.sleepers > 0;
        drop(queue);
        if wake {
            // Whoever sleeps here takes whatever comes.
            self.changed.notify_one();
        }
    }

    fn pop(&self, queue: &mut Queue) -> Option<Item> {
        let item = queue.items.pop_front();
        self.waiting.store(queue.items.len(), Release);
        item
    }

    /// Takes an item, or waits until there is one. `None` once closed.
    pub(super) fn take(&self) -> Option<Item> {
        self.take_until(|| false)
    }

    /// As [`Mailbox::take`], but gives up (`None`) once `over` says so. Whoever makes it say so
    /// calls [`Mailbox::wake`] afterwards.
    pub(super) fn take_until(&self, over: impl Fn() -> bool) -> Option<Item> {
        for _ in 0..SPINS {
            if self.waiting.load(Relaxed) > 0 || over() {
                break;
            }
            std::hint::spin_loop();
        }
        let mut queue = self.lock();
        loop {
            // Work that is there comes first: nobody leaves while something is posted.
            if let Some(item) = self.pop(&mut queue) {
                return Some(item);
            }
            if queue.closed || over() {
                return None;
            }
            queue.sleepers += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.sleepers -= 1;
        }
    }

    /// Lets all who wait look again.
    pub(super) fn wake(&self) {
        // Whoever had looked before the change holds the lock until it sleeps.
        let wake = self.lock().sleepers > 0;
        if wake {
            self.changed.notify_all();
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}
