//! The worker cap of a run (executor spec §4): back pressure without a queue and without waiting.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::Fault;
use crate::machine::{AtomicMemory, AtomicView, Memory, Word};

/// Counts the workers that take part beside the thread that started the run. Nested sequences
/// share the session of their parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session<M> {
    memory: M,
    max_workers: u32,
    fault: Option<Fault>,
}

const WORKERS: Word = Word(0);

impl<M: Memory> Session<M> {
    /// Words that `memory` must have.
    pub const WORDS: usize = 1;

    /// A session over memory of [`Self::WORDS`] words, with as many workers as that holds: none if
    /// it is zeroed.
    pub fn new(memory: M, max_workers: u32) -> Self {
        Self { memory, max_workers, fault: None }
    }

    /// The same with a defect, for the explorer. [`Fault::InexactCap`] is the one that matters here.
    #[must_use]
    pub fn with_fault(self, fault: Option<Fault>) -> Self {
        Self { fault, ..self }
    }

    /// Joins if there is room: at most `max_workers` ever hold a place taken here.
    ///
    /// XLA reads the count and adds in two steps, so its cap can be passed for a moment; this one
    /// is exact. An unconditional [`join`](Self::join) may still push the count above the cap.
    #[must_use]
    pub fn try_join(&self) -> bool {
        let mut workers = self.memory.load(WORKERS, Relaxed);
        if self.fault == Some(Fault::InexactCap) {
            return workers < self.max_workers && {
                self.join();
                true
            };
        }
        while workers < self.max_workers {
            match self.memory.compare_exchange(WORKERS, workers, workers + 1, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => workers = now,
            }
        }
        false
    }

    /// Joins regardless of the cap: for a blocking thunk or a continuation.
    pub fn join(&self) {
        self.memory.fetch_add(WORKERS, 1, AcqRel);
    }

    /// Gives a place back.
    pub fn leave(&self) {
        self.memory.fetch_sub(WORKERS, 1, AcqRel);
    }

    /// How many workers take part now.
    pub fn workers(&self) -> u32 {
        self.memory.load(WORKERS, Acquire)
    }
}

impl Session<AtomicMemory> {
    /// The same session, for a loop that has a [`view`](super::State::view) of its state.
    #[inline]
    pub fn view(&self) -> Session<AtomicView<'_>> {
        Session { memory: self.memory.view(), max_workers: self.max_workers, fault: self.fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::LocalMemory;

    #[test]
    fn the_cap_governs_try_join_alone() {
        let session = Session::new(LocalMemory::new(1), 2);
        assert!(session.try_join());
        session.join();
        session.join();
        assert_eq!(session.workers(), 3);
        assert!(!session.try_join());
        session.leave();
        assert!(!session.try_join(), "two are left: the cap");
        session.leave();
        assert!(session.try_join());
    }

    #[test]
    fn a_cap_of_zero_always_refuses() {
        assert!(!Session::new(LocalMemory::new(1), 0).try_join());
    }
}
