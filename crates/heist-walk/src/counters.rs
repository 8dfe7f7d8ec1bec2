//! [`Progress`]: what a walk has done so far, readable from any thread while it runs.
//!
//! Each worker counts on a cache line of its own, and shows its counts at the end of each block of entries.

use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a walk has come to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Directories entered.
    pub directories: u64,
    /// Other entries visited.
    pub files: u64,
    /// The lengths of all entries, in a walk with metadata. Hard links count each time.
    pub bytes: u64,
    /// What they take on the disk, likewise.
    pub allocated: u64,
    /// Errors reported.
    pub errors: u64,
    /// Entries that a filter left out, or that are on another file system in a walk that stays on one.
    pub excluded: u64,
}

impl Totals {
    /// Directories and files.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.directories + self.files
    }
}

macro_rules! counts {
    ($($field:ident),* $(,)?) => {
        /// One worker's counts, written by that worker alone.
        #[derive(Debug, Default)]
        struct Shown { $($field: AtomicU64),* }

        impl Shown {
            fn show(&self, totals: &Totals) {
                // Relaxed: figures for people, each on its own.
                $(self.$field.store(totals.$field, Ordering::Relaxed);)*
            }

            fn add_to(&self, totals: &mut Totals) {
                $(totals.$field += self.$field.load(Ordering::Relaxed);)*
            }
        }
    };
}

counts!(directories, files, bytes, allocated, errors, excluded);

/// A walk's counters. A handle: clones show the same walk.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    workers: Arc<std::sync::Mutex<Vec<Arc<CachePadded<Shown>>>>>,
}

impl Progress {
    /// What the walk has done so far: zeros before it has started. Never more than is true; up to a block of entries
    /// per worker less.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let workers = self.workers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for worker in &*workers {
            worker.add_to(&mut totals);
        }
        totals
    }

    /// Counters for one more worker.
    pub(crate) fn add_worker(&self) -> WorkerCounts {
        let shown = Arc::new(CachePadded::new(Shown::default()));
        let mut workers = self.workers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        workers.push(Arc::clone(&shown));
        WorkerCounts { so_far: Totals::default(), shown }
    }
}

/// One worker's own counts.
#[derive(Debug)]
pub(crate) struct WorkerCounts {
    pub(crate) so_far: Totals,
    shown: Arc<CachePadded<Shown>>,
}

impl WorkerCounts {
    /// Shows them to whoever asks.
    pub(crate) fn show(&self) {
        self.shown.show(&self.so_far);
    }
}
