//! [`ExtraThreads`]: the threads of a walk that join in only when the walk waits for its disk.
//!
//! The best number of threads depends on the cache, and the walk cannot know the cache in advance.
//! If everything is cached, a walk only computes, and more threads than cores get in each other's
//! way. If nothing is cached, a walk only waits, and 32 threads that wait at the same time are
//! twice as fast as 2.
//!
//! So a walk starts with one thread per core and holds the extra threads back before their first
//! step. The thread that called the walk has to wait for it anyway. Meanwhile it samples how much
//! of the time the workers compute. If that is less than half, it releases the extra threads. It
//! also releases them if nothing at all was visited since the last sample, unless the visitors may
//! compute for long.
//!
//! Invariant: no extra thread is held back forever. A walk ends only when all of its workers,
//! including the extra threads, agree that no work is left. So the extra threads are also released
//! when all initial workers are idle, and when any worker ends, even by a panic.

use crate::counters::Progress;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the calling thread samples. In that time a walk that waits for its disk takes a few
/// hundred steps, so a late release loses little.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);

/// Holds the extra threads of one walk back. See the module's documentation.
#[derive(Debug)]
pub(crate) struct ExtraThreads {
    /// The number of workers that start at once. They have the lowest numbers.
    initial: usize,
    /// Whether the visitors may compute for long without visiting anything.
    may_compute: bool,
    released: Mutex<bool>,
    changed: Condvar,
    /// The number of initial workers that are out of work.
    idle: AtomicUsize,
}

impl ExtraThreads {
    /// Creates the state for `all` workers, of which `initial` start at once.
    pub(crate) fn new(initial: usize, all: usize, may_compute: bool) -> Self {
        Self {
            initial,
            may_compute,
            released: Mutex::new(initial >= all),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.released.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks an extra thread until [`Self::release`]. Returns at once for an initial worker.
    pub(crate) fn hold_until_released(&self, worker: usize) {
        if worker >= self.initial {
            let released = self.changed.wait_while(self.lock(), |released| !*released);
            drop(released);
        }
    }

    /// Lets every extra thread start.
    pub(crate) fn release(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    /// Counts an initial worker as idle. `is_idle` is the worker's own note of whether it already
    /// counts.
    pub(crate) fn note_idle(&self, worker: usize, is_idle: &mut bool) {
        if worker < self.initial && !*is_idle {
            *is_idle = true;
            // AcqRel: the worker that counts last sees that all others have counted.
            if self.idle.fetch_add(1, Ordering::AcqRel) + 1 == self.initial {
                self.release();
            }
        }
    }

    /// Counts a worker as busy again.
    pub(crate) fn note_busy(&self, is_idle: &mut bool) {
        if *is_idle {
            *is_idle = false;
            self.idle.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Samples the workers until the extra threads are released, and releases them if the walk
    /// waits for its disk. The thread that called the walk runs this.
    pub(crate) fn release_when_waiting(&self, progress: &Progress) {
        let mut before = ActivitySample::now(progress);
        let mut released = self.lock();
        while !*released {
            let waited = self.changed.wait_timeout(released, SAMPLE_INTERVAL);
            released = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *released {
                return;
            }
            let now = ActivitySample::now(progress);
            if now.shows_waiting_since(&before, self.initial, self.may_compute) {
                *released = true;
                self.changed.notify_all();
            }
            before = now;
        }
    }
}

/// What the calling thread measures in one sample.
#[derive(Clone, Copy, Debug)]
struct ActivitySample {
    at: Instant,
    computed: Option<Duration>,
    visited: u64,
}

impl ActivitySample {
    fn now(progress: &Progress) -> Self {
        let totals = progress.totals();
        let visited = totals.entries() + totals.errors;
        Self { at: Instant::now(), computed: crate::sys::time_computed(), visited }
    }

    /// Returns `true` if `threads` threads have waited more than they have computed since `before`.
    fn shows_waiting_since(&self, before: &Self, threads: usize, may_compute: bool) -> bool {
        if !may_compute && self.visited == before.visited {
            return true;
        }
        let (Some(now), Some(then)) = (self.computed, before.computed) else { return true };
        let time = (self.at - before.at).saturating_mul(u32::try_from(threads).unwrap_or(u32::MAX));
        now.saturating_sub(then) * 2 < time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn sample(at: Instant, after_ms: u64, computed_ms: u64, visited: u64) -> ActivitySample {
        let computed = Some(Duration::from_millis(computed_ms));
        ActivitySample { at: at + Duration::from_millis(after_ms), computed, visited }
    }

    #[test]
    fn threads_wait_if_they_compute_less_than_half_the_time_or_make_no_progress() {
        let start = Instant::now();
        let before = sample(start, 0, 10, 100);
        assert!(!sample(start, 10, 30, 200).shows_waiting_since(&before, 2, false));
        assert!(!sample(start, 10, 21, 200).shows_waiting_since(&before, 2, false));
        assert!(sample(start, 10, 19, 200).shows_waiting_since(&before, 2, false));
        assert!(sample(start, 10, 30, 100).shows_waiting_since(&before, 2, false));
        assert!(!sample(start, 10, 30, 100).shows_waiting_since(&before, 2, true));
        assert!(sample(start, 10, 19, 100).shows_waiting_since(&before, 2, true));
    }

    #[test]
    fn extra_threads_are_released_when_all_initial_workers_are_idle() {
        let extra = Arc::new(ExtraThreads::new(2, 3, false));
        let third = std::thread::spawn({
            let extra = Arc::clone(&extra);
            move || extra.hold_until_released(2)
        });
        let (mut first, mut second) = (false, false);
        extra.hold_until_released(0);
        extra.note_idle(0, &mut first);
        extra.note_idle(0, &mut first);
        assert!(!third.is_finished());
        extra.note_busy(&mut first);
        extra.note_idle(1, &mut second);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!third.is_finished());
        extra.note_idle(0, &mut first);
        third.join().unwrap();
    }

    #[test]
    fn without_extra_threads_nothing_blocks() {
        let extra = ExtraThreads::new(4, 4, false);
        extra.hold_until_released(3);
        extra.release_when_waiting(&Progress::default());
    }

    #[test]
    fn extra_threads_are_released_without_progress() {
        let extra = ExtraThreads::new(2, 3, false);
        extra.release_when_waiting(&Progress::default());
        extra.hold_until_released(2);
    }
}
