//! A simulated device: the allocations of a program as bytes, filled by what thunks write.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::diagnostic::Diagnostic;
use crate::dump::data_dumper::L1_BUFFER;
use crate::dump::model::{Memory, Model, Slot, Tensor, ThunkRef};
use crate::dump::target::{Target, Unreadable};
use crate::dump::types::DataType;
use crate::program::{Program, Slice};
use crate::rng::Rng;

/// Most bytes that a simulated program may have.
const MAX_MEMORY: u64 = 1 << 30;

/// The first address; 0 stands for no address.
const FIRST: u64 = 0x1_0000;

/// What is in the memory of a simulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bytes {
    /// Numbers that depend on the thunk that wrote them.
    Simulated,
    /// Zeros that take no memory: for questions that are not about values.
    Zeros,
}

/// The device.
#[derive(Debug)]
pub struct SimDevice {
    /// By allocation: address and size.
    bases: BTreeMap<u32, (u64, u64)>,
    /// Of all allocations; empty if they are zeros.
    bytes: Vec<u8>,
    /// How many there would be.
    size: u64,
    l1: u64,
    iteration: u64,
    /// By op: what it writes.
    writes: BTreeMap<ThunkRef, Vec<(Slice, DataType)>>,
    syncs: Cell<u64>,
}

impl SimDevice {
    /// Memory for every allocation and every slice of a program.
    ///
    /// # Errors
    /// `DU042` for more than 1 GiB of [`Bytes::Simulated`], or more than can be addressed.
    pub fn new(program: &Program, model: &Model, bytes: Bytes) -> Result<Self, Diagnostic> {
        let mut sizes: BTreeMap<u32, u64> = program.allocations.iter().map(|a| (a.index, a.size)).collect();
        for (_, sequence) in program.sequences() {
            for used in sequence.thunks.iter().flat_map(|thunk| &thunk.uses) {
                let end = used.slice.offset.saturating_add(used.slice.size);
                let size = sizes.entry(used.slice.allocation).or_insert(0);
                *size = (*size).max(end);
            }
        }
        let total = sizes.values().fold(0u64, |sum, size| sum.saturating_add(size.saturating_add(64)));
        if total > if bytes == Bytes::Zeros { u64::MAX / 4 } else { MAX_MEMORY } {
            return Err(Diagnostic::error(
                "DU042",
                "allocations",
                format!("at most {MAX_MEMORY} bytes to simulate"),
            )
            .found(total)
            .hint("dump a smaller program, or run it natively"));
        }
        let mut bases = BTreeMap::new();
        let mut next = FIRST;
        for (index, size) in sizes {
            bases.insert(index, (next, size));
            next += size.next_multiple_of(64);
        }
        let on_chip =
            model.ops.iter().flat_map(Model::tensors).flat_map(|(_, t)| t).any(|t| t.memory == Memory::L1);
        let l1 = if on_chip { next } else { 0 };
        let size = next - FIRST + if on_chip { L1_BUFFER } else { 0 };
        let mut bytes = if bytes == Bytes::Zeros { Vec::new() } else { vec![0u8; size as usize] };
        let mut rng = Rng::new(7);
        bytes.chunks_mut(8).for_each(|chunk| fill(chunk, DataType::Float, &mut rng));
        let mut writes: BTreeMap<ThunkRef, Vec<(Slice, DataType)>> = BTreeMap::new();
        for op in &model.ops {
            let outputs = op.outputs.iter().flatten().filter(|t| t.memory != Memory::L1);
            writes.insert(op.at, outputs.filter_map(|t| Some((t.slice?, t.dtype))).collect());
        }
        Ok(Self { bases, bytes, size, l1, iteration: 0, writes, syncs: Cell::new(0) })
    }

    /// Address of the fusion buffer; 0 if the program has nothing in on-chip memory.
    pub fn l1(&self) -> u64 {
        self.l1
    }

    /// Its memory is [`Bytes::Zeros`].
    pub fn is_zeros(&self) -> bool {
        self.bytes.is_empty() && self.size > 0
    }

