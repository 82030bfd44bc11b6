//! Sequential consistency: one value a word.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

use super::Shared;
use crate::machine::{Word, memory_of_one_thread};

/// Words of one byte each in a state of a search: counters of small models fit, and so does −1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    len: u8,
    bytes: [Cell<u8>; MOST],
}

/// Most words.
pub(crate) const MOST: usize = 32;

/// From here on a byte stands for a small negative number.
const NEGATIVE: u8 = 0xf0;

/// A value in one byte. Models are small; one whose values do not fit would make states equal that
/// are not.
///
/// # Panics
/// If the value does not fit: a bug of the model.
pub(super) fn pack(value: u32) -> u8 {
    assert!(
        value < u32::from(NEGATIVE) || value >= 0xffff_ff00 | u32::from(NEGATIVE),
        "{value} does not fit a byte"
    );
    value as u8
}

pub(super) fn unpack(byte: u8) -> u32 {
    u32::from(byte) | if byte >= NEGATIVE { 0xffff_ff00 } else { 0 }
}

impl Words {
    fn get(&self, word: Word) -> u32 {
        self.change(word, |_| None)
    }

    fn change(&self, word: Word, new: impl FnOnce(u32) -> Option<u32>) -> u32 {
        let byte = &self.bytes[..usize::from(self.len)][word.0 as usize];
        let held = unpack(byte.get());
        if let Some(value) = new(held) {
            byte.set(pack(value));
        }
        held
    }
}

impl Hash for Words {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in &self.bytes[..usize::from(self.len)] {
            state.write_u8(byte.get());
        }
    }
}

memory_of_one_thread!(Words);

impl Shared for Words {
    type View = ();
    const WEAK: bool = false;

    fn new(words: u32, _: u8) -> Self {
        assert!(words as usize <= MOST, "a memory of {words} words");
        Self { len: words as u8, bytes: [const { Cell::new(0) }; MOST] }
    }
    fn start(&mut self) {}
    fn act(&self, _: u8, _: u8) {}
    fn choices(&self) -> u8 {
        1
    }
    fn view(&self, _: u8) {}
    fn see(&self, _: u8, (): &()) {}
    fn write(&self, _: u8, _: u8) {}
    fn knows(&self, _: u8, _: u8) -> bool {
        true
    }
    fn newest(&self, word: Word) -> u32 {
        self.get(word)
    }
    fn heap(&self) -> usize {
        0
    }
    fn rename(&mut self, _: u8, _: &[u8]) {}
}
