//! A sweep visits every object of a store once, bases before their deltas, on an executor.
//!
//! | file | contents |
//! |---|---|
//! | `visitor`, `report` | what the caller gives and gets |
//! | `owners` | which copy of an object is visited |
//! | `self_index` | packs without an index |
//! | `plan`, `forest` | what the index and the headers of a pack say, in arrays |
//! | `tasks`, `worker`, `loose_objects` | the tasks, and what a worker does with them |
//! | `decoder` | inflating and applying deltas, with a worker's buffers |
//! | `memory` | the budgets, and why no task waits for itself |
//! | `context` | what all workers share |

mod context;
mod decoder;
mod forest;
mod loose_objects;
mod memory;
mod owners;
mod plan;
mod report;
mod self_index;
mod tasks;
mod visitor;
mod worker;

pub use report::{SweepCounts, SweepReport};
pub use visitor::{CopiedRange, Delta, ObjectVisitor, Unreadable, Visit};

use crate::loose::LooseIds;
use crate::pack::index::PackIndex;
use crate::problem::FileError;
use crate::store::ObjectStore;
use context::{Context, PackWork, SweptPack};
use decoder::delta_bytes_max;
use heist::{CancelToken, ExecutorBuilder, ExecutorConfig, ReadTokens, StartError};
use heist_device::{DeviceLanes, DeviceMap, DeviceSlots, DeviceSlotsConfig};
use memory::Memory;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tasks::Task;
use worker::Worker;

/// The most loose objects in one of the 256 parts of an object directory.
const LOOSE_PER_PART_MAX: usize = 1_000_000;

/// A sweep that may decode 512 times as many bytes as its packs have, and this many more, decodes
/// all of every repository seen so far. (Of kubernetes, it is 24 times.)
const DECODED_MIN: u64 = 16 << 30;
const DECODED_PER_PACK_BYTE: u64 = 512;

/// Visits every object of a store once.
///
/// ```no_run
/// use heist_git::{Access, Layout, Limits, ObjectStore, ObjectVisitor, Sweep, Trust, Visit};
///
/// /// Counts the bytes of blobs that are new: not copied from an older or younger version.
/// #[derive(Default)]
/// struct NewBytes(u64);
///
/// impl ObjectVisitor for NewBytes {
///     type State = ();
///
///     fn visit(&mut self, visit: &Visit<'_, ()>) -> Option<()> {
///         self.0 += match &visit.delta {
///             None => visit.content.len() as u64,
///             Some(delta) => delta.inserted_bytes(),
///         };
///         Some(())
///     }
/// }
///
/// let access = Access::new(["."], Trust::RootsOnly)?;
/// let layout = Layout::open(".", &access)?;
/// let store = ObjectStore::open(&layout, &access, Limits::default())?;
/// let report = Sweep::new(store).run(|_worker| NewBytes::default())?;
/// let new: u64 = report.visitors.iter().map(|visitor| visitor.0).sum();
/// println!("{new} new bytes in {} blobs", report.counts.accounted() - report.counts.unwanted);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// - Every object is visited, counted as [unwanted](SweepCounts::unwanted), or reported as
///   [unreadable](ObjectVisitor::unreadable). Only a sweep that is cut leaves objects without an
///   outcome, and says how many.
/// - The contents in memory are bounded by [`Sweep::memory`]. Beside them, each object of a pack
///   takes about 50 bytes. What visitors keep is not counted; it lives as long as the content of
///   its object, so there are few of them at a time.
/// - The order is not defined, except that bases come before their deltas.
#[derive(Debug)]
pub struct Sweep {
    store: Arc<ObjectStore>,
    threads: Option<usize>,
    memory: u64,
    decoded_max: Option<u64>,
    cancel: CancelToken,
    reads: Option<ReadTokens>,
    slots: Option<Arc<DeviceSlots>>,
}

