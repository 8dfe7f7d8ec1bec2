//! What all workers of a sweep share, and what they leave behind.

use super::memory::Memory;
use super::owners::Positions;
use super::report::SweepCounts;
use super::tasks::Task;
use super::visitor::ObjectVisitor;
use crate::id::ObjectId;
use crate::pack::index::PackIndex;
use crate::problem::{FileError, ObjectError};
use crate::store::ObjectStore;
use heist::{ExecutorHandle, ReadTokens};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What all workers share.
pub(super) struct Context<V: ObjectVisitor> {
    pub store: Arc<ObjectStore>,
    pub memory: Memory,
    /// Set before the first task is spawned.
    pub executor: OnceLock<ExecutorHandle<Task<V::State>>>,
    pub packs: Vec<SweptPack>,
    /// Loose objects that no pack has: the directory, and the id.
    pub loose: Vec<(u32, ObjectId)>,
    /// Limits the reads under way, if the caller wants that.
    pub reads: Option<ReadTokens>,
    pub decoded_max: u64,
    decoded: AtomicU64,
    is_cut: AtomicBool,
    results: Mutex<Results<V>>,
}

/// A pack that is swept.
pub(super) struct SweptPack {
    pub path: PathBuf,
    /// Taken by the task that reads it.
    pub work: Mutex<Option<PackWork>>,
}

/// What the task of a pack needs.
pub(super) struct PackWork {
    pub index: PackIndex,
    pub duplicates: Positions,
    /// Why entries of a pack without an index have no id.
    pub nameless: Vec<ObjectError>,
}

/// What the workers leave behind.
pub(super) struct Results<V> {
    pub visitors: Vec<V>,
    pub counts: SweepCounts,
    pub problems: Vec<FileError>,
}

impl<V: ObjectVisitor> Context<V> {
    pub(super) fn new(store: Arc<ObjectStore>, memory: Memory, decoded_max: u64) -> Self {
        let results =
            Results { visitors: Vec::new(), counts: SweepCounts::default(), problems: Vec::new() };
        Self {
            store,
            memory,
            executor: OnceLock::new(),
            packs: Vec::new(),
            loose: Vec::new(),
            reads: None,
            decoded_max,
            decoded: AtomicU64::new(0),
            is_cut: AtomicBool::new(false),
            results: Mutex::new(results),
        }
    }

    /// Adds to the decoded bytes of all workers. Beyond the limit, nothing more is decoded.
    pub(super) fn count_decoded(&self, bytes: u64) {
        let before = self.decoded.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.decoded_max {
            self.is_cut.store(true, Ordering::Relaxed);
        }
    }

    /// Returns `true` if nothing more is to be decoded.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    pub(super) fn results(&self) -> MutexGuard<'_, Results<V>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
