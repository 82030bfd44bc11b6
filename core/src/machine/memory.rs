//! A region of words that several parties read and write.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};

/// The address of a 32-bit word: its index in the region, not a byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub u32);

impl Word {
    /// The word `n` places further on.
    #[must_use]
    pub fn plus(self, n: u32) -> Self {
        Self(self.0 + n)
    }
}

/// Atomic access to the 32-bit words of a region.
///
/// Addresses are given by the layouts of this crate, so one outside the region is a bug here and
/// panics; values read are never trusted where another process may have written them.
pub trait Memory {
    /// Reads a word.
    fn load(&self, word: Word, order: Ordering) -> u32;
    /// Writes a word.
    fn store(&self, word: Word, value: u32, order: Ordering);
    /// Writes a word and returns what it held.
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32;
    /// Adds, wrapping, and returns what the word held before.
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32;
    /// Subtracts, wrapping, and returns what the word held before.
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32;
    /// Writes words one after the other from `start`, each with release. Another party may read
    /// them meanwhile; what is longer than the region is a bug and may be cut.
    fn store_all(&self, start: Word, values: impl Iterator<Item = u32>)
    where
        Self: Sized,
    {
        (start.0..).zip(values).for_each(|(word, value)| self.store(Word(word), value, Ordering::Release));
    }
    /// Writes `new` if the word holds `current`. Returns what it held: `Ok` when written.
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32>;
}

impl<M: Memory + ?Sized> Memory for &M {
    fn load(&self, word: Word, order: Ordering) -> u32 {
        (**self).load(word, order)
    }
    fn store(&self, word: Word, value: u32, order: Ordering) {
        (**self).store(word, value, order);
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        (**self).swap(word, value, order)
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        (**self).fetch_add(word, value, order)
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        (**self).fetch_sub(word, value, order)
    }
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        (**self).compare_exchange(word, current, new, success, failure)
    }
}

/// A region that also has 64-bit words and bulk copies.
pub trait WideMemory: Memory {
    /// Reads the 64-bit word that starts at `word` (which must be even).
    fn load64(&self, word: Word, order: Ordering) -> u64;
    /// Writes the 64-bit word that starts at `word` (which must be even).
    fn store64(&self, word: Word, value: u64, order: Ordering);
    /// Copies words into a range that the caller owns.
    fn write_range(&self, start: Word, values: &[u32]);
    /// Copies words out of a range that the caller owns.
    fn read_range(&self, start: Word, values: &mut [u32]);
}

/// Makes a memory of one thread out of two of its functions: `get(word)`, and `change(word, new)`,
/// which gives back what was held and puts what `new` makes of it, if that is something. Orderings
/// mean nothing there.
macro_rules! memory_of_one_thread {
    ($type:ty) => {
        impl $crate::machine::Memory for $type {
            #[inline]
            fn load(&self, word: Word, _: Ordering) -> u32 {
                self.get(word)
            }
            #[inline]
            fn store(&self, word: Word, value: u32, _: Ordering) {
                self.change(word, |_| Some(value));
            }
            #[inline]
            fn swap(&self, word: Word, value: u32, _: Ordering) -> u32 {
                self.change(word, |_| Some(value))
            }
            #[inline]
            fn fetch_add(&self, word: Word, value: u32, _: Ordering) -> u32 {
                self.change(word, |held| Some(held.wrapping_add(value)))
            }
            #[inline]
            fn fetch_sub(&self, word: Word, value: u32, _: Ordering) -> u32 {
                self.change(word, |held| Some(held.wrapping_sub(value)))
            }
            #[inline]
            fn compare_exchange(
                &self,
                word: Word,
                current: u32,
                new: u32,
                _: Ordering,
                _: Ordering,
            ) -> Result<u32, u32> {
                let held = self.change(word, |held| (held == current).then_some(new));
                if held == current { Ok(held) } else { Err(held) }
            }
        }
    };
}
#[cfg(any(feature = "dfx", feature = "explore"))]
pub(crate) use memory_of_one_thread;

/// Memory of one thread: for the simulator and the explorer, which snapshot and hash it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMemory(Box<[Cell<u32>]>);

impl LocalMemory {
    /// `words` words of zero.
    pub fn new(words: usize) -> Self {
        Self(vec![Cell::new(0); words].into_boxed_slice())
    }

    fn cell(&self, word: Word) -> &Cell<u32> {
        &self.0[word.0 as usize]
    }

    fn get(&self, word: Word) -> u32 {
        self.cell(word).get()
    }

    fn change(&self, word: Word, new: impl FnOnce(u32) -> Option<u32>) -> u32 {
        let cell = self.cell(word);
        let held = cell.get();
        new(held).into_iter().for_each(|value| cell.set(value));
        held
    }
}

