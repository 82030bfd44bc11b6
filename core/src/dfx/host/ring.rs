//! A ring with one producer and one consumer, in words of the host's memory.

use std::sync::atomic::Ordering::{Acquire, Release};

use crate::machine::{WideMemory, Word};

/// Widest entry, in words.
const WIDEST: usize = super::READY_WORDS as usize;

/// Head and tail run freely; the capacity is a power of two, so that they may wrap at 2³².
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ring {
    pub(crate) head: Word,
    pub(crate) tail: Word,
    pub(crate) slots: Word,
    capacity: u32,
    pub(crate) width: u32,
}

impl Ring {
    /// A ring for at least `entries` entries of `width` words.
    pub(super) fn new(at: Word, entries: u32, width: u32) -> Self {
        let capacity = entries.max(1).next_power_of_two();
        Self { head: at, tail: at.plus(1), slots: at.plus(2), capacity, width }
    }

    pub(crate) fn words(&self) -> u32 {
        2 + self.capacity * self.width
    }

    pub(super) fn is_full(&self, head: u32, tail: u32) -> bool {
        tail.wrapping_sub(head) >= self.capacity
    }

    pub(crate) fn slot(&self, index: u32) -> Word {
        self.slots.plus(index % self.capacity * self.width)
    }

    pub(super) fn write<M: WideMemory>(&self, mem: &M, tail: u32, entry: &[u32]) {
        mem.write_range(self.slot(tail), entry);
    }

    pub(super) fn read<M: WideMemory>(&self, mem: &M, head: u32) -> [u32; WIDEST] {
        let mut entry = [0; WIDEST];
        mem.read_range(self.slot(head), &mut entry[..self.width as usize]);
        entry
    }

    /// Both accesses at once: for seeding, before anybody else looks.
    pub(crate) fn push<M: WideMemory>(&self, mem: &M, entry: &[u32]) {
        let tail = mem.load(self.tail, Acquire);
        self.write(mem, tail, entry);
        mem.store(self.tail, tail.wrapping_add(1), Release);
    }

    /// All entries, oldest first; for checks.
    pub(super) fn content<M: WideMemory>(&self, mem: &M) -> Vec<[u32; WIDEST]> {
        let (head, tail) = (mem.load(self.head, Acquire), mem.load(self.tail, Acquire));
        (0..tail.wrapping_sub(head)).map(|n| self.read(mem, head.wrapping_add(n))).collect()
    }
}
