//! Can it ever go wrong? Every interleaving of the shipped machines, by explicit-state search.
//!
//! A [`Model`] says which actors there are, what each may do next, and what must hold. [`Search`]
//! goes through all states that can be reached, breadth first, so that the first counterexample is
//! a shortest one; it comes as an event log, which the page plays like any other.
//!
//! The models do not describe the machines, they run them: [`machine::fine`](crate::machine::Fine)
//! cuts the very functions that native threads call into single accesses.
//!
//! | what | where |
//! | --- | --- |
//! | the search: budget, limits, progress, counterexample | `search` |
//! | what is kept of a state: a 128-bit hash | `key`, `visited` |
//! | memory with one value a word, or with release and acquire views | [`memory`] |
//! | the thunk executor: workers, counters, events, ranks | [`executor`] |
//! | the transport: lanes, the threads of the host, its death | [`dfx`] |

/// Printed and read by the name, for a type with `ALL` and `name`.
macro_rules! by_name {
    ($type:ty) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.into_iter().find(|one| one.name() == text);
                found.ok_or_else(|| format!("`{text}` is none of {}", Self::ALL.map(Self::name).join(", ")))
            }
        }
    };
}

mod check;
pub mod dfx;
pub mod document;
pub mod executor;
mod key;
pub mod memory;
mod narrator;
mod row;
mod search;
mod sweep;
mod visited;

use std::hash::Hash;

pub use check::{Check, Fault, Group, Property, Scenario, standard};
pub use key::Key;
pub use narrator::{Narrator, Teller};
pub use row::Row;
pub use search::{Counterexample, Limit, Limits, Report, Search, Verdict};
pub use sweep::{Sweep, Totals};

use crate::trace::Header;

/// A world of actors that take steps one at a time.
///
/// Everything here must be a function of its arguments: a search repeats steps.
pub trait Model {
    /// Everything that a step can depend on.
    type State: Clone + Eq + Hash;
    /// One thing that can happen next.
    type Action: Copy;

    /// Whether no state can ever be reached again once it was left. Lets the reduction go without
    /// its guard against putting an action off for ever.
    const ACYCLIC: bool = false;

    /// The state at the start.
    fn initial(&self) -> Self::State;

    /// Puts all that can happen in `state` into the empty list, in an order of its own; nothing if
    /// the world has come to rest.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Lets one thing happen, and tells what it was.
    ///
    /// # Errors
    /// If a property breaks in this step.
    fn step(
        &self,
        state: &mut Self::State,
        action: Self::Action,
        narrator: &mut impl Narrator,
    ) -> Result<Taken, Broken>;

    /// What must hold in a state that has come to rest.
    ///
    /// # Errors
    /// If a property is broken there.
    fn check_end(&self, state: &Self::State) -> Result<(), Broken>;

    /// Turns a state into the one that stands for all that differ from it in the names of equal
    /// actors alone. Nothing, where names matter or symmetry is switched off.
    fn canonicalise(&self, _: &mut Self::State) {}

    /// Whether an end must be reachable from every state, by steps that are not [`Taken::aside`]. An
    /// end is a state in which nothing can happen any more.
    fn must_end(&self) -> bool {
        false
    }

    /// What is broken in a state from which no end can be reached.
    fn cannot_end(&self, _: &Self::State) -> Broken {
        Broken { property: "completion", what: "from here no end can be reached".to_owned() }
    }

    /// Bytes that the model holds for all states together.
    fn shared(&self) -> u64 {
        0
    }

    /// Bytes that a state holds outside of itself.
    fn heap(&self, _: &Self::State) -> u64 {
        0
    }

    /// The head of a counterexample's log.
    fn header(&self) -> Header;

    /// Tells what stands before the first step.
    fn prologue(&self, narrator: &mut impl Narrator);
}

/// What a step was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// It commutes with everything that any other actor may do from here on, and no property can
    /// tell whether it comes before or after: partial-order reduction takes it alone.
    pub alone: bool,
    /// Nobody may count on it to happen: it is looked at, but it is no way to an end.
    pub aside: bool,
    /// Nothing has changed: it was no step at all.
    pub vain: bool,
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name, such as `worker-cap`.
    pub property: &'static str,
    /// What was found, and where: one sentence.
    pub what: String,
}
