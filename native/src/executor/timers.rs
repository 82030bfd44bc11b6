//! Work for completion threads: pending thunks by the time at which they complete.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use thunkscope_core::graph::NodeId;

/// A pending thunk: when, in which order of setting, sequence, node.
type Entry = Reverse<(Instant, u64, u32, NodeId)>;

/// Pending thunks that completion threads wait for.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: Mutex<Heap>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Heap {
    entries: BinaryHeap<Entry>,
    set: u64,
    closed: bool,
}

impl Timers {
    pub(super) fn reserve(&self, entries: usize) {
        self.lock().entries.reserve(entries);
    }

    fn lock(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, at: Instant, plan: u32, node: NodeId) {
        let mut heap = self.lock();
        let order = heap.set;
        heap.set += 1;
        heap.entries.push(Reverse((at, order, plan, node)));
        drop(heap);
        self.changed.notify_one();
    }

    /// Waits for the next one that is due. `None` once closed.
    pub(super) fn take(&self) -> Option<(usize, NodeId)> {
        let mut heap = self.lock();
        loop {
            if heap.closed {
                return None;
            }
            let wait = match heap.entries.peek() {
                None => None,
                Some(Reverse((at, ..))) => {
                    let wait = at.saturating_duration_since(Instant::now());
                    if wait.is_zero()
                        && let Some(Reverse((_, _, plan, node))) = heap.entries.pop()
                    {
                        return Some((plan as usize, node));
                    }
                    Some(wait)
                }
            };
            heap = match wait {
                None => self.changed.wait(heap).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => self.changed.wait_timeout(heap, wait).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// Forgets what is to come: the executor goes away.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}
