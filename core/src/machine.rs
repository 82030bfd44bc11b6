//! What every protocol machine is made of: memory, waiting, ticks (contracts §1).
//!
//! A machine is a small value with a step function. It reads and writes words of a [`Memory`],
//! never waits, never reads a clock, never allocates after construction. When it cannot go on it
//! says so with [`Outcome::Wait`], and its driver decides how to wait: the simulator re-runs it
//! when the word changes, a thread spins, yields and parks on it, the explorer tries every order.

mod fine;
mod memory;
#[cfg(feature = "dfx")]
mod paged;

pub use fine::{Access, Answer, Fine, Moment, Operation, Part};
#[cfg(feature = "explore")]
pub(crate) use memory::memory_of_one_thread;
pub use memory::{AtomicMemory, AtomicView, Atomics, LocalMemory, Memory, WideMemory, Word};
#[cfg(feature = "dfx")]
pub use paged::PagedMemory;

/// Time as an argument: nanoseconds, or cycles of a device profile.
pub type Ticks = u64;

/// How far one call of a step function may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Return after each access that another party can observe (a flag, an index, a counter).
    Fine,
    /// Run until blocked or finished. Must equal an unpreempted run of `Fine`.
    Coarse,
}

/// What one step of a machine came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome<T> {
    /// Something changed; call again.
    Progress,
    /// The machine is done, with its result.
    Ready(T),
    /// Nothing can happen until `word` no longer holds `expected`, or `deadline` has come.
    Wait {
        /// The word that must change.
        word: Word,
        /// The value it holds now.
        expected: u32,
        /// When to give up waiting; `None` only where unbounded waiting is the design (seed 004).
        deadline: Option<Ticks>,
    },
}

/// How a resumable long job (layout, import, simulation) stands after a slice (contracts §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Job {
    /// More to do; `done` of `total` units so far (an estimate, never decreasing).
    Running {
        /// Units done.
        done: u64,
        /// Units in all, as far as known.
        total: u64,
    },
    /// Finished.
    Done,
}
