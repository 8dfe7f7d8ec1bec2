//! [`DescriptorBudget`]: how many directories may stay open while names in them are pending, and
//! what happens when no descriptor is free.
//!
//! Each worker needs a few descriptors for the directory it works on ([`PER_THREAD`]). What is left
//! of the process's limit goes to directories with pending names. If there are too many of these,
//! the walk closes a directory as soon as it has read it, and later opens it again, name by name
//! from its root.
//!
//! The system may still refuse a descriptor, because the rest of the program has taken more than
//! [`LEFT_FOR_PROGRAM`], or because the whole machine has run out. No worker sleeps then. The
//! refused task goes to the back of the executor's queue ([`super::TaskQueue::put_off`]) and tries
//! again after the tasks that were waiting there. If nothing could be opened for [`PATIENCE`], the
//! refusal becomes an error.
//!
//! Not guaranteed: idle workers. If only refused tasks are left, the workers retry all the time,
//! for at most [`PATIENCE`], because no event tells them that the rest of the program has closed
//! something.

use crossbeam_utils::CachePadded;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One for the directory whose names are being opened, one for the directory being read, and one
/// for a file of ignore rules or a step on the way to a closed directory.
pub(crate) const PER_THREAD: usize = 3;

/// Left for the rest of the program: its output, a trace, the mount table.
pub(crate) const LEFT_FOR_PROGRAM: usize = 8;

/// How long a walk retries while the system refuses every descriptor. Long enough for another part
/// of the program to close what it is using, and short enough that a program which has leaked all
/// its descriptors gets its errors soon.
const PATIENCE: Duration = Duration::from_millis(200);

/// The descriptors of a walk. See the module's documentation.
#[derive(Debug)]
pub(crate) struct DescriptorBudget {
    max_kept_open: AtomicUsize,
    kept: AtomicUsize,
    /// Whether the last request for a descriptor was refused. Each success reads it, so reading
    /// takes no lock, and it has a cache line of its own that other counts do not disturb.
    is_short: CachePadded<AtomicBool>,
    /// Since when every request has been refused.
    short_since: Mutex<Option<Instant>>,
}

impl DescriptorBudget {
    /// Divides `available` descriptors. Also returns how many of `threads` threads can work, at
    /// least one.
    pub(crate) fn new(available: usize, threads: usize) -> (Self, usize) {
        let threads = threads.min(available / PER_THREAD).max(1);
        let max_kept_open = available.saturating_sub(threads * PER_THREAD);
        let budget = Self {
            max_kept_open: AtomicUsize::new(max_kept_open),
            kept: AtomicUsize::new(0),
            is_short: CachePadded::new(AtomicBool::new(false)),
            short_since: Mutex::new(None),
        };
        (budget, threads)
    }

    /// Returns `true` if one more directory may stay open. Then it counts until [`Self::release`].
    pub(crate) fn try_keep_open(&self) -> bool {
        // Relaxed: only the count itself matters.
        let most = self.max_kept_open.load(Ordering::Relaxed);
        let kept = self.kept.fetch_add(1, Ordering::Relaxed);
        if kept < most {
            return true;
        }
        self.release();
        false
    }

    /// Counts one more directory that stays open, even over the limit.
    pub(crate) fn keep_open_anyway(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn release(&self) {
        self.kept.fetch_sub(1, Ordering::Relaxed);
    }

    /// Handles the result of opening something. Returns `Ok(None)` if no descriptor was free and
    /// the caller should put the task off.
    pub(crate) fn opened_or_put_off<T>(&self, result: io::Result<T>) -> io::Result<Option<T>> {
        match result {
            Ok(opened) => {
                // Relaxed: a worker that sees the flag late ends the shortage at its next success.
                if self.is_short.load(Ordering::Relaxed) {
                    self.end_shortage();
                }
                Ok(Some(opened))
            }
            Err(error) => self.error_or_put_off(error),
        }
    }

    /// Like [`Self::opened_or_put_off`], for a step on the way to what is to be opened.
    ///
    /// A step alone does not end a shortage. Otherwise, with a single free descriptor, the first
    /// step would always succeed and the second one never, and the walk would retry forever.
    pub(crate) fn step_or_put_off<T>(&self, result: io::Result<T>) -> io::Result<Option<T>> {
        match result {
            Ok(opened) => Ok(Some(opened)),
            Err(error) => self.error_or_put_off(error),
        }
    }

    fn error_or_put_off<T>(&self, error: io::Error) -> io::Result<Option<T>> {
        if is_shortage(&error) && self.has_patience(Instant::now()) { Ok(None) } else { Err(error) }
    }

    /// Notes that the system refused a descriptor. Returns `true` if the caller should retry later.
    /// From now on the walk keeps no more directories open, because something else needs the
    /// descriptors.
    #[cold]
    fn has_patience(&self, now: Instant) -> bool {
        self.max_kept_open.store(0, Ordering::Relaxed);
        let mut since = self.short_since.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_short.store(true, Ordering::Relaxed);
        now.saturating_duration_since(*since.get_or_insert(now)) < PATIENCE
    }

    #[cold]
    fn end_shortage(&self) {
        let mut since = self.short_since.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_short.store(false, Ordering::Relaxed);
        *since = None;
    }
}

/// Returns `true` if `error` means that no descriptor is free.
fn is_shortage(error: &io::Error) -> bool {
    // ENFILE and EMFILE: the limits of the system and of the process.
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_get_their_descriptors_before_directories_do() {
        let (descriptors, threads) = DescriptorBudget::new(10, 2);
        assert_eq!(threads, 2);
        assert_eq!((0..10).filter(|_| descriptors.try_keep_open()).count(), 4);
        descriptors.release();
        assert!(descriptors.try_keep_open() && !descriptors.try_keep_open());
    }

    fn refused() -> io::Result<()> {
        Err(io::Error::from_raw_os_error(24))
    }

    #[cfg(unix)]
    #[test]
    fn a_refusal_is_put_off_and_ends_keeping_directories_open() {
        let (descriptors, _) = DescriptorBudget::new(10, 1);
        assert!(descriptors.try_keep_open());
        assert!(matches!(descriptors.opened_or_put_off(refused()), Ok(None)));
        assert!(!descriptors.try_keep_open());
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(descriptors.opened_or_put_off(Err::<(), _>(denied)).is_err(), "not a shortage");
        assert!(matches!(descriptors.opened_or_put_off(Ok(7)), Ok(Some(7))));
    }

    #[test]
    fn patience_ends_in_time_and_restarts_after_a_success() {
        let (descriptors, _) = DescriptorBudget::new(10, 1);
        let start = Instant::now();
        assert!(descriptors.has_patience(start));
        assert!(descriptors.has_patience(start + PATIENCE / 2));
        assert!(!descriptors.has_patience(start + PATIENCE));
        assert!(!descriptors.has_patience(start + 2 * PATIENCE));
        assert!(matches!(descriptors.opened_or_put_off(Ok(7)), Ok(Some(7))));
        assert!(descriptors.has_patience(start + 3 * PATIENCE));
        assert!(!descriptors.has_patience(start + 4 * PATIENCE));
    }

    #[test]
    fn few_descriptors_mean_few_threads() {
        assert_eq!(DescriptorBudget::new(12, 16).1, 4);
        assert_eq!(DescriptorBudget::new(0, 16).1, 1);
    }
}
