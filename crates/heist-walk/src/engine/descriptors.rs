//! [`Descriptors`]: how many directories may stay open while names in them wait, and what happens when there is no
//! descriptor left.
//!
//! A worker needs a few descriptors for the directory at hand ([`PER_WORKER`]). What is left of the process's limit
//! goes to directories whose names wait to be opened. When there are too many of these, a directory is closed as soon
//! as it has been read, and opened again, name by name from its root, when its turn comes.
//!
//! The system may refuse a descriptor all the same, because the rest of the program has taken more than [`RESERVE`],
//! or because the whole machine has run out. Then nothing sleeps: the task that was refused goes to the back of the
//! executor's queue ([`super::Spawn::put_off`]) and tries again after the tasks that waited there. When nothing has
//! been opened for [`PATIENCE`], the refusal becomes the error of whatever was to be opened.
//!
//! Not guaranteed: silence. If every task left is one that was refused, the workers try again and again, for no longer
//! than [`PATIENCE`]; no event tells them that the rest of the program has closed something.

use crossbeam_utils::CachePadded;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The directory whose names are being opened, the one being read, and one more on the way down to a closed one, or
/// for a file of ignore rules.
pub(crate) const PER_WORKER: usize = 3;

/// For the rest of the program: its output, a trace, the mount table.
pub(crate) const RESERVE: usize = 8;

/// How long a walk goes on trying while the system refuses every descriptor. Long enough for another part of the
/// program to close what it is just using; short enough that a program which has leaked all of its descriptors still
/// gets its errors soon.
const PATIENCE: Duration = Duration::from_millis(200);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Descriptors {
    most_kept: AtomicUsize,
    kept: AtomicUsize,
    /// Whether the last descriptor that was asked for was refused. Read at each success: without the lock, and not
    /// beside counts that others write.
    is_short: CachePadded<AtomicBool>,
    /// Since when every descriptor has been refused.
    short_since: Mutex<Option<Instant>>,
}

impl Descriptors {
    /// Shares out `available` descriptors: says how many of `workers` can work, at least one.
    pub(crate) fn new(available: usize, workers: usize) -> (Self, usize) {
        let workers = workers.min(available / PER_WORKER).max(1);
        let most_kept = available.saturating_sub(workers * PER_WORKER);
        let descriptors = Self {
            most_kept: AtomicUsize::new(most_kept),
            kept: AtomicUsize::new(0),
            is_short: CachePadded::new(AtomicBool::new(false)),
            short_since: Mutex::new(None),
        };
        (descriptors, workers)
    }

    /// Asks whether one more directory may stay open. If so it counts, until [`Self::let_go`].
    pub(crate) fn try_keep(&self) -> bool {
        // Relaxed: a count and nothing else.
        let most = self.most_kept.load(Ordering::Relaxed);
        let kept = self.kept.fetch_add(1, Ordering::Relaxed);
        if kept < most {
            return true;
        }
        self.let_go();
        false
    }

    /// Counts one more directory that stays open, however many there are.
    pub(crate) fn keep_anyway(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn let_go(&self) {
        self.kept.fetch_sub(1, Ordering::Relaxed);
    }

    /// Looks at the result of an attempt to open something. `Ok(None)` says that there was no descriptor for it, and
    /// that the caller should try again later.
    pub(crate) fn opened_or_later<T>(&self, result: io::Result<T>) -> io::Result<Option<T>> {
        match result {
            Ok(opened) => {
                // Relaxed: a worker that sees it late ends the shortage at its next success.
                if self.is_short.load(Ordering::Relaxed) {
                    self.end_shortage();
                }
                Ok(Some(opened))
            }
            Err(error) => self.error_or_later(error),
        }
    }

    /// [`Self::opened_or_later`] for a step on the way to what is to be opened. A step alone does not end a shortage:
    /// with one free descriptor the first step would always succeed and the next one never, without an end.
    pub(crate) fn step_or_later<T>(&self, result: io::Result<T>) -> io::Result<Option<T>> {
        match result {
            Ok(opened) => Ok(Some(opened)),
            Err(error) => self.error_or_later(error),
        }
    }

    fn error_or_later<T>(&self, error: io::Error) -> io::Result<Option<T>> {
        if is_shortage(&error) && self.has_patience(Instant::now()) { Ok(None) } else { Err(error) }
    }

    /// The system has refused a descriptor: says whether to try again later. From now on no more directories are kept
    /// open, because something else needs the descriptors.
    #[cold]
    fn has_patience(&self, now: Instant) -> bool {
        self.most_kept.store(0, Ordering::Relaxed);
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

/// Whether `error` says that there are no descriptors left.
fn is_shortage(error: &io::Error) -> bool {
    // EMFILE and ENFILE: the process's own limit, and the system's.
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_come_first_and_the_rest_is_for_directories() {
        let (descriptors, workers) = Descriptors::new(10, 2);
        assert_eq!(workers, 2);
        assert_eq!((0..10).filter(|_| descriptors.try_keep()).count(), 4);
        descriptors.let_go();
        assert!(descriptors.try_keep() && !descriptors.try_keep());
    }

    fn refused() -> io::Result<()> {
        Err(io::Error::from_raw_os_error(24))
    }

    #[cfg(unix)]
    #[test]
    fn a_refusal_is_put_off_and_no_more_directories_are_kept() {
        let (descriptors, _) = Descriptors::new(10, 1);
        assert!(descriptors.try_keep());
        assert!(matches!(descriptors.opened_or_later(refused()), Ok(None)));
        assert!(!descriptors.try_keep());
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(descriptors.opened_or_later(Err::<(), _>(denied)).is_err(), "not a shortage");
        assert!(matches!(descriptors.opened_or_later(Ok(7)), Ok(Some(7))));
    }

    #[test]
    fn patience_ends_after_its_time_and_begins_again_with_a_success() {
        let (descriptors, _) = Descriptors::new(10, 1);
        let start = Instant::now();
        assert!(descriptors.has_patience(start));
        assert!(descriptors.has_patience(start + PATIENCE / 2));
        assert!(!descriptors.has_patience(start + PATIENCE));
        assert!(!descriptors.has_patience(start + 2 * PATIENCE));
        assert!(matches!(descriptors.opened_or_later(Ok(7)), Ok(Some(7))));
        assert!(descriptors.has_patience(start + 3 * PATIENCE));
        assert!(!descriptors.has_patience(start + 4 * PATIENCE));
    }

    #[test]
    fn few_descriptors_mean_few_workers() {
        assert_eq!(Descriptors::new(12, 16).1, 4);
        assert_eq!(Descriptors::new(0, 16).1, 1);
    }
}
