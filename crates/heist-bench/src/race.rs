//! Threads that start together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::clock::now_ns;

/// Runs `work` on as many threads as asked for, each told its number, and returns when all have ended. They start
/// together; the answer is when the first of them did.
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

/// Has threads repeat an operation for the length of the window, and returns the time per operation that says it counts:
/// of the window, not of a thread, so that it becomes less if threads get through more together.
pub(crate) fn contend(
    threads: usize,
    window: Duration,
    operation: impl Fn() -> bool + Sync,
) -> f64 {
    let stop = AtomicBool::new(false);
    let operations = AtomicU64::new(0);
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
    });
    (end_ns.into_inner() - start_ns) as f64 / operations.into_inner().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_runs_once_and_after_the_start() {
        let numbers = AtomicU64::new(0);
        let before = now_ns();
        let start = start_together(3, |number| {
            numbers.fetch_add(1 << (8 * number), Ordering::Relaxed);
        });
        assert_eq!(numbers.into_inner(), 0x01_01_01);
        assert!((before..=now_ns()).contains(&start));
    }

    #[test]
    fn the_time_per_operation_is_that_of_the_window() {
        let window = Duration::from_millis(20);
        let done = AtomicU64::new(0);
        let each_ns = contend(2, window, || {
            done.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            true
        });
        let all_ns = each_ns * done.into_inner() as f64;
        assert!(all_ns >= window.as_nanos() as f64, "{all_ns}");
    }

    #[test]
    fn what_does_not_count_makes_the_others_dearer() {
        let window = Duration::from_millis(20);
        let (all, counted) = (AtomicU64::new(0), AtomicU64::new(0));
        let each_ns = contend(1, window, || {
            thread::sleep(Duration::from_millis(1));
            let counts = all.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            counted.fetch_add(u64::from(counts), Ordering::Relaxed);
            counts
        });
        assert!(each_ns * counted.into_inner() as f64 >= window.as_nanos() as f64);
        assert!(each_ns * all.into_inner() as f64 >= 1.5 * window.as_nanos() as f64);
    }
}
