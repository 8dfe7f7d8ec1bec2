//! The program's global allocator, which can count what the process allocates.
//!
//! It counts only while [`counted`] runs: counters that all threads write would slow down every
//! timing. The rest of the time an allocation costs one extra read of a flag that no thread is
//! writing. Sizes are the requested ones, without the system allocator's rounding and bookkeeping.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);
static FREED_BYTES: AtomicU64 = AtomicU64::new(0);

/// The allocations of all threads of the process together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// Number of requests. Growing or shrinking an allocation counts as another one.
    pub(crate) allocations: u64,
    /// Bytes requested, whether or not they were freed again.
    pub(crate) bytes: u64,
    /// Bytes allocated minus bytes freed. Negative if older memory was freed meanwhile.
    pub(crate) bytes_kept: i64,
}

/// Counts what all threads allocate while `action` runs. Concurrent calls wait for each other.
pub(crate) fn counted(action: impl FnOnce()) -> Allocated {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = read();
    IS_COUNTING.store(true, Ordering::Relaxed);
    action();
    IS_COUNTING.store(false, Ordering::Relaxed);
    let after = read();
    let bytes = after[1] - before[1];
    let freed = after[2] - before[2];
    Allocated {
        allocations: after[0] - before[0],
        bytes,
        bytes_kept: bytes.cast_signed() - freed.cast_signed(),
    }
}

fn read() -> [u64; 3] {
    [&ALLOCATIONS, &ALLOCATED_BYTES, &FREED_BYTES].map(|counter| counter.load(Ordering::Relaxed))
}

/// The system allocator, with a count of the requests to it.
struct CountingAllocator;

#[inline]
fn count(allocations: u64, allocated: usize, freed: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
        ALLOCATED_BYTES.fetch_add(allocated as u64, Ordering::Relaxed);
        FREED_BYTES.fetch_add(freed as u64, Ordering::Relaxed);
    }
}

// SAFETY: every request is passed unchanged to `System`, which upholds the contract; the counting
// neither allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller upholds the contract, which is the same for `System`.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(1, new_size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// Other tests allocate at the same time, but never this much at once.
    const LARGE: usize = 1 << 28;

    #[test]
    fn kept_and_freed_bytes_are_counted_separately() {
        let mut kept = Vec::new();
        let allocated = counted(|| {
            kept = black_box(Vec::<u8>::with_capacity(LARGE));
            drop(black_box(Vec::<u8>::with_capacity(LARGE)));
        });
        assert!(allocated.allocations >= 2);
        assert!(allocated.bytes >= 2 * LARGE as u64);
        let kept_bytes = allocated.bytes_kept;
        assert!((kept_bytes - LARGE as i64).abs() < LARGE as i64 / 2, "{kept_bytes}");

        let allocated = counted(|| drop(black_box(kept)));
        assert!(allocated.bytes_kept < -(LARGE as i64) / 2);
    }

    #[test]
    fn growing_counts_as_another_allocation() {
        let mut growing = vec![0_u8; LARGE];
        let allocated = counted(|| growing.reserve_exact(LARGE));
        assert!(allocated.allocations >= 1);
        assert!(allocated.bytes >= 2 * LARGE as u64);
        assert!(allocated.bytes_kept < 2 * LARGE as i64 - LARGE as i64 / 2);
    }
}
