//! [`Collector`]: one worker's scanned objects, of which those with candidates are kept until their
//! paths are known.
//!
//! Invariant: what is kept takes at most the memory of [`Room`]; what does not fit is counted.

use super::progress::HistoryProgress;
use super::report::BlobCounts;
use crate::id::ObjectId;
use heist_scan::{BlobScan, BlobScanner, Detector, Memory, ScannedBlob, Version};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The memory of a kept object besides its matches.
const KEPT_BYTES: u64 = 256;

/// A worker publishes its progress after this many objects.
const PUBLISH_EVERY: u64 = 64;

/// The memory for kept objects, which all workers share.
#[derive(Debug)]
pub(super) struct Room {
    taken: AtomicU64,
    bytes_max: u64,
}

impl Room {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { taken: AtomicU64::new(0), bytes_max }
    }

    fn take(&self, bytes: u64) -> bool {
        let taken = self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if taken > self.bytes_max {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
        }
        taken <= self.bytes_max
    }
}

/// An object with candidates.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: ObjectId,
    pub(super) scanned: ScannedBlob,
}

/// What workers have found.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) blobs: Vec<Kept>,
    /// Messages of commits and tags.
    pub(super) messages: Vec<Kept>,
    pub(super) counts: BlobCounts,
    pub(super) messages_scanned: u64,
    pub(super) bytes: u64,
    pub(super) over_memory: u64,
    /// Blobs of which a scan of the changes found something else than a scan of everything.
    pub(super) differences: Vec<ObjectId>,
}

impl Collected {
    /// Sorts what was found, so that it does not depend on which worker found it.
    pub(super) fn sort(&mut self) {
        self.blobs.sort_unstable_by_key(|kept| kept.id);
        self.messages.sort_unstable_by_key(|kept| kept.id);
        self.differences.sort_unstable();
    }

    pub(super) fn add(&mut self, other: Self) {
        self.blobs.extend(other.blobs);
        self.messages.extend(other.messages);
        self.counts.add(&other.counts);
        self.messages_scanned += other.messages_scanned;
        self.bytes += other.bytes;
        self.over_memory += other.over_memory;
        self.differences.extend(other.differences);
    }
}

/// The tools of one worker.
pub(super) struct Collector<D: Detector> {
    pub(super) scanner: BlobScanner<D>,
    pub(super) collected: Collected,
    room: Arc<Room>,
    progress: HistoryProgress,
    unpublished: (u64, u64),
}

impl<D: Detector> Collector<D> {
    pub(super) fn new(scan: &BlobScan<D>, room: &Arc<Room>, progress: &HistoryProgress) -> Self {
        Self {
            scanner: scan.scanner(),
            collected: Collected::default(),
            room: Arc::clone(room),
            progress: progress.clone(),
            unpublished: (0, 0),
        }
    }

    /// Scans a blob, and returns what the detector keeps of it.
    pub(super) fn blob(&mut self, id: ObjectId, version: Version<'_>) -> Memory {
        let bytes = version.bytes().len() as u64;
        let mut scanned = self.scanner.scan(version);
        self.collected.counts.count(&scanned.outcome());
        self.collected.bytes += bytes;
        self.publish(bytes);
        let memory = std::mem::take(&mut scanned.memory);
        if scanned.captured_size() > 0 {
            let kept = self.keep(id, scanned);
            self.collected.blobs.extend(kept);
        }
        memory
    }

    /// Notes the blob if the scan of its changes finds something else than a scan of all of it.
    pub(super) fn verify(&mut self, id: ObjectId, whole: Version<'_>, changed: Version<'_>) {
        let mut found = [whole, changed].map(|version| {
            let mut scanned = self.scanner.scan(version);
            scanned.memory = Memory::default();
            // Nothing else shows everything that a report depends on.
            format!("{scanned:?}")
        });
        let [whole, changed] = &mut found;
        if whole != changed {
            self.collected.differences.push(id);
        }
    }

    /// Scans the message of a commit or a tag.
    pub(super) fn message(&mut self, id: ObjectId, message: &[u8]) {
        let scanned = self.scanner.scan(Version::new(message).without_memory());
        self.collected.messages_scanned += 1;
        self.collected.bytes += message.len() as u64;
        self.publish(message.len() as u64);
        if scanned.captured_size() > 0 {
            let kept = self.keep(id, scanned);
            self.collected.messages.extend(kept);
        }
    }

    fn keep(&mut self, id: ObjectId, scanned: ScannedBlob) -> Option<Kept> {
        self.progress.add_candidate();
        let fits = self.room.take(scanned.captured_size() + KEPT_BYTES);
        self.collected.over_memory += u64::from(!fits);
        fits.then_some(Kept { id, scanned })
    }

    fn publish(&mut self, bytes: u64) {
        self.unpublished.0 += 1;
        self.unpublished.1 += bytes;
        if self.unpublished.0 == PUBLISH_EVERY {
            self.publish_all();
        }
    }

    /// Publishes what other threads cannot see yet.
    pub(super) fn publish_all(&mut self) {
        let (objects, bytes) = std::mem::take(&mut self.unpublished);
        self.progress.add_objects(objects, bytes);
    }
}
