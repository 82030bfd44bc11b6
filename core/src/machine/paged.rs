//! Memory of one thread that takes room only where something was written.

use std::cell::{Cell, OnceCell};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

use super::memory::memory_of_one_thread;
use super::{WideMemory, Word};

/// Words of one page: 4 KiB.
const PAGE: usize = 1024;

type Page = Box<[Cell<u32>; PAGE]>;

/// A large, mostly empty region for the simulator: a payload arena of 128 MiB a lane costs what is
/// written to it. Words that were never written are 0.
#[derive(Clone, Debug)]
pub struct PagedMemory {
    pages: Box<[OnceCell<Page>]>,
}

impl PagedMemory {
    /// `words` words of zero.
    pub fn new(words: usize) -> Self {
        Self { pages: (0..words.div_ceil(PAGE)).map(|_| OnceCell::new()).collect() }
    }

    /// Bytes of the pages that exist.
    pub fn resident(&self) -> u64 {
        self.pages.iter().filter(|page| page.get().is_some()).count() as u64 * PAGE as u64 * 4
    }

    #[inline]
    fn read(&self, at: usize) -> u32 {
        self.pages[at / PAGE].get().map_or(0, |page| page[at % PAGE].get())
    }

    #[inline]
    fn cell(&self, at: usize) -> &Cell<u32> {
        let page = self.pages[at / PAGE].get_or_init(|| Box::new([const { Cell::new(0) }; PAGE]));
        &page[at % PAGE]
    }

    /// Writes words of one page. One that is not there is made of them, or not at all if they are zeros:
    /// most pages are written whole, and once.
    #[inline]
    fn write(&self, index: usize, at: usize, values: &[u32]) {
        let page = &self.pages[index];
        if let Some(page) = page.get() {
            for (cell, &value) in page[at..].iter().zip(values) {
                cell.set(value);
            }
        } else if values.iter().fold(0, |any, value| any | value) != 0 {
            let _ = page.set(Self::page(at, values));
        }
    }

    /// A page of zeros but for `values` from `at` on.
    #[cold]
    #[inline(never)]
    fn page(at: usize, values: &[u32]) -> Page {
        let zero = || Cell::new(0);
        let mut words = Vec::with_capacity(PAGE);
        words.resize_with(at, zero);
        words.extend(values.iter().map(|&value| Cell::new(value)));
        words.resize_with(PAGE, zero);
        words.into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([const { Cell::new(0) }; PAGE]))
    }

    #[inline]
    fn get(&self, word: Word) -> u32 {
        self.read(word.0 as usize)
    }

    fn change(&self, word: Word, new: impl FnOnce(u32) -> Option<u32>) -> u32 {
        let cell = self.cell(word.0 as usize);
        let held = cell.get();
        new(held).into_iter().for_each(|value| cell.set(value));
        held
    }

    /// A page of zeros equals one that was never written.
    fn content(page: &OnceCell<Page>) -> Option<&Page> {
        page.get().filter(|page| page.iter().any(|cell| cell.get() != 0))
    }
}

impl PartialEq for PagedMemory {
    fn eq(&self, other: &Self) -> bool {
        self.pages.len() == other.pages.len()
            && self.pages.iter().zip(&other.pages).all(|(a, b)| Self::content(a) == Self::content(b))
    }
}

impl Eq for PagedMemory {}

impl Hash for PagedMemory {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (index, page) in self.pages.iter().enumerate() {
            for (at, cell) in Self::content(page).into_iter().flat_map(|page| page.iter().enumerate()) {
                if cell.get() != 0 {
                    state.write_u64(((index * PAGE + at) as u64) << 32 | u64::from(cell.get()));
                }
            }
        }
    }
}

memory_of_one_thread!(PagedMemory);

impl WideMemory for PagedMemory {
    fn load64(&self, word: Word, _: Ordering) -> u64 {
        assert!(word.0.is_multiple_of(2), "64-bit word at odd address {word:?}");
        let at = word.0 as usize;
        u64::from(self.read(at)) | u64::from(self.read(at + 1)) << 32
    }
    fn store64(&self, word: Word, value: u64, _: Ordering) {
        assert!(word.0.is_multiple_of(2), "64-bit word at odd address {word:?}");
        let at = word.0 as usize;
        self.cell(at).set(value as u32);
        self.cell(at + 1).set((value >> 32) as u32);
    }
    #[inline]
    fn write_range(&self, start: Word, values: &[u32]) {
        let mut at = start.0 as usize;
        let mut values = values;
        while !values.is_empty() {
            let n = values.len().min(PAGE - at % PAGE);
            let (now, rest) = values.split_at(n);
            self.write(at / PAGE, at % PAGE, now);
            at += n;
            values = rest;
        }
    }
    fn read_range(&self, start: Word, values: &mut [u32]) {
        let mut at = start.0 as usize;
        let mut values = values;
        while !values.is_empty() {
            let n = values.len().min(PAGE - at % PAGE);
            let (now, rest) = values.split_at_mut(n);
            match self.pages[at / PAGE].get() {
                Some(page) => {
                    for (value, cell) in now.iter_mut().zip(&page[at % PAGE..]) {
                        *value = cell.get();
                    }
                }
                None => now.fill(0),
            }
            at += n;
            values = rest;
        }
    }
}
