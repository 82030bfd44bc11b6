//! What waits for a thread, and what waits for time.

use std::collections::{BTreeMap, VecDeque};

use crate::executor::{AnyQueue, Continuation, Failure, Sequential, Task};
use crate::graph::NodeId;
use crate::machine::Ticks;
use crate::trace::{RunId, TaskId};

/// Posted tasks and completions on their way.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Ready for an idle thread, oldest first.
    pub(super) ready: VecDeque<PoolItem>,
    /// By time, then by order of setting.
    timers: BTreeMap<(Ticks, u64), Timer>,
    set: u64,
}

/// Something for an idle thread to do.
#[derive(Debug)]
pub(super) enum PoolItem {
    Task { run: RunId, id: TaskId, task: Task<AnyQueue> },
    Resume(Resume),
}

/// Something that happens at a time of its own.
#[derive(Debug)]
pub(super) enum Timer {
    /// A pending thunk's event becomes available.
    Available(Resume),
    /// A posted item reaches the pool.
    Deliver(PoolItem),
}

/// A pending thunk that has completed.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    pub(super) run: RunId,
    pub(super) node: NodeId,
    pub(super) resumption: Resumption,
    pub(super) result: Result<(), Failure>,
}

/// How the loop of a pending thunk goes on.
#[derive(Clone, Debug)]
pub(super) enum Resumption {
    Concurrent {
        continuation: Continuation,
        /// The continuation took over its worker's place in the session.
        place: bool,
    },
    Sequential(Sequential),
}

impl Pool {
    /// Sets a timer.
    pub(super) fn at(&mut self, t: Ticks, timer: Timer) {
        self.timers.insert((t, self.set), timer);
        self.set += 1;
    }

    /// The time of the earliest timer.
    pub(super) fn next_timer(&self) -> Option<Ticks> {
        self.timers.first_key_value().map(|((t, _), _)| *t)
    }

    /// Number of timers.
    pub(super) fn timers(&self) -> usize {
        self.timers.len()
    }

    /// Takes the `n`-th timer in the order of time.
    pub(super) fn take_timer(&mut self, n: usize) -> Option<(Ticks, Timer)> {
        let key = *self.timers.keys().nth(n)?;
        self.timers.remove(&key).map(|timer| (key.0, timer))
    }
}
