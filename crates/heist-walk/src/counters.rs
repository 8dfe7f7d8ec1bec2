//! [`Progress`]: what a walk has done so far, readable from any thread while it runs.
//!
//! Each worker counts in its own memory, and publishes its counts on a cache line of its own after
//! each block of entries.

use crate::filter::ExcludedBy;
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a walk has visited so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Directories entered.
    pub directories: u64,
    /// Other entries visited.
    pub files: u64,
    /// The sum of the lengths of all entries, in a walk with metadata. A file counts once for each
    /// of its names.
    pub bytes: u64,
    /// The sum of the disk space of all entries, counted like `bytes`.
    pub allocated: u64,
    /// Errors reported.
    pub errors: u64,
    /// Entries left out by the filter, or because they are on another file system and the walk
    /// stays on one.
    pub excluded: u64,
    /// Those of them that a [counted glob](crate::Filter::exclude_counted) left out.
    pub excluded_by_counted_globs: u64,
    /// Those of them that an ignore file left out.
    pub excluded_by_ignore_files: u64,
    /// Those of them that were left out because their names begin with a dot.
    pub excluded_hidden: u64,
}

impl Totals {
    /// Returns the number of directories and files.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.directories + self.files
    }
}

macro_rules! counts {
    ($($field:ident),* $(,)?) => {
        /// The published counts of one worker. Only that worker writes them.
        #[derive(Debug, Default)]
        struct PublishedCounts { $($field: AtomicU64),* }

        impl PublishedCounts {
            fn publish(&self, totals: &Totals) {
                // Relaxed: each figure is for people and stands on its own.
                $(self.$field.store(totals.$field, Ordering::Relaxed);)*
            }

            fn add_to(&self, totals: &mut Totals) {
                $(totals.$field += self.$field.load(Ordering::Relaxed);)*
            }
        }
    };
}

counts!(
    directories,
    files,
    bytes,
    allocated,
    errors,
    excluded,
    excluded_by_counted_globs,
    excluded_by_ignore_files,
    excluded_hidden,
);

/// The counters of a walk. Clones are handles to the same counters.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    workers: Arc<std::sync::Mutex<Vec<Arc<CachePadded<PublishedCounts>>>>>,
}

impl Progress {
    /// Returns what the walk has visited so far, which is nothing before it starts.
    ///
    /// The figures are never too high. They may lack up to a block of entries per worker.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let workers = self.workers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for worker in &*workers {
            worker.add_to(&mut totals);
        }
        totals
    }

    /// Adds the counters of one more worker.
    pub(crate) fn add_worker(&self) -> WorkerCounts {
        let published = Arc::new(CachePadded::new(PublishedCounts::default()));
        let mut workers = self.workers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        workers.push(Arc::clone(&published));
        WorkerCounts { so_far: Totals::default(), published }
    }
}

/// The counts of one worker, not yet published.
#[derive(Debug)]
pub(crate) struct WorkerCounts {
    pub(crate) so_far: Totals,
    published: Arc<CachePadded<PublishedCounts>>,
}

impl WorkerCounts {
    /// Counts an entry that was left out.
    pub(crate) fn count_excluded(&mut self, by: ExcludedBy) {
        let so_far = &mut self.so_far;
        so_far.excluded += 1;
        match by {
            ExcludedBy::CountedGlob => so_far.excluded_by_counted_globs += 1,
            ExcludedBy::IgnoreFile => so_far.excluded_by_ignore_files += 1,
            ExcludedBy::Hidden => so_far.excluded_hidden += 1,
            ExcludedBy::Other => {}
        }
    }

    /// Makes the counts visible in [`Progress`].
    pub(crate) fn publish(&self) {
        self.published.publish(&self.so_far);
    }
}
