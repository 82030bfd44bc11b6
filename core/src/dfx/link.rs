//! How the host reaches a region: directly, or through a shadow (dfx spec §3.9).

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::machine::{Memory, WideMemory, Word};

/// The host's view of one region.
///
/// With a shadow, what the device writes is seen only after it was [fetched](Link::get), and what
/// the host writes only after it was [put](Link::put): a read that forgets to fetch is stale, and no
/// range is ever copied to the device that the device writes.
#[derive(Debug)]
pub struct Link<'a, M> {
    device: &'a M,
    shadow: Option<&'a M>,
}

impl<M> Clone for Link<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Link<'_, M> {}

impl<'a, M: WideMemory> Link<'a, M> {
    /// A view of `device`; with a shadow, copies are explicit.
    pub fn new(device: &'a M, shadow: Option<&'a M>) -> Self {
        Self { device, shadow }
    }

    /// The memory that the host's own reads go to.
    pub fn host(&self) -> &'a M {
        self.shadow.unwrap_or(self.device)
    }

    /// The memory that holds the arenas: payloads are copied from there, not from a shadow.
    pub fn device(&self) -> &'a M {
        self.device
    }

    /// Reads a word that the device writes.
    pub fn get(&self, word: Word) -> u32 {
        let value = self.device.load(word, Acquire);
        if let Some(shadow) = self.shadow {
            shadow.store(word, value, Relaxed);
        }
        value
    }

    /// Reads a 64-bit word that the device writes.
    pub fn get64(&self, word: Word) -> u64 {
        let value = self.device.load64(word, Acquire);
        if let Some(shadow) = self.shadow {
            shadow.store64(word, value, Relaxed);
        }
        value
    }

    /// Reads a word as the host last saw or wrote it.
    pub fn peek(&self, word: Word) -> u32 {
        self.host().load(word, Acquire)
    }

    /// Writes a word that the host writes.
    pub fn put(&self, word: Word, value: u32) {
        if let Some(shadow) = self.shadow {
            shadow.store(word, value, Relaxed);
        }
        Memory::store(self.device, word, value, Release);
    }

    /// Writes a 64-bit word that the host writes.
    pub fn put64(&self, word: Word, value: u64) {
        if let Some(shadow) = self.shadow {
            shadow.store64(word, value, Relaxed);
        }
        self.device.store64(word, value, Release);
    }

    /// Brings a range that the device no longer writes to the host.
    pub fn fetch(&self, start: Word, words: u32) {
        let Some(shadow) = self.shadow else { return };
        let mut chunk = [0; 256];
        let mut at = 0;
        while at < words {
            let n = (words - at).min(chunk.len() as u32);
            let chunk = &mut chunk[..n as usize];
            self.device.read_range(start.plus(at), chunk);
            shadow.write_range(start.plus(at), chunk);
            at += n;
        }
    }

    /// Reads a range as the host last fetched it.
    pub fn read(&self, start: Word, values: &mut [u32]) {
        self.host().read_range(start, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::LocalMemory;

    #[test]
    fn a_shadow_is_stale_until_it_is_fetched() {
        let (device, shadow) = (LocalMemory::new(64), LocalMemory::new(64));
        let shared = Link::new(&device, None);
        let link = Link::new(&device, Some(&shadow));
        Memory::store(&device, Word(4), 7, Release);
        device.write_range(Word(8), &[1, 2, 3]);
        let mut range = [9; 3];
        link.read(Word(8), &mut range);
        assert_eq!((link.peek(Word(4)), range), (0, [0; 3]), "nothing was fetched");
        assert_eq!(shared.peek(Word(4)), 7);
        link.fetch(Word(8), 3);
        link.read(Word(8), &mut range);
        assert_eq!((link.get(Word(4)), link.peek(Word(4)), range), (7, 7, [1, 2, 3]));
        link.put(Word(5), 3);
        assert_eq!(Memory::load(&device, Word(5), Acquire), 3);
        assert_eq!(Memory::load(&device, Word(4), Acquire), 7, "what the device wrote is not rolled back");
    }
}
