//! [`ScanProgress`]: counters that any thread can read during a scan.
//!
//! Each worker publishes its counts on cache lines of its own, so counting does not slow other
//! workers down.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a scan has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanCounts {
    /// The number of objects found.
    pub found: u64,
    /// The number of objects done, whatever their outcome.
    pub objects: u64,
    /// The number of bytes scanned.
    pub bytes: u64,
    /// The number of findings.
    pub findings: u64,
}

/// The counts of one worker, which only that worker writes. Aligned to two cache lines, because
/// processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct PublishedCounts {
    found: AtomicU64,
    objects: AtomicU64,
    bytes: AtomicU64,
    findings: AtomicU64,
}

/// The counters of a scan.
///
/// This is a handle: its clones show the same counters. If several scans get the same handle, it
/// shows their sum.
///
/// # Examples
/// ```
/// use heist_scan::ScanProgress;
///
/// let progress = ScanProgress::new();
/// assert_eq!(progress.snapshot().bytes, 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScanProgress {
    workers: Arc<Mutex<Vec<Arc<PublishedCounts>>>>,
}

impl ScanProgress {
    /// Creates counters that are zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what the scan has done so far.
    #[must_use]
    pub fn snapshot(&self) -> ScanCounts {
        let mut counts = ScanCounts::default();
        for worker in &*self.workers.lock().unwrap_or_else(PoisonError::into_inner) {
            // Relaxed: nothing is decided by these figures, so they need not agree with each other.
            counts.found += worker.found.load(Ordering::Relaxed);
            counts.objects += worker.objects.load(Ordering::Relaxed);
            counts.bytes += worker.bytes.load(Ordering::Relaxed);
            counts.findings += worker.findings.load(Ordering::Relaxed);
        }
        counts
    }

    /// Adds counters for one more worker.
    pub(crate) fn add_worker(&self) -> WorkerCounts {
        let published = Arc::new(PublishedCounts::default());
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&published));
        WorkerCounts { so_far: ScanCounts::default(), published }
    }
}

/// The counts that one worker keeps, and the place where it publishes them.
#[derive(Debug)]
pub(crate) struct WorkerCounts {
    pub(crate) so_far: ScanCounts,
    published: Arc<PublishedCounts>,
}

impl WorkerCounts {
    /// Makes the counts visible to other threads.
    pub(crate) fn publish(&self) {
        self.published.found.store(self.so_far.found, Ordering::Relaxed);
        self.published.objects.store(self.so_far.objects, Ordering::Relaxed);
        self.published.bytes.store(self.so_far.bytes, Ordering::Relaxed);
        self.published.findings.store(self.so_far.findings, Ordering::Relaxed);
    }
}
