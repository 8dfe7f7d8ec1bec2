//! [`Index::staged`]: how an index differs from the tree of a commit.
//!
//! A directory whose tree the index knows (see `cache_tree`) and that has the same tree in the
//! commit is passed over: neither its trees are read nor its entries looked at. So the cost is that
//! of the directories with changes, and of one pass over the index file.
//!
//! Nothing is hidden: if a tree cannot be read, what the index has below it counts as added.

use super::cache_tree::CacheTree;
use super::entries::{IndexEntries, IndexEntry};
use super::file::Index;
use crate::id::ObjectId;
use crate::object::ObjectKind;
use crate::parse::Tree;
use crate::problem::ObjectError;
use crate::store::ObjectReader;

/// The most trees that are read, and the deepest.
const TREES_MAX: usize = 1_000_000;
const DEPTH_MAX: usize = 2048;

/// A blob in an index or a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StagedBlob {
    /// Its id.
    pub id: ObjectId,
    /// The mode of the file.
    pub mode: u32,
}

/// A path whose content in the index is not that in the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StagedChange<'a> {
    /// The path from the root of the work tree, with slashes.
    pub path: &'a [u8],
    /// The blob in the index; `None` if the file is deleted, or is a submodule now.
    pub new: Option<StagedBlob>,
    /// The blob in the commit; `None` if the file is added, or was a submodule.
    pub old: Option<StagedBlob>,
}

/// Something that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StagedProblem {
    /// A tree of the commit cannot be read. Everything below it counts as added.
    Tree(ObjectId, ObjectError),
    /// A directory outside a sparse checkout differs from the commit. Its files are not in the
    /// index.
    SparseDirectory,
    /// The trees are deeper than 2,048 directories, or more than a million.
    TooManyTrees,
}

impl std::fmt::Display for StagedProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tree(id, error) => write!(f, "the tree {id} of HEAD is not readable: {error}"),
            Self::SparseDirectory => f.write_str(
                "the index has only the directory, not its files; `git sparse-checkout \
                 reapply --no-sparse-index` adds them",
            ),
            Self::TooManyTrees => f.write_str("HEAD has too many or too deep directories"),
        }
    }
}

impl std::error::Error for StagedProblem {}

/// What [`Index::staged`] met besides the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StagedSummary {
    /// The number of submodules that are added or at another commit.
    pub submodules: u64,
    /// The number of entries of paths with a conflict.
    pub unmerged: u64,
    /// The number of trees that were read.
    pub trees_read: u64,
}

impl Index {
    /// Calls `change` for each path whose content differs from that in `tree`, and `problem` for
    /// what cannot be compared, with its path. Without a tree, everything is added.
    ///
    /// - A file with a new mode and the same content is no change.
    /// - A path with a conflict has no content yet. Ours and theirs are both reported as new.
    /// - What `git add -N` announced has no content yet, and is left out.
    pub fn staged(
        &self,
        tree: Option<ObjectId>,
        reader: &mut ObjectReader<'_>,
        change: &mut dyn FnMut(StagedChange<'_>),
        problem: &mut dyn FnMut(&[u8], StagedProblem),
    ) -> StagedSummary {
        let mut comparison = Comparison {
            entries: self.entries(),
            next: None,
            cache_tree: self.cache_tree.as_ref(),
            reader,
            change,
            problem,
            summary: StagedSummary::default(),
        };
        comparison.advance();
        let root = comparison.cache_tree.and_then(CacheTree::root);
        comparison.directory(&mut Vec::new(), 0, root, tree);
        comparison.summary
    }
}

/// An entry of the index that is not compared yet.
struct NextEntry {
    path: Vec<u8>,
    id: ObjectId,
    mode: u32,
    stage: u8,
    is_intent_to_add: bool,
}

impl NextEntry {
    fn is_submodule(&self) -> bool {
        self.mode & 0o170_000 == 0o160_000
    }
}

/// An entry of a tree of the commit.
struct OldEntry {
    /// The name; of a directory, with a slash behind it.
    key: Vec<u8>,
    kind: Option<ObjectKind>,
    mode: u32,
    id: ObjectId,
    is_met: bool,
}

struct Comparison<'a, 'r, 's> {
    entries: IndexEntries<'a>,
    next: Option<NextEntry>,
    cache_tree: Option<&'a CacheTree>,
    reader: &'r mut ObjectReader<'s>,
    change: &'r mut dyn FnMut(StagedChange<'_>),
    problem: &'r mut dyn FnMut(&[u8], StagedProblem),
    summary: StagedSummary,
}

