//! The set of keys of states that were seen: one flat table, 16 bytes a slot.

use super::key::Key;

/// A set of keys by open addressing. A key is already a hash, so its high bits are the address.
#[derive(Debug)]
pub(super) struct Visited {
    /// 0 is an empty slot.
    slots: Vec<u128>,
    /// By slot, the number of the key in the order of adding; empty if nobody asks for it.
    numbers: Vec<u32>,
    len: usize,
}

/// Slots of the first table.
const FIRST: usize = 1 << 10;

impl Visited {
    /// An empty set; `numbered` if keys will be asked for their numbers.
    pub(super) fn new(numbered: bool) -> Self {
        Self { slots: vec![0; FIRST], numbers: vec![0; if numbered { FIRST } else { 0 }], len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that the table takes now.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(self.slots.as_slice()) + size_of_val(self.numbers.as_slice())) as u64
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.slots[self.place(key.0)] == key.0
    }

    /// The number of a key that is there, in a numbered set.
    pub(super) fn number(&self, key: Key) -> u32 {
        self.numbers[self.place(key.0)]
    }

    /// Adds a key; false if it was there.
    pub(super) fn insert(&mut self, key: Key) -> bool {
        // Linear probing stays short up to here.
        if (self.len + 1) * 8 > self.slots.len() * 7 {
            self.grow();
        }
        let place = self.place(key.0);
        if self.slots[place] == key.0 {
            return false;
        }
        self.slots[place] = key.0;
        if let Some(number) = self.numbers.get_mut(place) {
            *number = self.len as u32;
        }
        self.len += 1;
        true
    }

    /// Where the key is, or the empty slot where it belongs.
    fn place(&self, key: u128) -> usize {
        let slots = self.slots.len();
        let high = (key >> 64) as u64;
        let mut place = ((u128::from(high) * slots as u128) >> 64) as usize;
        while self.slots[place] != 0 && self.slots[place] != key {
            place += 1;
            if place == slots {
                place = 0;
            }
        }
        place
    }

    /// Half as large again: between a double and nothing, so that the table is never half empty.
    fn grow(&mut self) {
        let slots = self.slots.len() + self.slots.len() / 2;
        let numbered = if self.numbers.is_empty() { 0 } else { slots };
        let old = std::mem::replace(&mut self.slots, vec![0; slots]);
        let numbers = std::mem::replace(&mut self.numbers, vec![0; numbered]);
        for (at, key) in old.into_iter().enumerate().filter(|&(_, key)| key != 0) {
            let place = self.place(key);
            self.slots[place] = key;
            if let (Some(to), Some(&number)) = (self.numbers.get_mut(place), numbers.get(at)) {
                *to = number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rng::Rng;

    /// Against the standard set, through several growths; keys crowd at both ends of the table.
    #[test]
    fn is_a_set() {
        let (mut set, mut oracle, mut rng) = (Visited::new(true), BTreeMap::new(), Rng::new(5));
        for _ in 0..20_000 {
            let high = match rng.below(3) {
                0 => rng.below(4),
                1 => u64::MAX - rng.below(4),
                _ => rng.next_u64(),
            };
            let key = Key((u128::from(high) << 64 | u128::from(rng.below(3_000))).max(1));
            assert_eq!(set.contains(key), oracle.contains_key(&key));
            let next = oracle.len() as u32;
            assert_eq!(set.insert(key), *oracle.entry(key).or_insert(next) == next);
            assert_eq!(set.number(key), oracle[&key]);
        }
        assert_eq!(set.len(), oracle.len());
        assert!(set.bytes() < 50 * set.len() as u64, "{} for {}", set.bytes(), set.len());
    }
}
