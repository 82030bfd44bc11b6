//! Memory that thunks on several threads read and write, each its own slices.
//!
//! The execution graph keeps two thunks apart that touch the same bytes, but memory safety must
//! not hang on a graph being right. So a kernel gets at bytes through a [`Claim`] alone, and a
//! claim is refused while another one that clashes is held: the rule of a `RefCell`, by ranges. A
//! refusal is a race that the graph should have prevented, and fails the thunk.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thunkscope_core::program::{Access, BufferUse, Slice};

/// The allocations of one rank.
pub struct Buffers {
    /// By ascending index.
    regions: Vec<Region>,
    claims: Mutex<Claims>,
}

struct Region {
    index: u32,
    bytes: Box<[Cell<u8>]>,
}

#[derive(Default)]
struct Claims {
    held: Vec<Held>,
    next: u64,
}

struct Held {
    claim: u64,
    used: BufferUse,
    owner: u64,
}

// SAFETY: `Buffers` is not `Sync` by itself only because of the `Cell`s in `regions`; all else in
// it is. Their contents are reachable through `Claim` alone (the field is private to this module,
// and no method gives a cell out otherwise). `claim` registers all slices of a claim under the
// lock of `claims`, and refuses if one overlaps a slice of another claim and either is written. So
// two threads never hold overlapping views of which one can write: `Read` has no method that
// writes, and a slice claimed for reading is only given out as `Read`. Taking and giving back a
// claim lock the same mutex, so what was written under one claim happens before what is done under
// the next one that overlaps it. Views borrow the claim, and neither is `Send` or `Sync`: they stay
// on the thread that claimed.
unsafe impl Sync for Buffers {}

/// Another thunk is at the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The slice that was asked for.
    pub wanted: BufferUse,
    /// The slice that somebody holds.
    pub held: BufferUse,
    /// Who: what they gave as owner.
    pub owner: u64,
}

impl Buffers {
    /// Allocations of these sizes, by index; all bytes are 0.
    pub fn new(sizes: impl IntoIterator<Item = (u32, usize)>) -> Self {
        let region = |(index, size)| Region { index, bytes: vec![Cell::new(0); size].into_boxed_slice() };
        let mut regions: Vec<_> = sizes.into_iter().map(region).collect();
        regions.sort_by_key(|region| region.index);
        Self { regions, claims: Mutex::default() }
    }

    /// Makes room for so many claimed slices at once, so that no claim allocates.
    pub fn reserve(&self, slices: usize) {
        self.lock().held.reserve(slices);
    }

    /// Indices and sizes, ascending.
    pub fn sizes(&self) -> impl Iterator<Item = (u32, usize)> {
        self.regions.iter().map(|region| (region.index, region.bytes.len()))
    }

    /// Claims all of `uses` for this thread until the claim is dropped. `owner` is told to whoever
    /// clashes with it. What lies outside of the allocations is cut off.
    ///
    /// # Errors
    /// When another claim clashes; then nothing is claimed.
    pub fn claim<'b>(&'b self, uses: &'b [BufferUse], owner: u64) -> Result<Claim<'b>, Clash> {
        let mut claims = self.lock();
        for &wanted in uses {
            // Empty slices hold no byte.
            let clash = claims.held.iter().find(|held| wanted.slice.size > 0 && held.used.conflicts(&wanted));
            if let Some(held) = clash {
                return Err(Clash { wanted, held: held.used, owner: held.owner });
            }
        }
        let claim = claims.next;
        claims.next += 1;
        let held = uses.iter().filter(|used| used.slice.size > 0);
        claims.held.extend(held.map(|&used| Held { claim, used, owner }));
        Ok(Claim { buffers: self, uses, claim, thread: PhantomData })
    }

    fn lock(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cells(&self, slice: Slice) -> &[Cell<u8>] {
        let Ok(place) = self.regions.binary_search_by_key(&slice.allocation, |region| region.index) else {
            return &[];
        };
        let bytes = &self.regions[place].bytes;
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        &bytes[at(slice.offset)..at(slice.end())]
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.sizes()).finish()
    }
}

/// Slices that this thread may touch.
pub struct Claim<'b> {
    buffers: &'b Buffers,
    uses: &'b [BufferUse],
    claim: u64,
    /// Cells must stay on one thread.
    thread: PhantomData<*const ()>,
}

