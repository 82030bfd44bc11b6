//! A range of bytes in one allocation, and how it is accessed.

/// `size` bytes from `offset` in one allocation.
///
/// Invariant kept by every reader: `offset + size` fits into an `i64`, as in XLA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slice {
    /// Which allocation.
    pub allocation: u32,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; may be 0.
    pub size: u64,
}

/// The largest end of a slice: XLA's offsets and sizes are signed 64-bit numbers.
pub const MAX_END: u64 = i64::MAX as u64;

impl Slice {
    /// A slice. Ends beyond `i64::MAX` are cut there; readers refuse them before.
    pub fn new(allocation: u32, offset: u64, size: u64) -> Self {
        let offset = offset.min(MAX_END);
        Self { allocation, offset, size: size.min(MAX_END - offset) }
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.size
    }

    /// XLA's rule (executor spec §1): same allocation, and the ranges cross or are equal.
    ///
    /// The formula also decides empty slices: strictly inside another range they overlap it, at
    /// its edge they do not, and two equal empty slices overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.allocation == other.allocation
            && ((self.offset < other.end() && other.offset < self.end())
                || (self.offset == other.offset && self.size == other.size))
    }
}

/// Read or write. Two reads never clash; that exception is all the parallelism there is (seed 004).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Only read.
    Read,
    /// Written (or read and written).
    Write,
}

impl Access {
    /// Whether two accesses to the same thing must be ordered.
    pub fn clashes(self, other: Self) -> bool {
        self == Self::Write || other == Self::Write
    }
}

/// One slice and how a thunk accesses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferUse {
    /// Which bytes.
    pub slice: Slice,
    /// How.
    pub access: Access,
}

impl BufferUse {
    /// Whether the two uses must be ordered.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.access.clashes(other.access) && self.slice.overlaps(&other.slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: (u64, u64), b: (u64, u64), expected: bool) {
        let (a, b) = (Slice::new(0, a.0, a.1), Slice::new(0, b.0, b.1));
        assert_eq!(a.overlaps(&b), expected, "{a:?} {b:?}");
        assert_eq!(b.overlaps(&a), expected, "{b:?} {a:?}");
    }

    #[test]
    fn overlap_follows_the_formula() {
        check((0, 8), (4, 8), true);
        check((0, 8), (8, 8), false);
        check((0, 8), (0, 8), true);
    }

    #[test]
    fn empty_slices_follow_the_formula_too() {
        check((0, 8), (4, 0), true);
        check((0, 8), (0, 0), false);
        check((0, 8), (8, 0), false);
        check((4, 0), (4, 0), true);
        check((4, 0), (5, 0), false);
    }

    #[test]
    fn other_allocations_never_overlap() {
        assert!(!Slice::new(0, 0, 8).overlaps(&Slice::new(1, 0, 8)));
    }

    #[test]
    fn ends_stay_in_range() {
        assert_eq!(Slice::new(0, u64::MAX, u64::MAX).end(), MAX_END);
        assert_eq!(Slice::new(0, 10, u64::MAX).end(), MAX_END);
    }
}
