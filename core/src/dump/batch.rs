//! The staging area of one lane: requests and copied bytes, in room taken beforehand.
//!
//! A dump kernel is a step of the device; here its front half is the copy into this area, on the
//! lane, and its back half ([`drain`](super::worker::drain)) decodes and writes elsewhere.

use super::record::{Phase, Scenario};
use super::target::{Target, Unreadable};

/// What stands in front of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What made somebody dump.
    pub scenario: Scenario,
    /// Which moment of the op.
    pub phase: Phase,
    /// The lane.
    pub lane: u32,
    /// The device.
    pub device: u32,
    /// The step cell.
    pub step: u64,
    /// Microseconds.
    pub time: u64,
    /// [`bit`] of each part that could not be copied.
    pub failed: u64,
}

/// The bit of a part in [`Header::failed`]; parts from the 64th on share one.
pub fn bit(part: usize) -> u64 {
    1 << part.min(63)
}

const HEADER: usize = 8 * 6;

/// The staging area.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    limit: usize,
    records: u32,
}

/// The area has no room for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueFull;

impl Batch {
    /// Room for `limit` bytes, taken now: nothing allocates later.
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::with_capacity(limit), limit, records: 0 }
    }

    /// At most `limit` bytes, taken as they are needed: where allocating does no harm.
    pub(super) fn growing(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, records: 0 }
    }

    /// Records that wait to be written.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Bytes in use.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets what was written.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records = 0;
    }

    /// Appends a record: `request` writes itself, then each part is copied from `target`. Gives the
    /// bits of parts that could not be read. A record is whole or not there at all.
    ///
    /// # Errors
    /// [`QueueFull`] if it does not fit.
    pub(super) fn push<T: Target + ?Sized>(
        &mut self,
        header: Header,
        request: &[u8],
        parts: impl Iterator<Item = (u64, u64)> + Clone,
        target: &T,
    ) -> Result<u64, QueueFull> {
        let room = (self.limit - self.bytes.len()) as u64;
        let data = parts.clone().try_fold(0u64, |sum, (_, size)| sum.checked_add(size)).ok_or(QueueFull)?;
        let fixed = (HEADER + 8 + request.len()) as u64;
        if data.checked_add(fixed).is_none_or(|needed| needed > room) {
            return Err(QueueFull);
        }
        let start = self.bytes.len();
        self.bytes.resize(start + HEADER, 0);
        self.bytes.extend_from_slice(&(request.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(request);
        let mut failed = 0u64;
        for (index, (address, size)) in parts.enumerate() {
            let at = self.bytes.len();
            self.bytes.resize(at + size as usize, 0);
            // An empty tensor has nothing that could be read.
            let result = if size == 0 { Ok(()) } else { target.read(address, &mut self.bytes[at..]) };
            if result == Err(Unreadable) {
                // The room stays, so that what follows is where the request says.
                self.bytes[at..].fill(0);
                failed |= bit(index);
            }
        }
        let words = [
            header.scenario as u64 | (header.phase as u64) << 8,
            u64::from(header.lane) | u64::from(header.device) << 32,
            header.step,
            header.time,
            failed,
            (self.bytes.len() - start) as u64,
        ];
        for (n, word) in words.iter().enumerate() {
            self.bytes[start + 8 * n..start + 8 * n + 8].copy_from_slice(&word.to_le_bytes());
        }
        self.records += 1;
        Ok(failed)
    }

    /// The records in their order: header, request, data.
    pub fn entries(&self) -> impl Iterator<Item = (Header, &[u8], &[u8])> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let word = |n: usize| {
                rest.get(8 * n..8 * n + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes)
            };
            let header = Header {
                scenario: *Scenario::ALL.get((word(0)? & 0xff) as usize)?,
                phase: *Phase::ALL.get((word(0)? >> 8) as usize)?,
                lane: word(1)? as u32,
                device: (word(1)? >> 32) as u32,
                step: word(2)?,
                time: word(3)?,
                failed: word(4)?,
            };
            let (total, request) = (word(5)? as usize, word(6)? as usize);
            let entry = rest.get(HEADER + 8..total)?;
            let (request, data) = entry.split_at_checked(request)?;
            rest = &rest[total..];
            Some((header, request, data))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Slice;

    /// Address n holds byte n; addresses from 200 on cannot be read.
    struct Bytes;

    impl Target for Bytes {
        fn address(&self, slice: Slice) -> Option<u64> {
            Some(slice.offset)
        }
        fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
            if address >= 200 {
                return Err(Unreadable);
            }
            bytes.iter_mut().zip(address..).for_each(|(byte, address)| *byte = address as u8);
            Ok(())
        }
    }

    const HEAD: Header = Header {
        scenario: Scenario::Overflow,
        phase: Phase::After,
        lane: 3,
        device: 1,
        step: u64::MAX,
        time: 5,
        failed: 0,
    };

    #[test]
    fn records_come_back_in_order_and_whole() {
        let mut batch = Batch::new(400);
        let capacity = batch.bytes.capacity();
        assert_eq!(batch.push(HEAD, b"one", [(10, 4), (20, 0), (30, 2)].into_iter(), &Bytes), Ok(0));
        assert_eq!(batch.push(HEAD, b"two", [(10, 1), (200, 9), (40, 1)].into_iter(), &Bytes), Ok(0b10));
        let entries: Vec<_> = batch.entries().collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0], (HEAD, &b"one"[..], &[10, 11, 12, 13, 30, 31][..]));
        assert_eq!(
            entries[1],
            (Header { failed: 2, ..HEAD }, &b"two"[..], &[10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40][..])
        );
        assert_eq!(batch.bytes.capacity(), capacity);
        batch.clear();
        assert!(batch.is_empty() && batch.entries().next().is_none());
    }

    #[test]
    fn what_does_not_fit_leaves_nothing_behind() {
        let mut batch = Batch::new(100);
        assert_eq!(batch.push(HEAD, b"x", [(0, 1000)].into_iter(), &Bytes), Err(QueueFull));
        assert_eq!(batch.push(HEAD, b"x", [(0, u64::MAX), (0, 2)].into_iter(), &Bytes), Err(QueueFull));
        assert_eq!((batch.len(), batch.records()), (0, 0));
        assert_eq!(batch.push(HEAD, b"x", [(0, 43)].into_iter(), &Bytes), Ok(0));
        assert_eq!(batch.push(HEAD, b"x", [(0, 1)].into_iter(), &Bytes), Err(QueueFull));
        assert_eq!(batch.entries().count(), 1);
    }
}