    /// Waits for the device so far.
    pub fn syncs(&self) -> u64 {
        self.syncs.get()
    }

    /// Another iteration begins.
    pub fn iteration(&mut self, iteration: u64) {
        self.iteration = iteration;
    }

    /// A thunk has run: what it writes holds numbers that depend on the thunk and the iteration.
    pub fn finish(&mut self, thunk: ThunkRef, overflow: bool) {
        let Some(slices) = self.writes.get(&thunk).filter(|_| !self.bytes.is_empty()) else { return };
        let seed = self.iteration << 40 ^ u64::from(thunk.sequence) << 20 ^ u64::from(thunk.node);
        for &(slice, dtype) in slices {
            let Some(&(base, _)) = self.bases.get(&slice.allocation) else { continue };
            let start = (base - FIRST + slice.offset) as usize;
            let mut rng = Rng::new(seed ^ slice.offset);
            let bytes = &mut self.bytes[start..start + slice.size as usize];
            let size = crate::dump::elements::element_size(dtype).unwrap_or(1);
            bytes.chunks_mut(size).for_each(|chunk| fill(chunk, dtype, &mut rng));
            if let (true, DataType::Float, Some(first)) = (overflow, dtype, bytes.first_chunk_mut::<4>()) {
                *first = f32::INFINITY.to_le_bytes();
            }
        }
    }

    /// What is in a slice now.
    pub fn slice(&self, slice: Slice) -> &[u8] {
        let Some(&(base, _)) = self.bases.get(&slice.allocation) else { return &[] };
        let start = (base - FIRST + slice.offset) as usize;
        self.bytes.get(start..start + slice.size as usize).unwrap_or_default()
    }

    /// Shape of a tensor whose own is only known at run time: all of its bytes.
    fn run_time_shape(tensor: &Tensor) -> u64 {
        let size = tensor.slice.map_or(0, |slice| slice.size);
        size * 8 / tensor.dtype.bits().max(1)
    }
}

/// Numbers of a size that people like to read; any bytes for other types.
fn fill(chunk: &mut [u8], dtype: DataType, rng: &mut Rng) {
    let n = rng.below(4_096);
    let whole = n as i64 - 2_048;
    match (dtype, chunk.len()) {
        (DataType::Float, 4) => chunk.copy_from_slice(&(whole as f32 / 64.0).to_le_bytes()),
        (DataType::Float, 8) => {
            chunk[..4].copy_from_slice(&(whole as f32 / 64.0).to_le_bytes());
            chunk[4..].copy_from_slice(&(whole as f32 / 32.0).to_le_bytes());
        }
        (DataType::Double, 8) => chunk.copy_from_slice(&(whole as f64 / 64.0).to_le_bytes()),
        _ => {
            chunk.iter_mut().zip(n.to_le_bytes().into_iter().cycle()).for_each(|(byte, value)| *byte = value)
        }
    }
}

impl Target for SimDevice {
    fn address(&self, slice: Slice) -> Option<u64> {
        let &(base, size) = self.bases.get(&slice.allocation)?;
        let end = slice.offset.checked_add(slice.size)?;
        if end <= size { Some(base + slice.offset) } else { None }
    }

    fn shape(&self, _: Slot, tensor: &Tensor, dims: &mut Vec<u64>) -> bool {
        if tensor.shape_unknown {
            dims.push(Self::run_time_shape(tensor))
        } else {
            dims.extend(&tensor.shape)
        }
        true
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let start = address.checked_sub(FIRST).ok_or(Unreadable)?;
        let end = start.checked_add(bytes.len() as u64).filter(|end| *end <= self.size).ok_or(Unreadable)?;
        if self.bytes.is_empty() {
            bytes.fill(0);
            return Ok(());
        }
        let (start, end) = (start as usize, end as usize);
        bytes.copy_from_slice(self.bytes.get(start..end).ok_or(Unreadable)?);
        Ok(())
    }

    fn sync(&self) {
        self.syncs.set(self.syncs.get() + 1);
    }
}
