//! What one thread is at, for others to look at without stopping it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use serde::Serialize;
use thunkscope_core::graph::NodeId;

/// Published by the one thread that has the lane; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Lane {
    current: AtomicU64,
    last: AtomicU64,
    busy_ns: AtomicU64,
    peak_ready: AtomicU64,
    failed: AtomicBool,
}

/// Sequence + 1, thunk; 0 for none.
fn packed(plan: usize, node: NodeId) -> u64 {
    (plan as u64 + 1) << 32 | u64::from(node)
}

fn unpacked(word: u64) -> Option<(usize, NodeId)> {
    Some((((word >> 32) as usize).checked_sub(1)?, word as u32))
}

impl Lane {
    /// The lane is inside this thunk from now on.
    #[inline]
    pub(super) fn begins(&self, plan: usize, node: NodeId) {
        self.current.store(packed(plan, node), Relaxed);
    }

    /// It has left it, and it had completed.
    #[inline]
    pub(super) fn completes(&self, plan: usize, node: NodeId) {
        self.last.store(packed(plan, node), Relaxed);
    }

    /// It is inside no thunk.
    #[inline]
    pub(super) fn rests(&self) {
        self.current.store(0, Relaxed);
    }

    /// A thunk failed on it.
    pub(super) fn fails(&self) {
        self.failed.store(true, Relaxed);
    }

    /// Whether one did since this was asked last.
    pub(super) fn take_failed(&self) -> bool {
        self.failed.swap(false, Relaxed)
    }

    pub(super) fn current(&self) -> Option<(usize, NodeId)> {
        unpacked(self.current.load(Relaxed))
    }

    pub(super) fn last(&self) -> Option<(usize, NodeId)> {
        unpacked(self.last.load(Relaxed))
    }

    pub(super) fn was_busy(&self, time: Duration) {
        self.busy_ns.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    pub(super) fn saw_ready(&self, ready: usize) {
        if ready as u64 > self.peak_ready.load(Relaxed) {
            self.peak_ready.store(ready as u64, Relaxed);
        }
    }

    pub(super) fn reset(&self) {
        self.last.store(0, Relaxed);
        self.busy_ns.store(0, Relaxed);
        self.peak_ready.store(0, Relaxed);
        self.rests();
    }

    pub(super) fn report(&self) -> LaneReport {
        LaneReport { busy_ns: self.busy_ns.load(Relaxed), peak_ready: self.peak_ready.load(Relaxed) }
    }
}

/// What one lane did since the executor was built, or since its figures were reset. All 0 unless
/// [`Options::measure`](super::Options::measure) is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaneReport {
    /// Time inside worker loops, in ns.
    pub busy_ns: u64,
    /// Longest ready queue.
    pub peak_ready: u64,
}
