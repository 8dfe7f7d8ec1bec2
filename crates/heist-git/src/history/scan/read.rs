//! Reads and scans the objects of a history.
//!
//! A whole history is swept: every object is decoded once, bases first, and of a version of a file
//! only what changed is scanned. A range is read object by object.

use super::HistoryError;
use super::collect::{Collected, Collector, Room};
use super::progress::HistoryProgress;
use crate::delta::DeltaOp;
use crate::history::graph::{CommitFacts, CommitNumber, CommitWalk, UnreadableObjects};
use crate::history::introduced::IntroducedGaps;
use crate::history::reduced::IdHashers;
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;
use crate::parse::{Commit, Tag};
use crate::problem::{FileError, ObjectError};
use crate::store::{ObjectReader, ObjectStore};
use crate::sweep::{ObjectVisitor, Sweep, Unreadable, Visit};
use heist::CancelToken;
use heist_scan::{BlobScan, Copied, Detector, Memory, Version};
use std::collections::HashMap;
use std::sync::Arc;

/// A larger memory of a blob is dropped: versions of it are scanned whole.
const MEMORY_MAX: usize = 4 << 20;

/// The commits of a repository, reachable or not.
#[derive(Debug, Default)]
pub(super) struct SweptCommits {
    commits: Vec<(ObjectId, CommitFacts, std::ops::Range<u32>)>,
    parents: Vec<ObjectId>,
}

impl SweptCommits {
    fn push(&mut self, id: ObjectId, commit: &Commit<'_>) {
        let from = self.parents.len() as u32;
        self.parents.extend(commit.parents());
        self.commits.push((id, CommitFacts::of(commit), from..self.parents.len() as u32));
    }

    fn append(&mut self, other: Self) {
        let by = self.parents.len() as u32;
        self.parents.extend(other.parents);
        let moved = other.commits.into_iter();
        self.commits
            .extend(moved.map(|(id, facts, range)| (id, facts, range.start + by..range.end + by)));
    }

    /// Sorts the commits, so that they can be looked up.
    fn sort(&mut self) {
        self.commits.sort_unstable_by_key(|(id, ..)| *id);
    }

    /// Returns a commit, and adds its parents.
    pub(super) fn look_up(
        &self,
        id: &ObjectId,
        parents: &mut Vec<ObjectId>,
    ) -> Option<CommitFacts> {
        let at = self.commits.binary_search_by_key(id, |(id, ..)| *id).ok()?;
        let (_, facts, range) = &self.commits[at];
        parents.extend_from_slice(&self.parents[range.start as usize..range.end as usize]);
        Some(*facts)
    }
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub(super) collected: Collected,
    pub(super) commits: SweptCommits,
    pub(super) unreadable: UnreadableObjects,
    pub(super) problems: Vec<FileError>,
    /// Objects that were not looked at, because the sweep was stopped or reached its limit.
    pub(super) cut: u64,
    pub(super) threads: usize,
}

/// How a sweep scans.
#[derive(Clone, Debug)]
pub(super) struct SweepOptions {
    pub(super) threads: Option<usize>,
    pub(super) verify_delta: bool,
}

/// Scans every blob and every message of a repository, each once.
pub(super) fn everything<D: Detector>(
    store: &Arc<ObjectStore>,
    scan: &Arc<BlobScan<D>>,
    room: &Arc<Room>,
    progress: &HistoryProgress,
    options: &SweepOptions,
) -> Result<Swept, HistoryError> {
    let cancel = CancelToken::new();
    let (scan, room, progress) = (Arc::clone(scan), Arc::clone(room), progress.clone());
    let verify_delta = options.verify_delta;
    let mut sweep = Sweep::new(Arc::clone(store)).cancel(cancel.clone());
    if let Some(threads) = options.threads {
        sweep = sweep.threads(threads);
    }
    let report = sweep.run(move |_worker| Visitor {
        collector: Collector::new(&scan, &room, &progress),
        scan: Arc::clone(&scan),
        cancel: cancel.clone(),
        verify_delta,
        copies: Vec::new(),
        commits: SweptCommits::default(),
        unreadable: UnreadableObjects::default(),
    });
    let report = report.map_err(|error| HistoryError::Start(error.to_string().into()))?;
    let mut swept = Swept {
        problems: report.problems,
        cut: report.cut,
        threads: report.visitors.len(),
        ..Swept::default()
    };
    for mut visitor in report.visitors {
        visitor.collector.publish_all();
        swept.collected.add(visitor.collector.collected);
        swept.commits.append(visitor.commits);
        add_unreadable(&mut swept.unreadable, &visitor.unreadable);
    }
    // Workers find objects in any order, and reports must not depend on it.
    swept.collected.sort();
    swept.commits.sort();
    swept.unreadable.listed.sort_by_key(|(id, _)| *id);
    Ok(swept)
}