impl Claim<'_> {
    /// The slices that may only be read, in the order of the uses.
    pub fn reads(&self) -> impl Iterator<Item = Read<'_>> {
        let reads = self.uses.iter().filter(|used| used.access == Access::Read);
        reads.map(|used| Read(self.buffers.cells(used.slice)))
    }

    /// The slices that may be written, in the order of the uses.
    pub fn writes(&self) -> impl Iterator<Item = Write<'_>> {
        let writes = self.uses.iter().filter(|used| used.access == Access::Write);
        writes.map(|used| Write(self.buffers.cells(used.slice)))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.buffers.lock().held.retain(|held| held.claim != self.claim);
    }
}

impl fmt::Debug for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.uses).finish()
    }
}

/// Bytes to read. They may be the same as bytes that the same claim can write.
#[derive(Clone, Copy)]
pub struct Read<'c>(&'c [Cell<u8>]);

/// Bytes to read and write.
#[derive(Clone, Copy)]
pub struct Write<'c>(&'c [Cell<u8>]);

#[inline]
fn put<E: Element<N>, const N: usize>(cells: &[Cell<u8>; N], value: E) {
    cells.iter().zip(value.to_bytes()).for_each(|(cell, byte)| cell.set(byte));
}

#[inline]
fn element<E: Element<N>, const N: usize>(cells: &[Cell<u8>; N]) -> E {
    E::from_bytes(std::array::from_fn(|byte| cells[byte].get()))
}

/// A value of `N` bytes in the machine's order.
pub trait Element<const N: usize>: Copy {
    /// From its bytes.
    fn from_bytes(bytes: [u8; N]) -> Self;
    /// To its bytes.
    fn to_bytes(self) -> [u8; N];
}

macro_rules! elements {
    ($($type:ty = $size:literal),*) => {$(
        impl Element<$size> for $type {
            #[inline]
            fn from_bytes(bytes: [u8; $size]) -> Self {
                Self::from_ne_bytes(bytes)
            }
            #[inline]
            fn to_bytes(self) -> [u8; $size] {
                self.to_ne_bytes()
            }
        }
    )*};
}

elements!(u8 = 1, u32 = 4, u64 = 8, i32 = 4, f32 = 4, f64 = 8);

impl<'c> Read<'c> {
    /// Number of bytes.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The element at index `i`, counted in elements.
    ///
    /// # Panics
    /// If it lies outside.
    #[inline]
    pub fn get<E: Element<N>, const N: usize>(self, i: usize) -> E {
        match self.0.as_chunks().0.get(i) {
            Some(cells) => element(cells),
            None => panic!("element {i} of {} bytes", self.0.len()),
        }
    }

    /// All elements; a rest that is shorter is left out.
    #[inline]
    pub fn elements<E: Element<N>, const N: usize>(self) -> impl ExactSizeIterator<Item = E> + use<'c, E, N> {
        self.0.as_chunks().0.iter().map(element)
    }

    /// The bytes from `start`, at most `len`.
    pub fn part(self, start: usize, len: usize) -> Self {
        let start = start.min(self.0.len());
        Self(&self.0[start..self.0.len().min(start.saturating_add(len))])
    }

    /// Copies as many bytes as both have.
    pub fn copy_to(self, bytes: &mut [u8]) {
        bytes.iter_mut().zip(self.0).for_each(|(byte, cell)| *byte = cell.get());
    }

    /// Copies the bytes out.
    pub fn to_vec(self) -> Vec<u8> {
        self.0.iter().map(Cell::get).collect()
    }
}

