//! Threads that start together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::clock::now_ns;

/// Runs `work` on several threads that start together, passing each its index. Returns, once all
/// have ended, the time at which the first of them started.
pub(crate) fn start_together(threads: usize, work: impl Fn(usize) + Sync) -> u64 {
    let barrier = Barrier::new(threads);
    let first_start_ns = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        for number in 0..threads {
            let (barrier, first_start_ns, work) = (&barrier, &first_start_ns, &work);
            scope.spawn(move || {
                barrier.wait();
                first_start_ns.fetch_min(now_ns(), Ordering::Relaxed);
                work(number);
            });
        }
    });
    first_start_ns.into_inner()
}

/// The result of threads contending for something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contended {
    window_ns: u64,
    operations: u64,
    operations_of_slowest: u64,
}

impl Contended {
    /// Returns the window divided by the operations of all threads, which decreases if threads
    /// achieve more together.
    pub(crate) fn ns_per_operation(self) -> f64 {
        self.window_ns as f64 / self.operations.max(1) as f64
    }

    /// Returns the window divided by the operations of the slowest thread, or the whole window if
    /// that thread completed none.
    pub(crate) fn ns_per_operation_of_slowest(self) -> f64 {
        self.window_ns as f64 / self.operations_of_slowest.max(1) as f64
    }
}

/// Lets several threads repeat an operation for the length of the window. The operation returns
/// whether it counts.
pub(crate) fn contend(
    threads: usize,
    window: Duration,
    operation: impl Fn() -> bool + Sync,
) -> Contended {
    let stop = AtomicBool::new(false);
    let operations = AtomicU64::new(0);
    let operations_of_slowest = AtomicU64::new(u64::MAX);
    let end_ns = AtomicU64::new(0);
    // One more thread keeps the time.
    let start_ns = start_together(threads + 1, |number| {
        if number == threads {
            thread::sleep(window);
            stop.store(true, Ordering::Relaxed);
            end_ns.store(now_ns(), Ordering::Relaxed);
            return;
        }
        let mut own = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            own += u64::from(operation());
        }
        operations.fetch_add(own, Ordering::Relaxed);
        operations_of_slowest.fetch_min(own, Ordering::Relaxed);
    });
    Contended {
        window_ns: end_ns.into_inner() - start_ns,
        operations: operations.into_inner(),
        operations_of_slowest: operations_of_slowest.into_inner(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_runs_once_and_after_the_start() {
        let numbers = AtomicU64::new(0);
        let before = now_ns();
        let start = start_together(3, |number| {
            numbers.fetch_add(1 << (8 * number), Ordering::Relaxed);
        });
        assert_eq!(numbers.into_inner(), 0x01_01_01);
        assert!((before..=now_ns()).contains(&start));
    }

    #[test]
    fn only_counted_operations_divide_the_window() {
        let window = Duration::from_millis(20);
        let (all, counted) = (AtomicU64::new(0), AtomicU64::new(0));
        let contended = contend(2, window, || {
            thread::sleep(Duration::from_millis(1));
            let counts = all.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            counted.fetch_add(u64::from(counts), Ordering::Relaxed);
            counts
        });
        assert_eq!(contended.operations, counted.into_inner());
        assert!(contended.operations < all.into_inner());
        assert!(contended.window_ns >= window.as_nanos() as u64);
        assert!(contended.operations_of_slowest <= contended.operations / 2);
    }

    #[test]
    fn a_thread_without_operations_is_charged_the_whole_window() {
        let contended = Contended { window_ns: 600, operations: 6, operations_of_slowest: 0 };
        assert_eq!(contended.ns_per_operation(), 100.0);
        assert_eq!(contended.ns_per_operation_of_slowest(), 600.0);
    }
}
