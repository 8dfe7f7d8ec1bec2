//! [`Attribution`]: where in a history a few blobs are: their paths, the commits that introduced
//! and removed them, and what has them today.
//!
//! - A commit *introduces* a blob at a path if it has the blob there and none of its parents does.
//!   So a blob that only a merge has is introduced by the merge. The first such commit in the order
//!   of the walk counts.
//! - A commit *removes* a blob from a path if all of its parents have the blob there and it does
//!   not. A merge that takes one side's removal removes nothing: that side's commit did.
//!
//! The commits are compared newest first, because packs keep the newest version of a tree whole and
//! older ones as changes to it. The result does not depend on that.

use super::graph::{CommitNumber, CommitWalk, UnreadableObjects};
use super::reduced::{BlobSet, Reduced, Reducer};
use crate::object::ObjectKind;
use crate::store::ObjectReader;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The most removals that are kept of a blob at a path: the latest.
const REMOVALS_MAX: usize = 8;

/// An attribution that leaves out more places ends: its trees were made to have many.
const LEFT_OUT_MAX: u64 = 100_000;

/// What an attribution may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributionLimits {
    /// The most places (a blob and a path) of all blobs. Default 1,000,000.
    pub places: usize,
    /// The most places of one blob. Default 10,000.
    pub places_of_blob: u32,
    /// The most steps: pairs of directories that are compared. Default 20,000,000. A tree that
    /// contains another a thousand times, which contains another a thousand times, needs many.
    pub steps: u64,
}

impl Default for AttributionLimits {
    fn default() -> Self {
        Self { places: 1_000_000, places_of_blob: 10_000, steps: 20_000_000 }
    }
}

/// A path at which a history has, or had, a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobPlace {
    /// The number of the blob in its [`BlobSet`].
    pub blob: u32,
    /// The names from the root of the tree on, with `/` between them. They are what the repository
    /// says: `..` and slashes in names are possible.
    pub path: Arc<[u8]>,
    /// The first commit that has it there. `None` if a ref leads to the blob without a commit: then
    /// the path begins with the name of the ref.
    pub first: Option<CommitNumber>,
    /// The commits that removed it, the latest last, and the blob that replaced it, if it matters.
    pub removals: Vec<(CommitNumber, Option<u32>)>,
    /// Whether `HEAD` has it there.
    pub in_head: bool,
}

/// Where a history has the blobs of a set.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Attribution {
    /// Sorted by the first commit, the path and the blob.
    pub places: Vec<BlobPlace>,
    /// Trees that could not be read. Blobs in them may have more places.
    pub unreadable: UnreadableObjects,
    /// The number of places that are over a limit and left out.
    pub places_left_out: u64,
    /// Whether the attribution ended at its limit of steps, or was stopped.
    pub is_cut: bool,
    /// The number of trees that were read.
    pub trees_read: u64,
}

