//! A global allocator that counts allocations, for the test programs that install it.

use super::watched;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs the body of a test while no other body that comes through here runs. The allocator counts
/// for the whole process.
pub(crate) fn alone(body: impl FnOnce() + Send + 'static) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    watched(body);
}

/// The system's allocator, with counts of the allocations and of the bytes in use.
pub(crate) struct CountingAllocator {
    allocations: AtomicU64,
    live_bytes: AtomicIsize,
}

impl CountingAllocator {
    pub(crate) const fn new() -> Self {
        Self { allocations: AtomicU64::new(0), live_bytes: AtomicIsize::new(0) }
    }

    /// Returns the number of blocks that any thread has allocated or moved so far.
    pub(crate) fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes in use.
    pub(crate) fn live_bytes(&self) -> isize {
        self.live_bytes.load(Ordering::Relaxed)
    }

    fn count(&self, grown_by: usize, shrunk_by: usize) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.live_bytes.fetch_add(grown_by as isize - shrunk_by as isize, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator. Counting neither touches the
// caller's memory nor allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 0);
        // SAFETY: the caller keeps `GlobalAlloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.count(new_size, layout.size());
        // SAFETY: as above; the block came from the system's allocator.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.live_bytes.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as above; the block came from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}
