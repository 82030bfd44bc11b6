//! The verdict on one sequence, in a word.

use serde::Serialize;

use super::Measured;
use crate::graph::decision::Decision;

/// How a sequence runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is nothing to run.
    Empty,
    /// In program order on one thread.
    Sequential,
    /// By counters and ready queues, and still on one thread: the ready queue never gets long
    /// enough to be split (xla-import spec §4).
    NeverSplit,
    /// Work is handed to other threads.
    Concurrent,
}

impl Verdict {
    pub(super) fn new(thunks: u32, decision: &Decision, measured: &Measured) -> Self {
        if thunks == 0 {
            Self::Empty
        } else if decision.sequential {
            Self::Sequential
        } else if measured.tasks == 0 {
            Self::NeverSplit
        } else {
            Self::Concurrent
        }
    }

    /// For headings: `sequential`, `concurrent but never split`, `concurrent`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Sequential => "sequential",
            Self::NeverSplit => "concurrent but never split",
            Self::Concurrent => "concurrent",
        }
    }
}
