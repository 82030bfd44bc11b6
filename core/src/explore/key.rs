//! What is kept of a state that was seen: 128 bits of hash.
//!
//! Two different states with one key would make the search skip the second. With n states the odds
//! are below n² / 2¹²⁹: for a billion states, one in 10²⁰.

use std::hash::{Hash, Hasher};

/// The key of a state; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub u128);

impl Key {
    /// The key of a state: the same on every machine.
    pub fn of(state: &impl Hash) -> Self {
        let mut hasher = Mixer::new();
        state.hash(&mut hasher);
        hasher.key()
    }
}

/// Two lanes of multiply and fold, with what was fed gathered to whole words first.
struct Mixer {
    a: u64,
    b: u64,
    /// Bits that wait for a whole word.
    word: u64,
    bits: u32,
    length: u64,
}

/// Odd numbers without structure: the fractional digits of π.
const A: u64 = 0x243f_6a88_85a3_08d3;
const B: u64 = 0x1319_8a2e_0370_7345;
const C: u64 = 0xa409_3822_299f_31d1;
const D: u64 = 0x082e_fa98_ec4e_6c89;

fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    product as u64 ^ (product >> 64) as u64
}

impl Mixer {
    fn new() -> Self {
        Self { a: A, b: B, word: 0, bits: 0, length: 0 }
    }

    fn mix(&mut self, word: u64) {
        // Adding what was fed keeps a lane from staying at zero once it got there.
        self.a = fold(self.a ^ word, C).wrapping_add(word);
        self.b = fold(self.b.rotate_left(29) ^ word, D).wrapping_add(word.rotate_left(32));
    }

    /// Feeds the lowest `bits` bits of `value`; the others are 0.
    fn feed(&mut self, value: u64, bits: u32) {
        self.length += u64::from(bits);
        self.word |= value << self.bits;
        let filled = self.bits + bits;
        if filled < 64 {
            self.bits = filled;
            return;
        }
        let whole = self.word;
        self.mix(whole);
        self.bits = filled - 64;
        self.word = if self.bits == 0 { 0 } else { value >> (bits - self.bits) };
    }

    fn key(mut self) -> Key {
        let (word, length) = (self.word, self.length);
        self.mix(word);
        self.mix(length);
        let high = fold(self.a ^ A, self.b | 1).wrapping_add(self.a);
        let low = fold(self.b ^ B, self.a | 1).wrapping_add(self.b);
        Key((u128::from(high) << 64 | u128::from(low)).max(1))
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // Only for what the standard library might ask; keys come from `key`.
        self.a ^ self.b
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.feed(u64::from_le_bytes(word), 8 * chunk.len() as u32);
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.feed(u64::from(value), 8);
    }
    fn write_u16(&mut self, value: u16) {
        self.feed(u64::from(value), 16);
    }
    fn write_u32(&mut self, value: u32) {
        self.feed(u64::from(value), 32);
    }
    fn write_u64(&mut self, value: u64) {
        self.feed(value, 64);
    }
    // The width of these depends on the machine. Lengths and discriminants are small: a byte does,
    // and what needs more says so.
    fn write_usize(&mut self, value: usize) {
        self.write_isize(value as isize);
    }
    fn write_isize(&mut self, value: isize) {
        match u8::try_from(value) {
            Ok(small) if small < 255 => self.feed(u64::from(small), 8),
            _ => {
                self.feed(255, 8);
                self.feed(value as i64 as u64, 64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Committed: a key that differs between machines would make counts differ.
    #[test]
    fn known_answer() {
        let state = (1u8, [2u16, 3], "abc", vec![4u64; 3], Some(true));
        assert_eq!(format!("{:032x}", Key::of(&state).0), KNOWN);
    }
    const KNOWN: &str = "669118215b440f9223a8627b588a54ce";

    /// Small states that differ in one place or one length have different keys.
    #[test]
    fn small_states_do_not_collide() {
        let mut keys = BTreeSet::new();
        let mut states = 0;
        for a in 0..64u8 {
            for b in 0..64u8 {
                for length in 0..20usize {
                    keys.insert(Key::of(&(a, vec![b; length], b)));
                    states += 1;
                }
            }
        }
        assert_eq!(keys.len(), states);
        // And each half of the key alone tells them apart: no lane is idle.
        let halves: BTreeSet<_> = keys.iter().map(|key| key.0 as u64).collect();
        assert_eq!(halves.len(), states);
        let halves: BTreeSet<_> = keys.iter().map(|key| (key.0 >> 64) as u64).collect();
        assert_eq!(halves.len(), states);
    }
}
