//! Defects that can be put back on purpose, to show what a rule is for.

use std::fmt;

/// A defect of an executor. None is there unless it is asked for, with [`State::with_fault`] and
/// [`Session::with_fault`]; the explorer shows what each leads to.
///
/// [`State::with_fault`]: super::State::with_fault
/// [`Session::with_fault`]: super::Session::with_fault
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A pending thunk releases its scheduling edges first and counts its own completion after
    /// (seed 004: the increment has to come before any decrement). The run ends too early.
    DecrementBeforeIncrement,
    /// The session's cap is read and the count added in two steps, as XLA does. Two workers that
    /// read at the same time both get the last place.
    InexactCap,
}

impl Fault {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::DecrementBeforeIncrement, Self::InexactCap];

    /// The name of the option value.
    pub fn name(self) -> &'static str {
        match self {
            Self::DecrementBeforeIncrement => "decrement-before-increment",
            Self::InexactCap => "inexact-cap",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
