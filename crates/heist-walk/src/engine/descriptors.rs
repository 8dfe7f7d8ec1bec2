//! [`Descriptors`]: how many directories may stay open while names in them wait.
//!
//! A worker needs a few descriptors for the directory at hand ([`PER_WORKER`]). What is left of the process's limit
//! goes to directories whose names wait to be opened. When there are too many of these, a directory is closed as soon
//! as it has been read, and opened again, name by name from its root, when its turn comes.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The directory whose names are being opened, the one being read, and one more on the way down to a closed one, or
/// for a file of ignore rules.
pub(crate) const PER_WORKER: usize = 3;

/// For the rest of the program: its output, a trace, the mount table.
pub(crate) const RESERVE: usize = 8;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Descriptors {
    most_kept: AtomicUsize,
    kept: AtomicUsize,
}

impl Descriptors {
    /// Shares out `available` descriptors: says how many of `workers` can work, at least one.
    pub(crate) fn new(available: usize, workers: usize) -> (Self, usize) {
        let workers = workers.min(available / PER_WORKER).max(1);
        let most_kept = available.saturating_sub(workers * PER_WORKER);
        (Self { most_kept: AtomicUsize::new(most_kept), kept: AtomicUsize::new(0) }, workers)
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

    pub(crate) fn let_go(&self) {
        self.kept.fetch_sub(1, Ordering::Relaxed);
    }

    /// The system has refused one: something else in the process, or on the machine, has them. No more directories
    /// are kept open.
    pub(crate) fn note_shortage(&self) {
        self.most_kept.store(0, Ordering::Relaxed);
    }
}

/// Whether `error` says that there are no descriptors left.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
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
        descriptors.let_go();
        descriptors.note_shortage();
        assert!(!descriptors.try_keep());
    }

    #[test]
    fn few_descriptors_mean_few_workers() {
        assert_eq!(Descriptors::new(12, 16).1, 4);
        assert_eq!(Descriptors::new(0, 16).1, 1);
    }
}
