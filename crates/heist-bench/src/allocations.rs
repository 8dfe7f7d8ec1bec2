//! What the process allocates, counted where it is asked for.
//!
//! This is the allocator of the whole program. It counts only while [`counted`] runs, since counters that all threads
//! write would slow down every measurement of time; otherwise a call costs the look at a flag that nobody changes.
//! Sizes are those that were asked for, not what the system's allocator makes of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);
static FREED_BYTES: AtomicU64 = AtomicU64::new(0);

/// What was allocated by all threads of the process together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// How often: an allocation that grows or shrinks counts again.
    pub(crate) allocations: u64,
    /// All of it, whether it was freed again or not.
    pub(crate) bytes: u64,
    /// What was allocated, less what was freed. Below 0 if older memory was freed.
    pub(crate) bytes_kept: i64,
}

/// Counts what all threads allocate while `action` runs. Calls wait for each other.
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

/// The system's allocator, and a count of what it is asked for.
struct Counting;

#[inline]
fn count(allocations: u64, allocated: usize, freed: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
        ALLOCATED_BYTES.fetch_add(allocated as u64, Ordering::Relaxed);
        FREED_BYTES.fetch_add(freed as u64, Ordering::Relaxed);
    }
}

// SAFETY: all requests go unchanged to `System`, which keeps the contract; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller promises what `System` asks for.
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

    /// Other tests allocate meanwhile, but nothing of this size.
    const LARGE: usize = 1 << 28;

    #[test]
    fn what_is_kept_and_what_is_freed_is_told_apart() {
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
    fn growing_is_an_allocation_more() {
        let mut growing = vec![0_u8; LARGE];
        let allocated = counted(|| growing.reserve_exact(LARGE));
        assert!(allocated.allocations >= 1);
        assert!(allocated.bytes >= 2 * LARGE as u64);
        assert!(allocated.bytes_kept < 2 * LARGE as i64 - LARGE as i64 / 2);
    }
}
