//! What the Dump module needs of whoever runs the program: addresses, shapes, bytes.

use super::model::{Slot, Tensor};
use crate::program::Slice;

/// Where an argument is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Located {
    /// Of its first byte; 0 if it has none.
    pub address: u64,
    /// Bytes that are there.
    pub room: u64,
}

/// Memory that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unreadable;

/// A device, seen by the dump. Nothing here may allocate: it is called between the start and the end
/// of an iteration, on the threads that run the program.
pub trait Target {
    /// The address of a slice of an allocation; `None` if it is not mapped.
    fn address(&self, slice: Slice) -> Option<u64>;

    /// Where an argument is now. Static programs: where its slice is.
    fn locate(&self, _slot: Slot, tensor: &Tensor) -> Located {
        let Some(slice) = tensor.slice else { return Located::default() };
        match self.address(slice) {
            Some(address) => Located { address, room: slice.size },
            None => Located::default(),
        }
    }

    /// The shape of an argument now, appended to `dims`. False if it is not known yet.
    fn shape(&self, _slot: Slot, tensor: &Tensor, dims: &mut Vec<u64>) -> bool {
        dims.extend_from_slice(&tensor.shape);
        !tensor.shape_unknown
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`Unreadable`]; `bytes` may hold anything then.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable>;

    /// Waits for what was enqueued. Called once at the end of an iteration that dumped.
    fn sync(&self) {}
}

/// How the synchronisation after a launch ended (ge-dump spec §5.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Well.
    #[default]
    Ok,
    /// An overflow of any unit.
    Overflow,
    /// An overflow in an AI core.
    AiCoreOverflow,
    /// An overflow in the vector unit.
    VectorOverflow,
    /// Not in time: an error, no overflow.
    Timeout,
    /// The op failed.
    Failed,
}

impl Status {
    /// Some overflow.
    pub fn is_overflow(self) -> bool {
        matches!(self, Self::Overflow | Self::AiCoreOverflow | Self::VectorOverflow)
    }
}
