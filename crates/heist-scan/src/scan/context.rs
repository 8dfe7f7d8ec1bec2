//! [`ScanContext`]: what all workers of a scan share.

use super::builder::ScanSettings;
use super::builtin_search::BuiltinSearch;
use super::visible::NEIGHBOURHOOD_BYTES;
use crate::detector::Detector;
use crate::report::{Incomplete, IncompleteList, OutcomeCounts, ScanReport, Stopped};
use crate::sink::Sink;
use crate::window::SurroundingBytes;
use heist::CancelToken;
use heist::MetricsSnapshot;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What all workers of a scan share.
pub(crate) struct ScanContext<D> {
    pub(crate) detector: Arc<D>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) settings: ScanSettings,
    /// A child of the caller's token: stopping the scan stops nothing else.
    pub(crate) stop: CancelToken,
    deadline_passed: AtomicBool,
    /// The size of the matches in large files that wait for the ranges before them to be reported.
    pub(crate) captured_ahead: AtomicU64,
    incomplete: Mutex<IncompleteList>,
    totals: Mutex<WorkerTotals>,
}

/// The counts of the workers that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerTotals {
    pub(super) outcomes: OutcomeCounts,
    pub(super) bytes: u64,
    pub(super) findings: u64,
    pub(super) findings_left_out: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the bytes that must be in memory around the positions a detector searches: its overlap,
/// what affects the text that a finding shows, and what the search for other secrets in that needs.
pub(super) fn surroundings(detector: &impl Detector) -> SurroundingBytes {
    let overlap = detector.required_overlap();
    let around = NEIGHBOURHOOD_BYTES + BuiltinSearch::reach_beside(detector);
    SurroundingBytes { before: overlap.before + around, after: overlap.after + around }
}

impl<D: Detector> ScanContext<D> {
    /// Creates the context of a scan that `cancel` stops.
    pub(super) fn new(
        detector: Arc<D>,
        sink: Arc<dyn Sink>,
        settings: ScanSettings,
        cancel: &CancelToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            detector,
            sink,
            settings,
            stop: cancel.child(),
            deadline_passed: AtomicBool::new(false),
            captured_ahead: AtomicU64::new(0),
            incomplete: Mutex::default(),
            totals: Mutex::default(),
        })
    }

    /// Returns `true` if the scan was cancelled or its deadline has passed.
    pub(crate) fn is_stopped(&self) -> bool {
        if self.stop.is_cancelled() {
            return true;
        }
        let is_late = self.settings.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_late {
            // Relaxed: it is read after all workers have ended.
            self.deadline_passed.store(true, Ordering::Relaxed);
            self.stop.cancel();
        }
        is_late
    }

    pub(crate) fn add_incomplete(&self, path: PathBuf, why: Incomplete) {
        lock(&self.incomplete).add(path, why);
    }

    /// Adds the counts of a worker that ends.
    pub(super) fn add_totals(&self, worker: &WorkerTotals) {
        let mut totals = lock(&self.totals);
        totals.outcomes.add(&worker.outcomes);
        totals.bytes += worker.bytes;
        totals.findings += worker.findings;
        totals.findings_left_out += worker.findings_left_out;
    }

    /// Returns the report of the scan. All workers must have ended.
    pub(crate) fn report(&self, threads: usize, metrics: MetricsSnapshot) -> ScanReport {
        let incomplete = std::mem::take(&mut *lock(&self.incomplete));
        let totals = *lock(&self.totals);
        let stopped = if self.deadline_passed.load(Ordering::Relaxed) {
            Some(Stopped::Deadline)
        } else {
            self.stop.is_cancelled().then_some(Stopped::Cancelled)
        };
        ScanReport {
            outcomes: totals.outcomes,
            bytes: totals.bytes,
            findings: totals.findings,
            findings_left_out: totals.findings_left_out,
            directories: 0,
            filtered: 0,
            filtered_by_counted_globs: 0,
            filtered_by_ignore_files: 0,
            filtered_hidden: 0,
            pseudo_file_systems: 0,
            pseudo_paths: Vec::new(),
            pseudo_roots: Vec::new(),
            incomplete_count: incomplete.count,
            incomplete: incomplete.into_listed(),
            stopped,
            threads,
            metrics,
        }
    }
}