impl Attribution {
    /// Returns `true` if every place of every blob is known.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unreadable.is_empty() && self.places_left_out == 0 && !self.is_cut
    }

    /// Finds the places of `blobs` in the commits of a walk. Asks `is_stopped` after each commit
    /// whether to end early.
    #[must_use]
    pub fn find(
        walk: &CommitWalk,
        blobs: &BlobSet,
        reader: &mut ObjectReader<'_>,
        limits: AttributionLimits,
        is_stopped: impl Fn() -> bool,
    ) -> Self {
        let all: Vec<CommitNumber> = (0..walk.len() as u32).collect();
        Self::find_in(walk, &all, blobs, reader, limits, is_stopped)
    }

    /// Finds what these commits introduce and remove of `blobs`, and what `HEAD` has of them.
    /// `commits` must be sorted.
    #[must_use]
    pub fn find_in(
        walk: &CommitWalk,
        commits: &[CommitNumber],
        blobs: &BlobSet,
        reader: &mut ObjectReader<'_>,
        limits: AttributionLimits,
        is_stopped: impl Fn() -> bool,
    ) -> Self {
        if blobs.is_empty() {
            return Self::default();
        }
        let mut reducer = Reducer::new(blobs, walk.hash_kind(), reader);
        let mut places = Places::new(blobs, limits);
        // The roots of commits that a newer one was compared with.
        let mut roots: HashMap<CommitNumber, Option<Arc<Reduced>>> = HashMap::new();
        let mut is_cut = false;
        if let Some(head) = walk.head() {
            let root = reducer.reduce(walk.commits[head as usize].tree);
            places.compare(None, root.as_ref(), &[], What::InHead);
            if commits.binary_search(&head).is_ok() {
                roots.insert(head, root);
            }
        }
        for &number in commits.iter().rev() {
            let tree = walk.commits[number as usize].tree;
            let root = roots.remove(&number).unwrap_or_else(|| reducer.reduce(tree));
            let parents = walk.parents(number);
            let same = |&parent: &u32| walk.commits[parent as usize].tree == tree;
            if !parents.iter().any(same) {
                let mut before = Vec::with_capacity(parents.len());
                for &parent in parents {
                    let tree = walk.commits[parent as usize].tree;
                    let root = roots.entry(parent).or_insert_with(|| reducer.reduce(tree));
                    before.push(root.clone());
                }
                places.compare(Some(number), root.as_ref(), &before, What::Commit);
            } else if let Some(&parent) = parents.iter().find(|parent| same(parent)) {
                // The tree may be needed at once: keep it.
                roots.entry(parent).or_insert(root);
            }
            if places.is_exhausted() || is_stopped() {
                is_cut = true;
                break;
            }
        }
        for (name, kind, id) in walk.bare_tips() {
            match kind {
                ObjectKind::Tree => {
                    let root = reducer.reduce(id);
                    places.path.extend_from_slice(name);
                    places.compare(None, root.as_ref(), &[], What::Tip);
                    places.path.clear();
                }
                _ => {
                    if let Some(number) = blobs.number(&id) {
                        places.path.extend_from_slice(name);
                        places.note(number, None, What::Tip);
                        places.path.clear();
                    }
                }
            }
        }
        let Places { known, left_out, .. } = places;
        let mut places: Vec<BlobPlace> = known.into_values().collect();
        for place in &mut places {
            place.removals.reverse();
        }
        places.sort_unstable_by(|a, b| (a.first, &a.path, a.blob).cmp(&(b.first, &b.path, b.blob)));
        let Reducer { unreadable, trees_read, .. } = reducer;
        Self { places, unreadable, places_left_out: left_out, is_cut, trees_read }
    }
}

/// What a comparison is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Commit,
    InHead,
    Tip,
}

/// The places found so far.
struct Places {
    known: HashMap<(u32, Arc<[u8]>), BlobPlace>,
    paths: HashMap<Arc<[u8]>, ()>,
    /// The number of places of each blob.
    of_blob: Vec<u32>,
    left_out: u64,
    limits: AttributionLimits,
    steps_left: u64,
    /// The path of the directory that is compared, with a slash at its end.
    path: Vec<u8>,
}

/// Two or more directories to compare.
struct Step {
    /// The length of the path of the directory above.
    above: usize,
    name: Box<[u8]>,
    now: Option<Arc<Reduced>>,
    before: Vec<Option<Arc<Reduced>>>,
}

impl Places {
    fn new(blobs: &BlobSet, limits: AttributionLimits) -> Self {
        Self {
            known: HashMap::new(),
            paths: HashMap::new(),
            of_blob: vec![0; blobs.len()],
            left_out: 0,
            limits,
            steps_left: limits.steps,
            path: Vec::new(),
        }
    }

    /// Returns `true` if going on would cost more than it can tell.
    fn is_exhausted(&self) -> bool {
        self.steps_left == 0 || self.left_out > LEFT_OUT_MAX
    }

    /// Compares a tree with those of all parents and notes what is new and what is gone.
    fn compare(
        &mut self,
        commit: Option<CommitNumber>,
        now: Option<&Arc<Reduced>>,
        before: &[Option<Arc<Reduced>>],
        what: What,
    ) {
        let root = self.path.len();
        let now = now.cloned();
        let is_empty = now.is_none() && before.iter().any(Option::is_none);
        if is_empty {
            return;
        }
        let first = Step { above: root, name: Box::default(), now, before: before.to_vec() };
        let mut open = vec![first];
        while let Some(step) = open.pop() {
            if self.is_exhausted() {
                break;
            }
            self.steps_left -= 1;
            self.path.truncate(step.above);
            self.path.extend_from_slice(&step.name);
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.compare_blobs(commit, &step, what);
            self.push_subtrees(&step, &mut open);
        }
        self.path.truncate(root);
    }

