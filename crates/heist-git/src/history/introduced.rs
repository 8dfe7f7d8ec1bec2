//! [`CommitWalk::introduced`]: everything that some commits introduce.
//!
//! A commit introduces a blob at a path if it has the blob there and none of its parents does. So
//! this compares whole trees, and not reduced ones as an [`Attribution`](super::Attribution) does.
//! Subtrees that a parent has at the same path are not read.

use super::graph::{CommitNumber, CommitWalk, UnreadableObjects};
use super::reduced::IdHashers;
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;
use crate::parse::{Tree, TreeEntry};
use crate::problem::ObjectError;
use crate::store::ObjectReader;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The deepest nesting of trees; git reads no more by default.
const DEPTH_MAX: usize = 2048;

/// How often the same new tree is entered under different paths in one commit.
const SAME_TREE_MAX: u32 = 16;

/// The bytes of trees that are kept for the next comparison.
const CACHE_BYTES: usize = 16 << 20;

/// Something that a commit introduces.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Introduced<'a> {
    /// The blob.
    pub blob: ObjectId,
    /// The names from the root of the tree on, with `/` between them.
    pub path: &'a [u8],
    /// The commit.
    pub commit: CommitNumber,
}

/// What a comparison could not look at.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IntroducedGaps {
    /// Trees that could not be read.
    pub unreadable: UnreadableObjects,
    /// Further paths at which commits have a new tree; it was looked at under the first ones.
    pub more_paths: u64,
}

impl CommitWalk {
    /// Visits what each of these commits introduces. `visit` returns `false` to end early.
    pub fn introduced(
        &self,
        commits: &[CommitNumber],
        reader: &mut ObjectReader<'_>,
        mut visit: impl FnMut(Introduced<'_>) -> bool,
    ) -> IntroducedGaps {
        let mut trees = TreeReader {
            hash: self.hash_kind(),
            reader,
            kept: HashMap::default(),
            order: VecDeque::new(),
            bytes: 0,
            unreadable: UnreadableObjects::default(),
        };
        let mut more_paths = 0;
        let mut path = Vec::new();
        for &commit in commits {
            let tree = |number: CommitNumber| self.commits[number as usize].tree;
            let parents = self.parents(commit);
            if parents.iter().any(|&parent| tree(parent) == tree(commit)) {
                continue;
            }
            let mut entered: HashMap<ObjectId, u32, IdHashers> = HashMap::default();
            let before = parents.iter().map(|&parent| tree(parent)).collect();
            let first =
                Step { above: 0, name: Box::default(), depth: 0, now: tree(commit), before };
            let mut open = vec![first];
            while let Some(step) = open.pop() {
                path.truncate(step.above);
                path.extend_from_slice(&step.name);
                if !path.is_empty() {
                    path.push(b'/');
                }
                if step.before.is_empty() {
                    let times = entered.entry(step.now).or_insert(0);
                    *times += 1;
                    if *times > SAME_TREE_MAX {
                        more_paths += 1;
                        continue;
                    }
                }
                if step.depth > DEPTH_MAX {
                    let error = ObjectError::Corrupt("trees nested too deep");
                    trees.unreadable.add(step.now, error);
                    continue;
                }
                if !trees.compare(commit, &step, &mut path, &mut open, &mut visit) {
                    return IntroducedGaps { unreadable: trees.unreadable, more_paths };
                }
            }
        }
        IntroducedGaps { unreadable: trees.unreadable, more_paths }
    }
}

/// A directory to compare with those of the parents.
struct Step {
    /// The length of the path of the directory above.
    above: usize,
    name: Box<[u8]>,
    depth: usize,
    now: ObjectId,
    /// The parents' trees at this path, as far as they have one.
    before: Vec<ObjectId>,
}

/// Reads trees and keeps the last ones.
struct TreeReader<'r, 's> {
    hash: HashKind,
    reader: &'r mut ObjectReader<'s>,
    kept: HashMap<ObjectId, Arc<Vec<u8>>, IdHashers>,
    order: VecDeque<ObjectId>,
    bytes: usize,
    unreadable: UnreadableObjects,
}

impl TreeReader<'_, '_> {
    fn read(&mut self, id: ObjectId) -> Option<Arc<Vec<u8>>> {
        if let Some(known) = self.kept.get(&id) {
            return Some(Arc::clone(known));
        }
        let mut content = Vec::new();
        match self.reader.read_into(&id, &mut content) {
            Ok(ObjectKind::Tree) => {}
            Err(ObjectError::Missing) if id == self.hash.hash_object(ObjectKind::Tree, b"") => {}
            Ok(_) => {
                self.unreadable.add(id, ObjectError::Corrupt("it is not a tree"));
                return None;
            }
            Err(error) => {
                self.unreadable.add(id, error);
                return None;
            }
        }
        let content = Arc::new(content);
        if content.len() <= CACHE_BYTES / 4 {
            self.bytes += content.len();
            self.kept.insert(id, Arc::clone(&content));
            self.order.push_back(id);
            while self.bytes > CACHE_BYTES
                && let Some(oldest) = self.order.pop_front()
            {
                self.bytes -= self.kept.remove(&oldest).map_or(0, |dropped| dropped.len());
            }
        }
        Some(content)
    }

