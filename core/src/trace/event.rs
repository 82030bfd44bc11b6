//! One event of a log.

use serde::{Deserialize, Serialize};

use crate::executor::Happening;
use crate::graph::{EdgeKind, NodeId};
use crate::machine::Ticks;

/// Who did it: a lane (0 is the thread that started the run), or [`Actor::EVENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(pub u16);

impl Actor {
    /// Not a lane: the outside world, where pending thunks complete.
    pub const EVENTS: Self = Self(u16::MAX);
}

/// One execution of one sequence; nested sequences get a new one each time they are entered.
pub type RunId = u32;

/// One posted task, in posting order.
pub type TaskId = u32;

/// How a sequence is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In program order on one thread.
    Sequential,
    /// By counters and ready queues.
    Concurrent,
}

/// What brings a lane into a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It entered the sequence: its ready queue holds the sources.
    Caller,
    /// It took this task: its ready queue holds the task's nodes.
    Task(TaskId),
    /// It completed this pending thunk and goes on from there: its ready queue is empty.
    Continuation(NodeId),
}

/// Something that happened at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    #[serde(with = "crate::number::wide")]
    pub t: Ticks,
    /// Who did it.
    pub actor: Actor,
    /// In which execution.
    pub run: RunId,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened. Names are those of contracts §4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// An iteration of the whole program begins.
    IterationStart {
        /// Counts from 0.
        iteration: u32,
    },
    /// An iteration of the whole program is over.
    IterationEnd {
        /// Counts from 0.
        iteration: u32,
    },
    /// The execution of a sequence begins; `run` is new.
    RunStart {
        /// Index into the header's sequences.
        sequence: u32,
        /// How it is executed.
        mode: Mode,
        /// The execution and thunk that entered it, for nested sequences.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        parent: Option<(RunId, NodeId)>,
    },
    /// A lane begins to work on the run.
    LoopStart {
        /// What brought it there.
        by: Entry,
    },
    /// The lane's ready queue is empty: it stops working on the run.
    LoopEnd,
    /// A node left the lane's ready queue.
    Popped {
        /// The node.
        node: NodeId,
    },
    /// Half of the lane's ready queue became a task.
    Split {
        /// Nodes kept.
        kept: u32,
        /// The new task.
        task: TaskId,
        /// The nodes given away.
        nodes: Box<[NodeId]>,
    },
    /// A split was wanted, but the session is full.
    Refused {
        /// Ready nodes at that moment.
        ready: u32,
    },
    /// A blocking thunk became a task of its own.
    Posted {
        /// The new task.
        task: TaskId,
        /// The node.
        node: NodeId,
    },
    /// The number of workers beside the caller.
    Workers {
        /// That number.
        count: u32,
    },
    /// A thunk begins.
    Started {
        /// The node.
        node: NodeId,
    },
    /// A thunk returned, but its event is not available yet.
    Pending {
        /// The node.
        node: NodeId,
    },
    /// The event of a pending thunk became available.
    Available {
        /// The node.
        node: NodeId,
    },
    /// A thunk has completed.
    Finished {
        /// The node.
        node: NodeId,
    },
    /// A thunk has completed with an error.
    Failed {
        /// The node.
        node: NodeId,
    },
    /// A thunk was not executed, because the run is aborted.
    Skipped {
        /// The node.
        node: NodeId,
    },
    /// An edge no longer holds its target; at `left` = 0 the target joins the lane's ready queue.
    Released {
        /// Source of the edge.
        from: NodeId,
        /// Target of the edge.
        to: NodeId,
        /// Kind of the edge.
        edge: EdgeKind,
        /// Edges that still hold the target.
        left: u32,
    },
    /// The number of completions still wanted.
    PendingNodes {
        /// That number.
        count: u32,
    },
    /// The first failure of the run.
    Aborted {
        /// The thunk that failed.
        node: NodeId,
    },
    /// The run is over: its event fires, good or bad.
    Done {
        /// The thunk that failed first, if any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        failed: Option<NodeId>,
    },
    /// Nothing can happen any more, and the run is not over: some thunk never completed.
    Quiet {
        /// Nodes that never became ready.
        never_ready: u32,
        /// Started thunks whose event never came.
        suspects: Box<[NodeId]>,
    },
    /// The last event of a counterexample: something that must hold does not (`explore`).
    Broken {
        /// The name of the property, such as `worker-cap`.
        property: String,
        /// What was found, and where: one sentence.
        what: String,
    },
}

impl EventKind {
    /// The event for what a worker tells, where that says all there is to say: a task that was posted
    /// gets its number, and so its event, from whoever posts it.
    pub fn of(happening: Happening) -> Option<Self> {
        Some(match happening {
            Happening::Popped(node) => Self::Popped { node },
            Happening::Refused { ready } => Self::Refused { ready },
            Happening::Workers(count) => Self::Workers { count },
            Happening::Released { from, to, kind, left } => Self::Released { from, to, edge: kind, left },
            Happening::PendingNodes(count) => Self::PendingNodes { count },
            Happening::Aborted(node) => Self::Aborted { node },
            Happening::Done(failure) => Self::Done { failed: failure.map(|failure| failure.node) },
            Happening::Split { .. } | Happening::PostedBlocking(_) => return None,
        })
    }

    /// Whether a reader would want to stop here: work handed over or refused, something pending,
    /// something wrong, the end.
    pub fn is_interesting(&self) -> bool {
        matches!(
            self,
            Self::Split { .. }
                | Self::Refused { .. }
                | Self::Posted { .. }
                | Self::Pending { .. }
                | Self::Available { .. }
                | Self::Failed { .. }
                | Self::Aborted { .. }
                | Self::Done { .. }
                | Self::Quiet { .. }
                | Self::Broken { .. }
        )
    }
}