impl Sweep {
    /// Creates a sweep of a store.
    #[must_use]
    pub fn new(store: impl Into<Arc<ObjectStore>>) -> Self {
        let store = store.into();
        Self {
            store,
            threads: None,
            memory: 160 << 20,
            decoded_max: None,
            cancel: CancelToken::new(),
            reads: None,
            slots: None,
        }
    }

    /// Sets the number of threads. Default: the number of CPUs that the process may use.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets how many bytes of contents may be in memory at a time. Default 160 MiB, which is also
    /// what objects of the default size limit need at least: two and a half times the limit.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets how many bytes are decoded before the sweep is cut. Default: 16 GiB and 512 times the
    /// size of the packs. A hostile pack of a few kilobytes can state petabytes.
    #[must_use]
    pub fn decoded_bytes(mut self, most: u64) -> Self {
        self.decoded_max = Some(most);
        self
    }

    /// Sets a token that stops the sweep.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the tokens that tasks take while they read: one each, and a mebibyte. Share them with
    /// other scans to limit the reads of all. By default, each worker reads at most one object at a
    /// time.
    #[must_use]
    pub fn read_tokens(mut self, reads: ReadTokens) -> Self {
        self.reads = Some(reads);
        self
    }

    /// Sets the slots of disks. Packs wait in the lane of their disk, and hold a slot while all
    /// their headers are read, which reads through the whole pack. Share the slots with other
    /// sweeps, so that they do not fight for a slow disk. By default, each sweep has its own, as
    /// many as suit each kind of disk.
    #[must_use]
    pub fn device_slots(mut self, slots: Arc<DeviceSlots>) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Visits every object. `visitor` makes the visitor of each worker.
    ///
    /// # Errors
    /// Fails if the number of threads is unusable, or the system refuses a thread. What cannot be
    /// read is in the report.
    ///
    /// # Panics
    /// If a visitor panics, the sweep stops and the panic goes on here.
    pub fn run<V: ObjectVisitor>(
        self,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<SweepReport<V>, StartError> {
        let mut config = self.threads.map_or_else(ExecutorConfig::default, ExecutorConfig::new);
        config.cancel = self.cancel.clone();
        config.thread_name = "heist-git".to_owned();
        let limits = self.store.limits().clone();
        let object_bytes = limits.object_bytes;
        let memory =
            Memory::new(self.memory.min(1 << 50), object_bytes, delta_bytes_max(object_bytes));
        let memory = memory.expect("no more than a budget can count");
        let mut problems = self.store.problems().to_vec();
        let (packs, pack_bytes) = swept_packs(&self.store, self.decoded_max, &mut problems);
        let decoded_max = self.decoded_max.unwrap_or_else(|| default_decoded_max(pack_bytes));
        let mut context = Context::<V>::new(Arc::clone(&self.store), memory, decoded_max);
        let (loose, loose_duplicates) = loose_objects(&self.store, &packs, &mut problems);
        let mut duplicates = loose_duplicates;
        let mut total = loose.len() as u64;
        context.loose = loose;
        context.reads = self.reads;
        for pack in packs {
            total += pack.1.index.count() - pack.1.duplicates.len();
            total += pack.1.nameless.len() as u64;
            duplicates += pack.1.duplicates.len();
            context.packs.push(SweptPack { path: pack.0, work: Mutex::new(Some(pack.1)) });
        }
        let context = Arc::new(context);
        let executor = {
            let context = Arc::clone(&context);
            ExecutorBuilder::new(config).build(
                move |worker| Worker::new(Arc::clone(&context), visitor(worker)),
                |task, ctx| {
                    let (worker, mut queue): (&mut Worker<V>, _) = ctx.split();
                    worker.run(task, &mut queue);
                },
            )?
        };
        let _ = context.executor.set(executor.handle());
        let slots = self.slots.unwrap_or_else(|| {
            let config = DeviceSlotsConfig::by_kind();
            DeviceSlots::new(config).expect("every kind has at least one slot")
        });
        let lanes =
            DeviceLanes::new(&executor.handle(), slots, |turn| Task::OnDevice(Box::new(turn)));
        let mut devices = DeviceMap::system();
        // All of these are refused only if the sweep is cancelled already.
        for (number, pack) in context.packs.iter().enumerate() {
            let _ = lanes.submit(devices.id_of(&pack.path), number as u32);
        }
        if !context.loose.is_empty() {
            let _ = executor.spawn(Task::Loose(0..context.loose.len() as u32));
        }
        let metrics = executor.join();
        let mut results = context.results();
        let mut counts = std::mem::take(&mut results.counts);
        counts.duplicates = duplicates;
        problems.append(&mut results.problems);
        Ok(SweepReport {
            visitors: std::mem::take(&mut results.visitors),
            cut: total.saturating_sub(counts.accounted()),
            counts,
            problems,
            buffers_high_water: context.memory.high_water(),
            metrics,
        })
    }
}

/// Loads the indexes, makes those that are missing, and finds out which objects several packs have.
/// The largest packs come first.
fn swept_packs(
    store: &ObjectStore,
    decoded_max: Option<u64>,
    problems: &mut Vec<FileError>,
) -> (Vec<(PathBuf, PackWork)>, u64) {
    let mut indexed = Vec::new();
    let mut unindexed = store.unindexed_packs().to_vec();
    let mut pack_bytes = 0;
    let len_of = |path: &PathBuf| {
        let resolved = store.access().resolve(path).ok();
        resolved.and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len())
    };
    for pack in store.packs() {
        let path = pack.path().to_owned();
        pack_bytes += len_of(&path);
        let index = PackIndex::open(store.access(), pack.index.path(), store.hash_kind());
        match index.and_then(PackIndex::into_memory) {
            Ok(index) => indexed.push((path, index, Vec::new())),
            Err(error) => {
                problems.push(error);
                unindexed.push(path);
            }
        }
    }
    for path in unindexed {
        let len = len_of(&path);
        pack_bytes += len;
        let decoded_max = decoded_max.unwrap_or_else(|| default_decoded_max(len));
        match self_index::index(store, &path, decoded_max) {
            Ok(made) => {
                problems.extend(made.problem);
                indexed.push((path, made.index, made.nameless));
            }
            Err(error) => problems.push(error),
        }
    }
    indexed.sort_by_key(|(_, index, _)| std::cmp::Reverse(index.count()));
    let all: Vec<_> = indexed.iter().map(|(_, index, _)| index).collect();
    // The indexes are in memory and were checked, so nothing fails here.
    let duplicates = owners::duplicates(&all).unwrap_or_default();
    let with_duplicates = indexed.into_iter().zip(duplicates);
    let works = with_duplicates.map(|((path, index, nameless), duplicates)| {
        (path, PackWork { index, duplicates, nameless })
    });
    (works.collect(), pack_bytes)
}

fn default_decoded_max(pack_bytes: u64) -> u64 {
    pack_bytes.saturating_mul(DECODED_PER_PACK_BYTE).saturating_add(DECODED_MIN)
}

/// Lists the loose objects that no pack has, each once, and counts the others.
fn loose_objects(
    store: &ObjectStore,
    packs: &[(PathBuf, PackWork)],
    problems: &mut Vec<FileError>,
) -> (Vec<(u32, crate::ObjectId)>, u64) {
    let mut loose = Vec::new();
    let mut seen = HashSet::new();
    let mut duplicates = 0;
    for (dir, objects) in store.object_dirs().iter().enumerate() {
        let found = LooseIds::list(objects, store.hash_kind(), store.access(), LOOSE_PER_PART_MAX);
        problems.extend(found.problems);
        for id in found.ids {
            let in_pack = packs.iter().any(|(_, pack)| matches!(pack.index.find(&id), Ok(Some(_))));
            if in_pack || !seen.insert(id) {
                duplicates += 1;
            } else {
                loose.push((dir as u32, id));
            }
        }
    }
    (loose, duplicates)
}
