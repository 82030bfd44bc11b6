//! What must hold of every run (executor spec §7).

/// A property of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// Every thunk begins once and completes once; no edge is released twice.
    ExactlyOnce,
    /// The run's event fires once, and not before every thunk has completed.
    EventOnce,
    /// Every thunk finds the values that program order gives it: all that it reads or overwrites
    /// was written, read and done with, and is visible.
    SequentialResult,
    /// Workers that took a place with `try_join` never exceed the cap.
    WorkerCap,
    /// A run comes to its end, with nobody and nothing left behind.
    NoDeadlock,
    /// The collectives of one communicator start in the same order on every rank.
    StartOrder,
    /// The run returns an error iff a thunk failed, and nothing runs over a failure that it
    /// depends on.
    FirstError,
}

impl Property {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::ExactlyOnce,
        Self::EventOnce,
        Self::SequentialResult,
        Self::WorkerCap,
        Self::NoDeadlock,
        Self::StartOrder,
        Self::FirstError,
    ];

    /// The name of the option value.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExactlyOnce => "exactly-once",
            Self::EventOnce => "event-once",
            Self::SequentialResult => "sequential-result",
            Self::WorkerCap => "worker-cap",
            Self::NoDeadlock => "no-deadlock",
            Self::StartOrder => "start-order",
            Self::FirstError => "first-error",
        }
    }
}

impl Property {
    /// What it says, in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::ExactlyOnce => "every thunk begins once and completes once, and no edge is released twice",
            Self::EventOnce => "the run's event fires once, and not before every thunk has completed",
            Self::SequentialResult => "every thunk finds the values that program order gives it",
            Self::WorkerCap => "workers that took a place never exceed the cap",
            Self::NoDeadlock => "a run comes to its end, with nobody and nothing left behind",
            Self::StartOrder => "collectives of one communicator start in the same order on every rank",
            Self::FirstError => "a run returns an error if and only if a thunk failed",
        }
    }
}

by_name!(Property);
