//! A memory whose accesses lose one side of their ordering.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

use super::{Fault, Ordered, Side};
use crate::executor::{Role, State};
use crate::machine::{LocalMemory, Memory, Operation, Word};

/// Passes accesses on, weakened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weakened<'f, M> {
    memory: M,
    faults: &'f [Fault],
    region: Region,
}

/// What the words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    /// Those of a [`State`].
    State,
    /// One of a session, or one of an event that is attached to or completes.
    Only(Ordered),
}

impl<'f, M> Weakened<'f, M> {
    pub(super) fn new(memory: M, faults: &'f [Fault], region: Region) -> Self {
        Self { memory, faults, region }
    }

    fn order(&self, word: Word, operation: Operation, order: Ordering) -> Ordering {
        if self.faults.is_empty() {
            return order;
        }
        let here = match self.region {
            Region::Only(here) => here,
            Region::State => match (State::<LocalMemory>::role(word), operation) {
                (Role::PendingNodes, Operation::Add) => Ordered::Expect,
                (Role::PendingNodes, _) => Ordered::Pending,
                (Role::Failed, _) => Ordered::Failed,
                (Role::Done, _) => Ordered::Done,
                (Role::Counter(_), _) => Ordered::Counter,
            },
        };
        let lost = |side| self.faults.contains(&Fault::Weaken(here, side));
        let releases = matches!(order, Release | AcqRel) && !lost(Side::Release);
        let acquires = matches!(order, Acquire | AcqRel) && !lost(Side::Acquire);
        match (releases, acquires) {
            (true, true) => AcqRel,
            (true, false) => Release,
            (false, true) => Acquire,
            (false, false) => Relaxed,
        }
    }
}

impl<M: Memory> Memory for Weakened<'_, M> {
    fn load(&self, word: Word, order: Ordering) -> u32 {
        self.memory.load(word, self.order(word, Operation::Load, order))
    }
    fn store(&self, word: Word, value: u32, order: Ordering) {
        self.memory.store(word, value, self.order(word, Operation::Store, order));
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.memory.swap(word, value, self.order(word, Operation::Swap, order))
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.memory.fetch_add(word, value, self.order(word, Operation::Add, order))
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.memory.fetch_sub(word, value, self.order(word, Operation::Sub, order))
    }
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        let success = self.order(word, Operation::Exchange, success);
        let failure = self.order(word, Operation::Load, failure);
        self.memory.compare_exchange(word, current, new, success, failure)
    }
}
