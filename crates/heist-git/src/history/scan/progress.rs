//! [`HistoryProgress`]: counters that other threads can read during the scan of a history.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the scan of a history has done so far. Clones show the same counters.
#[derive(Clone, Debug, Default)]
pub struct HistoryProgress {
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    objects: AtomicU64,
    bytes: AtomicU64,
    candidates: AtomicU64,
    commits: AtomicU64,
}

impl HistoryProgress {
    /// Creates counters that are zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of objects that were looked at.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.counters.objects.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes in them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.counters.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of objects with candidates.
    #[must_use]
    pub fn candidates(&self) -> u64 {
        self.counters.candidates.load(Ordering::Relaxed)
    }

    /// Returns the number of commits that were read.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.counters.commits.load(Ordering::Relaxed)
    }

    // Relaxed: nothing is decided by these figures.
    pub(super) fn add_objects(&self, objects: u64, bytes: u64) {
        self.counters.objects.fetch_add(objects, Ordering::Relaxed);
        self.counters.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_candidate(&self) {
        self.counters.candidates.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_commit(&self) {
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
    }
}
