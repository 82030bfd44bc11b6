//! The memory of a search over the transport: one for all states, in which one state stands at a time.
//!
//! A region and its host have hundreds of words, a step changes a few. So words are kept in *blocks*,
//! and each block as it once was is kept once and has a number; a state is a row of such numbers
//! ([`Store`]). Going from one state to another writes only the blocks that differ.
//!
//! Words that belong to no block are not kept: padding, the upper halves of addresses, the words of
//! a record behind its first. They are always 0 here, and a store of something else is a bug.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::Ordering;

use super::weak::{Kind, Weak};
use crate::machine::{Memory, WideMemory, Word};

/// All words: the device's, then the host's, then the shadow's.
#[derive(Debug)]
pub(super) struct Scratch {
    cells: Box<[Cell<u32>]>,
    block_of: Box<[u8]>,
    /// One bit a block.
    dirty: Cell<u64>,
    /// Accesses that others can tell, since last asked.
    accesses: RefCell<Vec<Access>>,
    /// Under release and acquire: messages and views, and what each word is to them.
    weak: RefCell<Option<Weak>>,
    kinds: Box<[Kind]>,
    /// Whose step it is; nobody's while the model itself reads and writes.
    party: Cell<Option<u8>>,
}

/// One access to a word that others read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// The word, over all three memories.
    pub(super) word: u32,
    pub(super) value: u32,
    pub(super) store: bool,
}

/// The block of words that are not kept.
pub(super) const NOT_KEPT: u8 = u8::MAX;
/// The block of words that are written and read as 0: nobody reads them who could tell.
pub(super) const FORGOTTEN: u8 = u8::MAX - 1;

impl Scratch {
    pub(super) fn new(block_of: Vec<u8>) -> Self {
        Self {
            cells: vec![Cell::new(0); block_of.len()].into_boxed_slice(),
            block_of: block_of.into_boxed_slice(),
            dirty: Cell::new(0),
            accesses: RefCell::default(),
            weak: RefCell::default(),
            kinds: Box::default(),
            party: Cell::new(None),
        }
    }

    /// From now on under release and acquire.
    pub(super) fn weaken(&mut self, weak: Weak, kinds: Vec<Kind>) {
        self.weak = RefCell::new(Some(weak));
        self.kinds = kinds.into_boxed_slice();
    }

    /// What `look` says of the messages and views; nothing where words have one value.
    pub(super) fn weakly<T: Default>(&self, look: impl FnOnce(&mut Weak) -> T) -> T {
        self.weak.borrow_mut().as_mut().map(look).unwrap_or_default()
    }

    /// Until the next call, accesses are made by this party.
    pub(super) fn act(&self, party: Option<u8>) {
        self.party.set(party);
    }

    /// Counts from `base` in this word.
    pub(super) fn shift(&self, word: u32, base: u32) {
        self.set(word, self.get(word).wrapping_sub(base));
        if let Some(&Kind::Flag(flag, _)) = self.kinds.get(word as usize) {
            self.weakly(|weak| weak.shift(flag, base));
        }
    }

    /// Puts messages and views back as they were.
    pub(super) fn restore_weak(&self, bytes: &[u8], flags: &[u32]) {
        self.weakly(|weak| weak.decode(bytes, |flag| self.get(flags[flag])));
    }

    /// As if the party touched the place that this word belongs to.
    fn touch(&self, word: u32) {
        if let (Some(party), Some(&Kind::Place(place))) = (self.party.get(), self.kinds.get(word as usize)) {
            self.weakly(|weak| weak.touch(party, place));
        }
    }

    /// What a load finds.
    fn find(&self, word: u32, order: Ordering) -> u32 {
        match (self.party.get(), self.kinds.get(word as usize)) {
            (Some(party), Some(&Kind::Flag(flag, role))) => {
                self.weakly(|weak| weak.load(party, flag, role, order))
            }
            _ => {
                self.touch(word);
                self.get(word)
            }
        }
    }

    pub(super) fn get(&self, word: u32) -> u32 {
        self.cells[word as usize].get()
    }

    #[inline]
    pub(super) fn set(&self, word: u32, value: u32) {
        let block = self.block_of[word as usize];
        if block >= FORGOTTEN {
            debug_assert!(value == 0 || block == FORGOTTEN, "word {word} is not kept");
            return;
        }
        let cell = &self.cells[word as usize];
        if cell.get() != value {
            cell.set(value);
            self.dirty.set(self.dirty.get() | 1 << block);
        }
    }

    /// Puts a block back as it was.
    pub(super) fn restore(&self, words: &[u32], values: &[u32]) {
        for (&word, &value) in words.iter().zip(values) {
            self.cells[word as usize].set(value);
        }
    }

    /// Blocks that were changed since last asked, one bit each.
    pub(super) fn take_dirty(&self) -> u64 {
        self.dirty.take()
    }