/// Scans what one worker visits.
struct Visitor<D: Detector> {
    collector: Collector<D>,
    scan: Arc<BlobScan<D>>,
    /// Ends the sweep.
    cancel: CancelToken,
    verify_delta: bool,
    copies: Vec<Copied>,
    commits: SweptCommits,
    unreadable: UnreadableObjects,
}

impl<D: Detector> Visitor<D> {
    fn blob(&mut self, visit: &Visit<'_, Memory>) -> Option<Memory> {
        let version = Version::new(visit.content);
        let version = if visit.is_base { version } else { version.without_memory() };
        let memory = match &visit.delta {
            Some(delta) => {
                self.copies.clear();
                let mut to = 0;
                for op in delta.ops {
                    if let DeltaOp::Copy { offset, len } = *op {
                        let (from, len) = (u64::from(offset), u64::from(len));
                        self.copies.push(Copied { from, to, len });
                    }
                    to += u64::from(op.len());
                }
                let changed = version.based_on(delta.base, &self.copies);
                if self.verify_delta {
                    self.collector.verify(visit.id, version, changed);
                }
                self.collector.blob(visit.id, changed)
            }
            None => self.collector.blob(visit.id, version),
        };
        (visit.is_base && !memory.is_empty() && memory.size() <= MEMORY_MAX).then_some(memory)
    }
}

impl<D: Detector> ObjectVisitor for Visitor<D> {
    type State = Memory;

    fn wants(&self, kind: ObjectKind) -> bool {
        kind != ObjectKind::Tree
    }

    fn visit(&mut self, visit: &Visit<'_, Memory>) -> Option<Memory> {
        if self.scan.is_stopped() {
            self.cancel.cancel();
        }
        let hash = visit.id.hash_kind();
        match visit.kind {
            ObjectKind::Blob => return self.blob(visit),
            ObjectKind::Commit => match Commit::parse(hash, visit.content) {
                Some(commit) => {
                    self.commits.push(visit.id, &commit);
                    self.collector.message(visit.id, commit.message);
                }
                None => self.damaged(visit.id, "it has no tree"),
            },
            ObjectKind::Tag => match Tag::parse(hash, visit.content) {
                Some(tag) => self.collector.message(visit.id, tag.message),
                None => self.damaged(visit.id, "a tag that tags nothing"),
            },
            ObjectKind::Tree => {}
        }
        None
    }

    fn unreadable(&mut self, object: &Unreadable) {
        // Trees are looked at later, as far as they matter.
        if object.kind != Some(ObjectKind::Tree) {
            let id = object.id.unwrap_or(ObjectId::null(HashKind::default()));
            self.unreadable.add(id, object.error.clone());
        }
    }
}

impl<D: Detector> Visitor<D> {
    fn damaged(&mut self, id: ObjectId, what: &'static str) {
        self.unreadable.add(id, ObjectError::Corrupt(what));
    }
}

/// Scans the blobs that some commits introduce, each once and whole.
pub(super) fn introduced<D: Detector>(
    walk: &CommitWalk,
    commits: &[CommitNumber],
    reader: &mut ObjectReader<'_>,
    collector: &mut Collector<D>,
    is_stopped: &dyn Fn() -> bool,
) -> IntroducedGaps {
    let mut seen: HashMap<ObjectId, (), IdHashers> = HashMap::default();
    let mut blobs = Vec::new();
    let mut gaps = walk.introduced(commits, reader, |introduced| {
        if seen.insert(introduced.blob, ()).is_none() {
            blobs.push(introduced.blob);
        }
        !is_stopped()
    });
    drop(seen);
    let mut content = Vec::new();
    for id in blobs {
        if is_stopped() {
            collector.collected.counts.interrupted += 1;
        } else if let Err(error) = blob(id, reader, &mut content, collector) {
            gaps.unreadable.add(id, error);
        }
    }
    gaps
}

fn blob<D: Detector>(
    id: ObjectId,
    reader: &mut ObjectReader<'_>,
    content: &mut Vec<u8>,
    collector: &mut Collector<D>,
) -> Result<(), ObjectError> {
    if reader.read_into(&id, content)? != ObjectKind::Blob {
        return Err(ObjectError::Corrupt("it is not a blob"));
    }
    let _memory = collector.blob(id, Version::new(content).without_memory());
    Ok(())
}

/// Adds the objects that one list counts to another.
pub(super) fn add_unreadable(all: &mut UnreadableObjects, more: &UnreadableObjects) {
    all.missing += more.missing;
    all.damaged += more.damaged;
    all.listed.extend(more.listed.iter().cloned());
}