impl Comparison<'_, '_, '_> {
    fn advance(&mut self) {
        let mut path = self.next.take().map(|entry| entry.path).unwrap_or_default();
        self.next = self.entries.next().map(|entry| {
            let IndexEntry { id, mode, stage, is_intent_to_add, .. } = entry;
            path.clear();
            path.extend_from_slice(entry.path);
            NextEntry { path, id, mode, stage, is_intent_to_add }
        });
    }

    /// Compares the entries below `prefix` with a tree. `known` is the same directory in the cache
    /// tree.
    fn directory(
        &mut self,
        prefix: &mut Vec<u8>,
        depth: usize,
        known: Option<usize>,
        tree: Option<ObjectId>,
    ) {
        let cached = known.and_then(|at| self.cache_tree?.get(at)?.known);
        if let Some((count, id)) = cached
            && tree == Some(id)
            && self.pass_over(prefix, count)
        {
            return;
        }
        let cache_tree = self.cache_tree;
        let children = known.and_then(|at| Some(cache_tree?.children(at))).unwrap_or_default();
        let mut old = self.tree(prefix, depth, tree);
        while let Some(entry) = self.next.as_ref().filter(|entry| entry.path.starts_with(prefix)) {
            let rest = &entry.path[prefix.len()..];
            match rest.iter().position(|&byte| byte == b'/') {
                // Of a sparse checkout: `name/`.
                Some(slash) if slash + 1 == rest.len() => {
                    let found = met(&mut old, rest);
                    if found.map(|found| found.id) != Some(entry.id) {
                        (self.problem)(&entry.path, StagedProblem::SparseDirectory);
                    }
                    self.advance();
                }
                Some(slash) => {
                    let child = children.get(&rest[..slash]).copied();
                    let tree = met(&mut old, &rest[..=slash]).map(|found| found.id);
                    let len = prefix.len();
                    prefix.extend_from_slice(&rest[..=slash]);
                    self.directory(prefix, depth + 1, child, tree);
                    prefix.truncate(len);
                }
                None => {
                    let found = met(&mut old, rest);
                    self.file(found);
                    self.advance();
                }
            }
        }
        for entry in old.into_iter().filter(|entry| !entry.is_met) {
            self.deleted(prefix, depth, &entry);
        }
    }

    /// Passes over the next `count` entries, if these are all below `prefix`.
    fn pass_over(&mut self, prefix: &[u8], count: u32) -> bool {
        let mut ahead = self.entries.clone();
        // One of them is `self.next` already.
        let more = count.saturating_sub(1);
        ahead.skip(more.saturating_sub(1));
        let is_below = |entry: IndexEntry<'_>| entry.path.starts_with(prefix);
        let is_last_below = more == 0 || ahead.next().is_some_and(is_below);
        if count == 0 || !is_last_below || ahead.clone().next().is_some_and(is_below) {
            return false;
        }
        self.entries = ahead;
        self.advance();
        true
    }

    /// Compares the next entry, which is not below a further directory.
    fn file(&mut self, old: Option<Found>) {
        let Some(entry) = &self.next else { return };
        let is_same = old.is_some_and(|old| old.id == entry.id && old.mode == entry.mode);
        let old_blob = old.filter(|old| old.kind == Some(ObjectKind::Blob));
        let old_blob = old_blob.map(|old| StagedBlob { id: old.id, mode: old.mode });
        if entry.stage > 0 {
            self.summary.unmerged += 1;
            // The common ancestor is in the history of both sides.
            if entry.stage == 1 {
                return;
            }
        }
        if entry.is_intent_to_add {
            return;
        }
        let new = if entry.is_submodule() {
            self.summary.submodules += u64::from(!is_same);
            None
        } else {
            Some(StagedBlob { id: entry.id, mode: entry.mode })
        };
        let ids = |blob: Option<StagedBlob>| blob.map(|blob| blob.id);
        if ids(new) != ids(old_blob) {
            (self.change)(StagedChange { path: &entry.path, new, old: old_blob });
        }
    }

    /// Reports what is in the commit and not in the index.
    fn deleted(&mut self, prefix: &mut Vec<u8>, depth: usize, entry: &OldEntry) {
        let len = prefix.len();
        prefix.extend_from_slice(&entry.key);
        match entry.kind {
            Some(ObjectKind::Tree) => {
                for below in self.tree(prefix, depth + 1, Some(entry.id)) {
                    self.deleted(prefix, depth + 1, &below);
                }
            }
            Some(ObjectKind::Blob) => {
                let old = Some(StagedBlob { id: entry.id, mode: entry.mode });
                (self.change)(StagedChange { path: prefix, new: None, old });
            }
            _ => {}
        }
        prefix.truncate(len);
    }

    /// Reads a tree, sorted by the keys.
    fn tree(&mut self, path: &[u8], depth: usize, id: Option<ObjectId>) -> Vec<OldEntry> {
        let Some(id) = id else { return Vec::new() };
        if depth > DEPTH_MAX || self.summary.trees_read >= TREES_MAX as u64 {
            (self.problem)(path, StagedProblem::TooManyTrees);
            return Vec::new();
        }
        self.summary.trees_read += 1;
        let content = match self.reader.read(&id) {
            Ok(object) if object.kind == ObjectKind::Tree => object.content,
            Ok(_) => {
                let error = ObjectError::Corrupt("it is not a tree");
                (self.problem)(path, StagedProblem::Tree(id, error));
                return Vec::new();
            }
            Err(error) => {
                (self.problem)(path, StagedProblem::Tree(id, error));
                return Vec::new();
            }
        };
        let mut old = Vec::new();
        for entry in Tree::new(id.hash_kind(), &content) {
            match entry {
                Ok(entry) => {
                    let kind = entry.kind();
                    let mut key = entry.name.to_vec();
                    if kind == Some(ObjectKind::Tree) {
                        key.push(b'/');
                    }
                    let (mode, id) = (entry.mode, entry.id);
                    old.push(OldEntry { key, kind, mode, id, is_met: false });
                }
                Err(error) => (self.problem)(path, StagedProblem::Tree(id, error)),
            }
        }
        // Of a sound tree, they are already.
        old.sort_by(|first, second| first.key.cmp(&second.key));
        old
    }
}

/// What a tree has under a key.
#[derive(Clone, Copy)]
struct Found {
    kind: Option<ObjectKind>,
    mode: u32,
    id: ObjectId,
}

/// Finds a key, and notes that the index has it.
fn met(old: &mut [OldEntry], key: &[u8]) -> Option<Found> {
    let at = old.binary_search_by(|entry| (*entry.key).cmp(key)).ok()?;
    let OldEntry { kind, mode, id, ref mut is_met, .. } = old[at];
    *is_met = true;
    Some(Found { kind, mode, id })
}
