//! [`ScanProgress`]: what a scan has done so far, readable from any thread while it runs.
//!
//! Each worker counts on cache lines of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a scan has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanCounts {
    /// Objects found.
    pub found: u64,
    /// Objects done, whatever became of them.
    pub objects: u64,
    /// Bytes scanned.
    pub bytes: u64,
    /// Findings.
    pub findings: u64,
}

/// One worker's counts, written by that worker alone. Aligned, because processors fetch two lines at a time.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shown {
    found: AtomicU64,
    objects: AtomicU64,
    bytes: AtomicU64,
    findings: AtomicU64,
}

/// A scan's counters. A handle: clones show the same scan. Shared by several scans, it shows their sum.
///
/// ```
/// use heist_scan::ScanProgress;
///
/// let progress = ScanProgress::default();
/// assert_eq!(progress.snapshot().bytes, 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScanProgress {
    workers: Arc<Mutex<Vec<Arc<Shown>>>>,
}

impl ScanProgress {
    /// Zeros.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the scan has done so far.
    #[must_use]
    pub fn snapshot(&self) -> ScanCounts {
        let mut counts = ScanCounts::default();
        for worker in &*self.workers.lock().unwrap_or_else(PoisonError::into_inner) {
            // Relaxed: figures for people, each on its own.
            counts.found += worker.found.load(Ordering::Relaxed);
            counts.objects += worker.objects.load(Ordering::Relaxed);
            counts.bytes += worker.bytes.load(Ordering::Relaxed);
            counts.findings += worker.findings.load(Ordering::Relaxed);
        }
        counts
    }

    /// Counters for one more worker.
    pub(crate) fn add_worker(&self) -> WorkerCounts {
        let shown = Arc::new(Shown::default());
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&shown));
        WorkerCounts { so_far: ScanCounts::default(), shown }
    }
}

/// One worker's own counts.
#[derive(Debug)]
pub(crate) struct WorkerCounts {
    pub(crate) so_far: ScanCounts,
    shown: Arc<Shown>,
}

impl WorkerCounts {
    /// Shows them to whoever asks.
    pub(crate) fn show(&self) {
        self.shown.found.store(self.so_far.found, Ordering::Relaxed);
        self.shown.objects.store(self.so_far.objects, Ordering::Relaxed);
        self.shown.bytes.store(self.so_far.bytes, Ordering::Relaxed);
        self.shown.findings.store(self.so_far.findings, Ordering::Relaxed);
    }
}
