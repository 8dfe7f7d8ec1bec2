//! [`UsageTree`]: how much space each directory or each file takes.
//!
//! The workers' records stay where they are. The tree adds only the order of each directory's
//! entries and each directory's sum. So an entry costs 44 bytes plus its name, and a directory 32
//! bytes more.

use super::Size;
use super::records::{Marks, NONE, Records};
use crate::metadata::FileKind;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The id of an entry in a [`UsageTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// What a tree stores for a directory in addition to its record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DirectorySummary {
    /// The size of the directory including everything below it.
    pub(super) total: Size,
    /// Where its entries begin in the tree's order.
    pub(super) first: u32,
    pub(super) entries: u32,
}

impl DirectorySummary {
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.first as usize + self.entries as usize
    }
}

/// How much space each directory below some roots takes, and with
/// [`Detail::Files`](super::Detail::Files) each file.
///
/// An id is valid only in its own tree, and the order of ids has no meaning. Methods panic if given
/// an id that does not exist in this tree.
#[derive(Debug, Default)]
pub struct UsageTree {
    pub(super) records: Records,
    pub(super) directories: Vec<DirectorySummary>,
    /// The entries, grouped by directory.
    pub(super) order: Vec<u32>,
    /// The roots that are in the tree as roots.
    pub(super) roots: Vec<u32>,
    pub(super) len: usize,
}

impl UsageTree {
    /// Iterates over the walk's roots in the order given, except those that do not exist or are
    /// part of an earlier one.
    pub fn roots(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        self.roots.iter().copied().map(NodeId)
    }

    /// Iterates over the contents of a directory, sorted by the bytes of the names. A file has no
    /// contents.
    pub fn children(
        &self,
        node: NodeId,
    ) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        let directory = self.directory(node);
        let range = directory.map_or(0..0, DirectorySummary::range);
        self.order[range].iter().copied().map(NodeId)
    }

    /// Returns the directory that contains an entry, or `None` for a root.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.records.get(node.0).parent;
        (parent != NONE).then_some(NodeId(parent))
    }

    /// Returns the name. For a root it is the path as given to the walk.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &OsStr {
        self.records.name(node.0)
    }

    /// Returns the kind of an entry.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> FileKind {
        self.records.get(node.0).kind
    }

    /// Returns what an entry adds to its directory: its own size and everything below it, or
    /// nothing if it [does not count](Self::is_counted).
    #[must_use]
    pub fn size(&self, node: NodeId) -> Size {
        match self.directory(node) {
            Some(directory) => directory.total,
            None if self.is_counted(node) => self.own_size(node),
            None => Size::default(),
        }
    }

    /// Returns the size of the entry itself, whether it counts or not. A directory's is that of its
    /// list of names.
    #[must_use]
    pub fn own_size(&self, node: NodeId) -> Size {
        self.records.get(node.0).own_size()
    }

    /// Returns the number of the file system, or 0 if unknown.
    #[must_use]
    pub fn device(&self, node: NodeId) -> u64 {
        self.records.device(node.0)
    }

    /// Returns the number of the file on its file system, or 0 if unknown.
    #[must_use]
    pub fn inode(&self, node: NodeId) -> u64 {
        self.records.get(node.0).inode
    }

    /// Returns the number of names of a file. For a directory it is always 1.
    #[must_use]
    pub fn links(&self, node: NodeId) -> u32 {
        let record = self.records.get(node.0);
        if record.kind.is_dir() { 1 } else { record.links_or_directory }
    }

    /// Returns `true` if a directory could not be read, or only in part, so its size is too small.
    /// This does not include the directories below it.
    #[must_use]
    pub fn has_errors(&self, node: NodeId) -> bool {
        self.records.get(node.0).marks.has(Marks::ERRORS)
    }

    /// Returns `false` for an additional name of a file that counts elsewhere.
    #[must_use]
    pub fn is_counted(&self, node: NodeId) -> bool {
        !self.records.get(node.0).marks.has(Marks::NOT_COUNTED)
    }

    /// Returns the path: the root as given to the walk, and the names below it.
    #[must_use]
    pub fn path(&self, node: NodeId) -> PathBuf {
        let upwards = std::iter::successors(Some(node), |&node| self.parent(node));
        let nodes: Vec<_> = upwards.collect();
        nodes.iter().rev().map(|&node| self.name(node)).collect()
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no nodes, because no root could be visited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn directory(&self, node: NodeId) -> Option<&DirectorySummary> {
        let record = self.records.get(node.0);
        record.kind.is_dir().then(|| &self.directories[record.directory()])
    }
}