    fn compare_blobs(&mut self, commit: Option<CommitNumber>, step: &Step, what: What) {
        let Step { now, before, .. } = step;
        let has = |tree: &Option<Arc<Reduced>>, entry: &(Box<[u8]>, u32)| {
            tree.as_ref().is_some_and(|tree| tree.blobs.binary_search(entry).is_ok())
        };
        let above = self.path.len();
        for entry in now.iter().flat_map(|tree| &tree.blobs) {
            if !before.iter().any(|tree| has(tree, entry)) {
                self.path.extend_from_slice(&entry.0);
                self.note(entry.1, commit, what);
                self.path.truncate(above);
            }
        }
        let Some(Some(first)) = before.first() else { return };
        for entry in &first.blobs {
            if !has(now, entry) && before.iter().all(|tree| has(tree, entry)) {
                let blobs = now.as_ref().map_or(&[][..], |now| now.blobs_named(&entry.0));
                let replaced_by = blobs.first().map(|(_, number)| *number);
                self.path.extend_from_slice(&entry.0);
                if let (Some(place), Some(commit)) = (self.place(entry.1), commit)
                    && place.removals.len() < REMOVALS_MAX
                {
                    // The latest come first.
                    place.removals.push((commit, replaced_by));
                }
                self.path.truncate(above);
            }
        }
    }

    /// Goes into the subtrees that differ from those of all parents.
    fn push_subtrees(&self, step: &Step, open: &mut Vec<Step>) {
        let Step { now, before, .. } = step;
        let above = self.path.len();
        for (name, now) in now.iter().flat_map(|tree| &tree.trees) {
            let mut is_known = false;
            let before = before.iter().map(|tree| {
                let named = tree.as_ref().map_or(&[][..], |tree| tree.trees_named(name));
                is_known |= named.iter().any(|(_, tree)| tree.id == now.id);
                named.first().map(|(_, tree)| Arc::clone(tree))
            });
            let before: Vec<_> = before.collect();
            if !is_known {
                open.push(Step { above, name: name.clone(), now: Some(Arc::clone(now)), before });
            }
        }
        let Some((Some(first), others)) = before.split_first() else { return };
        for (name, tree) in &first.trees {
            let is_gone = now.as_ref().is_none_or(|now| now.trees_named(name).is_empty());
            if !is_gone {
                continue;
            }
            let others = others.iter().map(|other| {
                let named = other.as_ref().map_or(&[][..], |other| other.trees_named(name));
                named.first().map(|(_, tree)| Arc::clone(tree))
            });
            let mut before = vec![Some(Arc::clone(tree))];
            before.extend(others);
            if before.iter().all(Option::is_some) {
                open.push(Step { above, name: name.clone(), now: None, before });
            }
        }
    }

    /// Notes that a blob is at the current path.
    fn note(&mut self, blob: u32, commit: Option<CommitNumber>, what: What) {
        let Some(place) = self.place(blob) else { return };
        match what {
            What::InHead => place.in_head = true,
            // Commits come newest first.
            What::Commit => place.first = commit,
            What::Tip => {}
        }
    }

    /// Returns the place of a blob at the current path, unless there are too many.
    fn place(&mut self, blob: u32) -> Option<&mut BlobPlace> {
        let path = match self.paths.get_key_value(&*self.path) {
            Some((path, ())) => Arc::clone(path),
            None => {
                let path: Arc<[u8]> = self.path.as_slice().into();
                self.paths.insert(Arc::clone(&path), ());
                path
            }
        };
        let count = self.known.len();
        match self.known.entry((blob, path)) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(vacant) => {
                let of_blob = &mut self.of_blob[blob as usize];
                if count >= self.limits.places || *of_blob >= self.limits.places_of_blob {
                    self.left_out += 1;
                    return None;
                }
                *of_blob += 1;
                let path = Arc::clone(&vacant.key().1);
                let (first, removals, in_head) = (None, Vec::new(), false);
                Some(vacant.insert(BlobPlace { blob, path, first, removals, in_head }))
            }
        }
    }
}
