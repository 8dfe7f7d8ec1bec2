//! What is left behind after a thousand pools: no thread, and no memory.

use super::counting::{CountingAllocator, alone};
use super::{SILENT, wait_until};

/// Garbage that the queues' memory reclamation holds back, and what the test harness allocates. A
/// leak of 64 bytes per pool would be beyond it.
const GROWTH_BYTES_MAX: isize = 60_000;

/// Goes through `cycle` a hundred times to warm up and a thousand times more, and compares.
pub(crate) fn check_no_leak(
    allocator: &'static CountingAllocator,
    cycle: impl Fn() + Send + 'static,
) {
    alone(move || compare(allocator, cycle));
}

fn compare(allocator: &CountingAllocator, cycle: impl Fn()) {
    (0..100).for_each(|_| cycle());
    let before = allocator.live_bytes();
    (0..1_000).for_each(|_| cycle());
    // A thread is joined a moment before the system has forgotten it, and it frees its last bytes
    // then.
    #[cfg(target_os = "linux")]
    for thread_name in ["ended-", SILENT] {
        wait_until("no thread of the pools is left", || {
            super::threads_named(thread_name).is_empty()
        });
    }
    let growth = || allocator.live_bytes() - before;
    println!("{} bytes more after 1,000 pools", growth());
    wait_until("the memory is back to what it was", || growth() < GROWTH_BYTES_MAX);
}