    /// Visits the new blobs of a directory and puts its new subtrees on `open`. Returns `false` if
    /// the visitor ends it.
    fn compare(
        &mut self,
        commit: CommitNumber,
        step: &Step,
        path: &mut Vec<u8>,
        open: &mut Vec<Step>,
        visit: &mut impl FnMut(Introduced<'_>) -> bool,
    ) -> bool {
        let Some(now) = self.read(step.now) else { return true };
        // A parent's tree that cannot be read counts as empty: more is looked at, not less.
        let before: Vec<Arc<Vec<u8>>> =
            step.before.iter().filter_map(|&id| self.read(id)).collect();
        let entries = |content: &'_ [u8]| -> (usize, bool) {
            let count = Tree::new(self.hash, content).filter(Result::is_ok).count();
            (count, Tree::new(self.hash, content).any(|entry| entry.is_err()))
        };
        if entries(&now).1 {
            self.unreadable.add(step.now, ObjectError::Corrupt("a tree entry is cut"));
        }
        let before: Vec<Vec<TreeEntry<'_>>> = before
            .iter()
            .map(|content| {
                let mut entries: Vec<_> =
                    Tree::new(self.hash, content).filter_map(Result::ok).collect();
                entries.sort_unstable_by_key(|entry| (entry.name, entry.id));
                entries
            })
            .collect();
        let above = path.len();
        for entry in Tree::new(self.hash, &now).filter_map(Result::ok) {
            let named = |entries: &'_ [TreeEntry<'_>]| {
                let from = entries.partition_point(|other| other.name < entry.name);
                let len = entries[from..].iter().take_while(|other| other.name == entry.name);
                from..from + len.count()
            };
            let is_tree = entry.kind() == Some(ObjectKind::Tree);
            let mut of_parents = Vec::new();
            let mut is_known = entry.kind().is_none();
            for entries in &before {
                let same_name = &entries[named(entries)];
                let mut same_kind =
                    same_name.iter().filter(|other| other.kind() == entry.kind()).peekable();
                of_parents.extend(same_kind.peek().map(|other| other.id));
                is_known |= same_kind.any(|other| other.id == entry.id);
            }
            if is_known {
                continue;
            }
            if is_tree {
                let (name, depth) = (entry.name.into(), step.depth + 1);
                open.push(Step { above, name, depth, now: entry.id, before: of_parents });
            } else {
                path.extend_from_slice(entry.name);
                let goes_on = visit(Introduced { blob: entry.id, path, commit });
                path.truncate(above);
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }
}
