//! Defects that a scenario can ask for.

use std::fmt;
use std::str::FromStr;

use crate::executor;

/// A defect, by its name. Off unless asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// One of the executor's own.
    Executor(executor::Fault),
    /// Conflicts on communicators give no edges.
    NoSchedulingEdges,
    /// An access loses one side of its memory ordering. Has an effect under `ra` alone.
    Weaken(Ordered, Side),
}

/// A group of accesses with the same memory ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ordered {
    /// The decrement that releases an edge.
    Counter,
    /// The decrement that counts a completion.
    Pending,
    /// The increment that expects a completion.
    Expect,
    /// The first failure, written and read.
    Failed,
    /// The end of the run.
    Done,
    /// Joining and leaving the session.
    Session,
    /// A continuation that is attached to an event.
    Attach,
    /// An event that completes.
    Complete,
}

/// One side of a memory ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What the actor has seen is no longer handed on.
    Release,
    /// What others hand on is no longer taken over.
    Acquire,
}

impl Ordered {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Counter,
        Self::Pending,
        Self::Expect,
        Self::Failed,
        Self::Done,
        Self::Session,
        Self::Attach,
        Self::Complete,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Pending => "pending",
            Self::Expect => "expect",
            Self::Failed => "failed",
            Self::Done => "done",
            Self::Session => "session",
            Self::Attach => "attach",
            Self::Complete => "complete",
        }
    }
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Release, Self::Acquire];

    pub(in crate::explore) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Acquire => "acquire",
        }
    }
}

impl Fault {
    /// All of them, in the order in which they are shown.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<_> = executor::Fault::ALL.map(Self::Executor).to_vec();
        all.push(Self::NoSchedulingEdges);
        for of in Ordered::ALL {
            all.extend(Side::ALL.map(|side| Self::Weaken(of, side)));
        }
        all
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executor(fault) => fault.fmt(f),
            Self::NoSchedulingEdges => f.pad("no-scheduling-edges"),
            Self::Weaken(of, side) => f.pad(&format!("{}-without-{}", of.name(), side.name())),
        }
    }
}

impl FromStr for Fault {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self::all();
        let names = || all.iter().map(Self::to_string).collect::<Vec<_>>().join(", ");
        all.iter()
            .copied()
            .find(|fault| fault.to_string() == text)
            .ok_or_else(|| format!("`{text}` is none of {}", names()))
    }
}
