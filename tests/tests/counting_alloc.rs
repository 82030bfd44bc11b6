//! An allocator that counts, for the tests that say "allocates nothing".

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static OF_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub(crate) struct Counting(AtomicU64);

impl Counting {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn add_one(&self) {
        self.0.fetch_add(1, Relaxed);
        // A thread that ends may have no counter any more: then nobody asks for it.
        let _ = OF_THIS_THREAD.try_with(|count| count.set(count.get() + 1));
    }
}

/// Each binary asks for one of the two.
#[allow(dead_code)]
impl Counting {
    /// Allocations and reallocations so far, on all threads.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// How often `work` asked for memory, on this thread.
    pub(crate) fn during(&self, work: impl FnOnce()) -> u64 {
        let before = OF_THIS_THREAD.get();
        work();
        OF_THIS_THREAD.get() - before
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add_one();
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add_one();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
