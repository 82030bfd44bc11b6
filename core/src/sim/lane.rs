//! A simulated thread: a stack of what it works on.

use super::control_flow::Cursor;
use crate::executor::{AnyQueue, Failure, Sequential, Worker};
use crate::graph::NodeId;
use crate::machine::Ticks;
use crate::trace::RunId;

use super::pool::Resumption;

/// One thread.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Innermost last. Empty: the thread is idle.
    pub(super) frames: Vec<Frame>,
    /// When its innermost frame goes on; `None` exactly when idle.
    pub(super) at: Option<Ticks>,
}

/// What a thread is in the middle of.
#[derive(Debug)]
pub(super) enum Frame {
    /// The worker loop of a concurrent run.
    Loop {
        run: RunId,
        worker: Worker<AnyQueue>,
        /// It holds a place in the session.
        place: bool,
        step: Step,
    },
    /// A run in program order.
    Sequential { run: RunId, sequential: Sequential, step: Step },
    /// A control-flow thunk, between its nested sequences.
    Nested(Nested),
}

/// Where a loop stands when its turn comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Take the next thunk.
    Begin,
    /// The thunk has completed.
    Completed { node: NodeId, result: Result<(), Failure> },
    /// The thunk has returned, its event is pending.
    Returned { node: NodeId, wait: Wait },
}

/// What a pending thunk's event waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// This much time, then it completes so.
    Time { cost: Ticks, result: Result<(), Failure> },
    /// Nothing: the event never becomes available.
    Forever,
    /// The nested execution that the thunk left behind.
    Child(RunId),
}

/// A control-flow thunk that is being executed.
#[derive(Debug)]
pub(super) struct Nested {
    /// The execution and thunk it belongs to.
    pub(super) run: RunId,
    pub(super) node: NodeId,
    /// What it has yet to enter.
    pub(super) cursor: Cursor,
    /// The nested execution that was entered last.
    pub(super) child: Option<RunId>,
    /// Set once the thunk has returned to its loop as pending: how that loop goes on.
    pub(super) resumption: Option<Resumption>,
}
