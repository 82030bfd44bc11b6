//! Handing work over: where posted tasks go, and whether it pays.

use std::time::Instant;

use thunkscope_core::executor::{ReadyQueue, Runner, Task};

use super::drive::Shared;
use super::mailbox::Item;
use super::thunks::Thunks;

/// The task runner of one worker loop.
pub(super) struct Post<'s, Q, T> {
    pub(super) shared: &'s Shared<Q, T>,
    pub(super) plan: usize,
    pub(super) meter: Meter,
    /// Tasks that the log has yet to number; empty and unused while nothing is recorded.
    pub(super) held: Option<Vec<Task<Q>>>,
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Post<'_, Q, T> {
    /// Sends a task on its way.
    pub(super) fn send(&self, task: Task<Q>, id: u32) {
        let plan = &self.shared.plans[self.plan];
        let mut ready = task.ready;
        self.shared.enter_item();
        let at = self.plan as u32;
        let item = if task.blocking
            && let Some(node) = ready.pop()
        {
            // A single node needs no queue while it waits.
            plan.keep(ready);
            Item::Node { plan: at, node, id }
        } else {
            self.shared.tried();
            Item::Task { plan: at, slot: plan.put(ready), id }
        };
        self.shared.mailbox.push(item);
    }
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Runner<Q> for Post<'_, Q, T> {
    #[inline]
    fn available(&self) -> bool {
        self.shared.has_pool
    }

    #[inline]
    fn pays(&mut self) -> bool {
        self.meter.pays()
    }

    fn post(&mut self, task: Task<Q>) {
        match &mut self.held {
            Some(held) => held.push(task),
            None => {
                let id = self.shared.next_task();
                self.send(task, id);
            }
        }
    }

    fn spare(&mut self) -> Q {
        self.shared.plans[self.plan].spare()
    }
}

/// The task runner of a thread that is alone.
pub(super) struct Nobody;

impl<Q> Runner<Q> for Nobody {
    #[inline(always)]
    fn available(&self) -> bool {
        false
    }

    fn post(&mut self, _: Task<Q>) {
        unreachable!("nothing is posted where nothing is available")
    }
}

/// Measures whether thunks are long enough to be handed over.
///
/// A task costs its poster and its taker some microseconds, and from then on every counter is
/// shared between caches, tens of ns for each thunk. Below that, one thread is faster than two.
#[derive(Debug)]
pub(super) struct Meter {
    pays: bool,
    /// Thunks run in this window.
    thunks: u32,
    /// Thunks after which the clock is read.
    next: u32,
    since: Option<Instant>,
    /// How long this window is to take, in ns.
    aim: u64,
    /// Windows in a row in which it paid: one may be an interruption.
    good: u32,
}

/// Shortest time of a window, in ns: looking takes some hundreds, the clock alone some 25 to 50.
const WINDOW_NS: u64 = 2_000;
/// Longest aim, in ns: what looking costs where nothing pays. Windows are counted in thunks, so
/// this is also how late it is noticed that thunks became longer.
const MAX_WINDOW_NS: u64 = 16_000;
/// Average time of a thunk from which on a split pays, in ns.
const PAYS_NS: u64 = 64;

impl Meter {
    /// `always`: do not measure, hand over whenever the rule says so.
    pub(super) fn new(always: bool) -> Self {
        Self { pays: always, thunks: 0, next: 0, since: None, aim: WINDOW_NS, good: 0 }
    }

    /// A thunk has been run.
    #[inline]
    pub(super) fn thunk(&mut self) {
        self.thunks = self.thunks.wrapping_add(1);
    }

    /// Whether it was found to pay; that holds for the rest of the loop.
    pub(super) fn has_paid(&self) -> bool {
        self.pays
    }

    /// After how many more thunks the clock should be read, at least 1.
    pub(super) fn window(&self) -> u32 {
        self.next.saturating_sub(self.thunks).saturating_add(1)
    }

    /// So many thunks have been run: reads the clock if it is time for it.
    pub(super) fn ran(&mut self, thunks: u32) {
        self.thunks = self.thunks.wrapping_add(thunks);
        self.pays();
    }

    #[inline]
    fn pays(&mut self) -> bool {
        self.pays || (self.thunks > self.next && self.measure())
    }

    #[cold]
    fn measure(&mut self) -> bool {
        let now = Instant::now();
        let Some(since) = self.since else {
            (self.since, self.thunks, self.next) = (Some(now), 0, 0);
            return false;
        };
        let ns = now.duration_since(since).as_nanos() as u64;
        if ns < WINDOW_NS {
            // The window goes on: look again when twice as many have run.
            self.next = 2 * self.thunks;
            return false;
        }
        if ns / u64::from(self.thunks.max(1)) >= PAYS_NS {
            (self.good, self.aim) = (self.good + 1, WINDOW_NS);
        } else {
            (self.good, self.aim) = (0, (2 * self.aim).min(MAX_WINDOW_NS));
        }
        self.pays = self.good >= 2;
        let thunks = u64::from(self.thunks).saturating_mul(self.aim) / ns;
        (self.since, self.next, self.thunks) = (Some(now), thunks.clamp(1, 1 << 20) as u32 - 1, 0);
        self.pays
    }
}