impl Hash for LocalMemory {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for cell in &self.0 {
            state.write_u32(cell.get());
        }
    }
}

memory_of_one_thread!(LocalMemory);

impl WideMemory for LocalMemory {
    fn load64(&self, word: Word, _: Ordering) -> u64 {
        assert!(word.0.is_multiple_of(2), "64-bit word at odd address {word:?}");
        u64::from(self.cell(word).get()) | u64::from(self.cell(word.plus(1)).get()) << 32
    }
    fn store64(&self, word: Word, value: u64, _: Ordering) {
        assert!(word.0.is_multiple_of(2), "64-bit word at odd address {word:?}");
        self.cell(word).set(value as u32);
        self.cell(word.plus(1)).set((value >> 32) as u32);
    }
    fn write_range(&self, start: Word, values: &[u32]) {
        let start = start.0 as usize;
        for (cell, &value) in self.0[start..start + values.len()].iter().zip(values) {
            cell.set(value);
        }
    }
    fn read_range(&self, start: Word, values: &mut [u32]) {
        let start = start.0 as usize;
        for (value, cell) in values.iter_mut().zip(&self.0[start..]) {
            *value = cell.get();
        }
    }
}

/// Memory of one process, shared by its threads: words that it owns, or a view of such.
#[derive(Clone, Copy, Debug)]
pub struct Atomics<W>(W);

/// The words themselves.
pub type AtomicMemory = Atomics<Box<[AtomicU32]>>;
/// The words of an [`AtomicMemory`], by their address: what a loop looks up once.
pub type AtomicView<'m> = Atomics<&'m [AtomicU32]>;

impl AtomicMemory {
    /// `words` words of zero.
    pub fn new(words: usize) -> Self {
        Self((0..words).map(|_| AtomicU32::new(0)).collect())
    }

    /// The same words.
    #[inline]
    pub fn view(&self) -> AtomicView<'_> {
        Atomics(&self.0)
    }
}

impl<W: Deref<Target = [AtomicU32]>> Atomics<W> {
    #[inline]
    fn cell(&self, word: Word) -> &AtomicU32 {
        &self.0[word.0 as usize]
    }
}

impl<W: Deref<Target = [AtomicU32]>> Memory for Atomics<W> {
    #[inline]
    fn load(&self, word: Word, order: Ordering) -> u32 {
        self.cell(word).load(order)
    }
    #[inline]
    fn store(&self, word: Word, value: u32, order: Ordering) {
        self.cell(word).store(value, order);
    }
    #[inline]
    fn store_all(&self, start: Word, values: impl Iterator<Item = u32>) {
        let cells = &self.0[start.0 as usize..];
        cells.iter().zip(values).for_each(|(cell, value)| cell.store(value, Ordering::Release));
    }
    #[inline]
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.cell(word).swap(value, order)
    }
    #[inline]
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.cell(word).fetch_add(value, order)
    }
    #[inline]
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.cell(word).fetch_sub(value, order)
    }
    #[inline]
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.cell(word).compare_exchange(current, new, success, failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{AcqRel, Acquire, Relaxed, Release};

    /// One list of expectations, run on every kind of memory.
    fn check(mem: &impl Memory) {
        let word = Word(3);
        mem.store(word, 5, Release);
        assert_eq!(mem.load(word, Acquire), 5);
        assert_eq!(mem.swap(word, 7, AcqRel), 5);
        assert_eq!(mem.fetch_add(word, u32::MAX, AcqRel), 7);
        assert_eq!(mem.fetch_sub(word, 7, AcqRel), 6);
        assert_eq!(mem.load(word, Relaxed), u32::MAX);
        assert_eq!(mem.compare_exchange(word, 0, 1, AcqRel, Acquire), Err(u32::MAX));
        assert_eq!(mem.compare_exchange(word, u32::MAX, 1, AcqRel, Acquire), Ok(u32::MAX));
        assert_eq!(mem.load(word.plus(1), Relaxed), 0);
    }

    #[test]
    fn local_and_atomic_memory_agree() {
        check(&LocalMemory::new(8));
        check(&AtomicMemory::new(8));
    }

    #[test]
    fn wide_words_and_ranges() {
        let mem = LocalMemory::new(8);
        mem.store64(Word(2), 0x0123_4567_89ab_cdef, Release);
        assert_eq!(mem.load64(Word(2), Acquire), 0x0123_4567_89ab_cdef);
        assert_eq!(mem.load(Word(2), Relaxed), 0x89ab_cdef);
        mem.write_range(Word(4), &[1, 2, 3]);
        let mut read = [0; 4];
        mem.read_range(Word(4), &mut read);
        assert_eq!(read, [1, 2, 3, 0]);
    }
}