impl<'c> Write<'c> {
    /// The same bytes, to read.
    pub fn read(self) -> Read<'c> {
        Read(self.0)
    }

    /// Number of bytes.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Sets the element at index `i`, counted in elements.
    ///
    /// # Panics
    /// If it lies outside.
    #[inline]
    pub fn set<E: Element<N>, const N: usize>(self, i: usize, value: E) {
        match self.0.as_chunks().0.get(i) {
            Some(cells) => put(cells, value),
            None => panic!("element {i} of {} bytes", self.0.len()),
        }
    }

    /// Sets elements from the first on, as many as there are on both sides.
    #[inline]
    pub fn set_all<E: Element<N>, const N: usize>(self, values: impl IntoIterator<Item = E>) {
        self.0.as_chunks().0.iter().zip(values).for_each(|(cells, value)| put(cells, value));
    }

    /// Whether an element of `from` can be one that was set here at a lower index: the two share
    /// bytes, and not each element with the one of the same index alone.
    pub fn runs_into(self, from: Read<'_>) -> bool {
        let (to, from) = (self.0.as_ptr_range(), from.0.as_ptr_range());
        let apart = to.end <= from.start || from.end <= to.start;
        !apart && (to.start != from.start || from.end < to.end)
    }

    /// Copies as many bytes as both have, as if all were read before any is written.
    pub fn copy_from(self, from: Read<'_>) {
        let pairs = || self.0.iter().zip(from.0);
        let forwards = self.0.as_ptr() <= from.0.as_ptr();
        if forwards {
            pairs().for_each(|(to, from)| to.set(from.get()));
        } else {
            pairs().rev().for_each(|(to, from)| to.set(from.get()));
        }
    }

    /// The bytes from `start`, at most `len`.
    pub fn part(self, start: usize, len: usize) -> Self {
        Self(self.read().part(start, len).0)
    }
}

impl fmt::Debug for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl fmt::Debug for Write<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(offset: u64, size: u64, access: Access) -> BufferUse {
        BufferUse { slice: Slice::new(3, offset, size), access }
    }

    #[test]
    fn claims_that_clash_are_refused_until_the_first_is_dropped() {
        let buffers = Buffers::new([(3, 16)]);
        let (read, write) = ([used(0, 8, Access::Read)], [used(4, 8, Access::Write)]);
        let first = buffers.claim(&read, 1).expect("nothing is held");
        assert!(buffers.claim(&read, 2).is_ok(), "two may read");
        let clash = buffers.claim(&write, 2).expect_err("one reads what the other writes");
        assert_eq!(clash, Clash { wanted: write[0], held: read[0], owner: 1 });
        drop(first);
        let second = buffers.claim(&write, 2).expect("free again");
        assert!(buffers.claim(&write, 3).is_err());
        drop(second);
        assert!(buffers.lock().held.is_empty());
    }

    #[test]
    fn one_claim_may_read_what_it_writes() {
        let buffers = Buffers::new([(3, 16)]);
        let uses = [used(0, 8, Access::Read), used(0, 8, Access::Write)];
        let claim = buffers.claim(&uses, 0).expect("nothing is held");
        let (read, write) = (claim.reads().next().expect("a read"), claim.writes().next().expect("a write"));
        write.set(1, 7u32);
        assert_eq!([read.get::<u32, 4>(0), read.get(1)], [0, 7]);
        assert_eq!(read.get::<u64, 8>(0), u64::from_ne_bytes([0, 0, 0, 0, 7, 0, 0, 0]));
    }

    #[test]
    fn copies_overlap_as_if_read_first() {
        let buffers = Buffers::new([(3, 8)]);
        let copy = |from: u64, to: u64| {
            let uses = [used(from, 6, Access::Read), used(to, 6, Access::Write)];
            let all = [used(0, 8, Access::Write)];
            let claim = buffers.claim(&all, 0).expect("free");
            let write = claim.writes().next().expect("all");
            (0..8).for_each(|i| write.set(i, i as u8));
            drop(claim);
            let claim = buffers.claim(&uses, 0).expect("free");
            claim.writes().next().expect("a write").copy_from(claim.reads().next().expect("a read"));
            drop(claim);
            buffers.claim(&all, 0).expect("free").writes().next().expect("all").read().to_vec()
        };
        assert_eq!(copy(0, 2), [0, 1, 0, 1, 2, 3, 4, 5]);
        assert_eq!(copy(2, 0), [2, 3, 4, 5, 6, 7, 6, 7]);
    }

    #[test]
    fn what_lies_outside_is_cut_off() {
        let buffers = Buffers::new([(3, 8)]);
        let uses =
            [used(4, 100, Access::Read), BufferUse { slice: Slice::new(9, 0, 4), access: Access::Write }];
        let claim = buffers.claim(&uses, 0).expect("free");
        assert_eq!(claim.reads().next().map(Read::len), Some(4));
        assert_eq!(claim.writes().next().map(Write::len), Some(0));
    }
}
