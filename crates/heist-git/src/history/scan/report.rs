//! [`HistoryReport`]: what the scan of a history has done.

use super::super::graph::UnreadableObjects;
use crate::id::ObjectId;
use crate::problem::FileError;
use heist_scan::{Outcome, Stopped};

/// The result of the scan of one history.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct HistoryReport {
    /// The number of commits that the refs reach, and of those whose changes were scanned.
    pub commits: u64,
    /// See [`commits`](HistoryReport::commits).
    pub commits_scanned: u64,
    /// The number of refs.
    pub refs: u64,
    /// What became of the blobs.
    pub blobs: BlobCounts,
    /// The number of messages of commits and tags that were scanned.
    pub messages: u64,
    /// The number of scanned bytes.
    pub bytes: u64,
    /// Commits, trees, tags and blobs that could not be read.
    pub unreadable: UnreadableObjects,
    /// The number of findings that the sink got.
    pub findings: u64,
    /// The number of findings that were left out, because a blob has too many of one kind.
    pub findings_left_out: u64,
    /// Objects with candidates that no ref reaches, and that were not reported for that reason.
    pub unreachable: u64,
    /// Objects whose candidates did not fit into memory.
    pub over_memory: u64,
    /// Places of blobs with candidates that are over a limit.
    pub places_left_out: u64,
    /// Places that the caller excludes.
    pub excluded: u64,
    /// Whether the search for places ended at its limit.
    pub attribution_is_cut: bool,
    /// Whether the history ends before its first commit, because the clone is shallow.
    pub is_shallow: bool,
    /// Whether objects may be missing because they were never fetched.
    pub is_partial: bool,
    /// Blobs of which a scan of the changes found something else than a scan of everything.
    pub differences: Vec<ObjectId>,
    /// Files of the repository that could not be read, or were refused.
    pub problems: Vec<FileError>,
    /// Objects that were not looked at, because the scan was stopped or decoded too many bytes.
    pub not_looked_at: u64,
    /// Why the scan ended early, if it did.
    pub stopped: Option<Stopped>,
    /// The number of threads.
    pub threads: usize,
}

impl HistoryReport {
    /// Returns `true` if everything was scanned and every finding reported.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unreadable.is_empty()
            && self.findings_left_out == 0
            && self.over_memory == 0
            && self.places_left_out == 0
            && !self.attribution_is_cut
            && self.differences.is_empty()
            && self.problems.is_empty()
            && self.stopped.is_none()
            && self.not_looked_at == 0
            && self.blobs.panicked == 0
    }
}

/// The number of blobs by how their scan ended. Each blob counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobCounts {
    /// Scanned to the end.
    pub scanned: u64,
    /// Binary, and therefore skipped.
    pub binary: u64,
    /// Over the size limit of the scan.
    pub too_large: u64,
    /// Ended by a panic of the detector.
    pub panicked: u64,
    /// Stopped, or not begun.
    pub interrupted: u64,
}

impl BlobCounts {
    pub(super) fn count(&mut self, outcome: &Outcome) {
        *match outcome {
            Outcome::Binary => &mut self.binary,
            Outcome::TooLarge => &mut self.too_large,
            Outcome::Panicked(_) => &mut self.panicked,
            Outcome::Interrupted => &mut self.interrupted,
            _ => &mut self.scanned,
        } += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.scanned += other.scanned;
        self.binary += other.binary;
        self.too_large += other.too_large;
        self.panicked += other.panicked;
        self.interrupted += other.interrupted;
    }

    /// Returns the number of all blobs.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.scanned + self.binary + self.too_large + self.panicked + self.interrupted
    }
}