    /// Whether nothing was changed since [`Self::take_dirty`].
    pub(super) fn is_clean(&self) -> bool {
        self.dirty.get() == 0
    }

    fn note(&self, word: u32, value: u32, store: bool) {
        self.accesses.borrow_mut().push(Access { word, value, store });
    }

    /// Takes the accesses that were noted since the last call into `into`.
    pub(super) fn take_accesses(&self, into: &mut Vec<Access>) {
        into.clear();
        into.append(&mut self.accesses.borrow_mut());
    }
}

/// One of the three memories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub(super) scratch: &'a Scratch,
    pub(super) start: u32,
}

impl Side<'_> {
    /// A read-modify-write.
    fn change(&self, word: Word, order: Ordering, new: impl FnOnce(u32) -> Option<u32>) -> u32 {
        let at = self.start + word.0;
        let held = self.scratch.get(at);
        let new = new(held);
        if let (Some(value), Some(party), Some(&Kind::Flag(flag, role))) =
            (new, self.scratch.party.get(), self.scratch.kinds.get(at as usize))
        {
            self.scratch.weakly(|weak| weak.modify(party, flag, role, value, order));
        } else {
            self.scratch.touch(at);
        }
        self.noted(at, held, new, order);
        held
    }

    fn noted(&self, at: u32, held: u32, new: Option<u32>, order: Ordering) {
        // What is relaxed is the owner's own.
        if order != Ordering::Relaxed {
            self.scratch.note(at, new.unwrap_or(held), new.is_some());
        }
        if let Some(new) = new {
            self.scratch.set(at, new);
        }
    }
}

impl Memory for Side<'_> {
    fn load(&self, word: Word, order: Ordering) -> u32 {
        let at = self.start + word.0;
        let found = self.scratch.find(at, order);
        self.noted(at, found, None, order);
        found
    }
    fn store(&self, word: Word, value: u32, order: Ordering) {
        let at = self.start + word.0;
        let (party, kind) = (self.scratch.party.get(), self.scratch.kinds.get(at as usize));
        if let (Some(party), Some(&Kind::Flag(flag, role))) = (party, kind) {
            self.scratch.weakly(|weak| weak.store(party, flag, role, value, order));
        } else {
            self.scratch.touch(at);
        }
        self.noted(at, value, Some(value), order);
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.change(word, order, |_| Some(value))
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.change(word, order, |held| Some(held.wrapping_add(value)))
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.change(word, order, |held| Some(held.wrapping_sub(value)))
    }
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        _: Ordering,
    ) -> Result<u32, u32> {
        let held = self.change(word, success, |held| (held == current).then_some(new));
        if held == current { Ok(held) } else { Err(held) }
    }
}

impl WideMemory for Side<'_> {
    fn load64(&self, word: Word, order: Ordering) -> u64 {
        u64::from(self.load(word, order)) | u64::from(self.scratch.get(self.start + word.0 + 1)) << 32
    }
    fn store64(&self, word: Word, value: u64, order: Ordering) {
        self.store(word, value as u32, order);
        self.scratch.set(self.start + word.0 + 1, (value >> 32) as u32);
    }
    fn write_range(&self, start: Word, values: &[u32]) {
        for (word, &value) in (self.start + start.0..).zip(values) {
            self.scratch.touch(word);
            self.scratch.set(word, value);
        }
    }
    fn read_range(&self, start: Word, values: &mut [u32]) {
        for (word, value) in (self.start + start.0..).zip(values) {
            self.scratch.touch(word);
            *value = self.scratch.get(word);
        }
    }
}

/// Values that were seen, each with a number, in the order of finding.
#[derive(Debug)]
pub(super) struct Store<T> {
    ids: HashMap<T, u32, BuildHasherDefault<Fold>>,
    items: Vec<T>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { ids: HashMap::default(), items: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Store<T> {
    /// The number of a value.
    pub(super) fn put(&mut self, value: T) -> u32 {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        let id = self.items.len() as u32;
        self.items.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    pub(super) fn get(&self, id: u32) -> &T {
        &self.items[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Bytes, not counting what values hold outside of themselves.
    pub(super) fn bytes(&self) -> u64 {
        ((self.items.capacity() + self.ids.capacity()) * size_of::<T>() + self.ids.capacity() * 5) as u64
    }
}

impl<T: Eq + Hash + Clone> Store<Box<[T]>> {
    /// The number of a block.
    pub(super) fn put_block(&mut self, values: &[T]) -> u32 {
        match self.ids.get(values) {
            Some(&id) => id,
            None => self.put(values.into()),
        }
    }
}

/// A quick hash for tables that nobody attacks.
#[derive(Debug, Default)]
pub(super) struct Fold(u64);

impl Fold {
    fn mix(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.0 = ((product as u64) ^ (product >> 64) as u64).rotate_left(17).wrapping_add(value);
    }
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.mix(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}
