//! [`UsageTree`]: how much room each directory takes, or each file.
//!
//! What the workers have recorded stays where it is; the tree adds the order of each directory's entries, and each
//! directory's sum. So an entry costs 44 bytes and its name, and a directory 32 more.

use super::Size;
use super::record::{Marks, NONE, Records};
use crate::metadata::FileKind;
use std::ffi::OsStr;
use std::path::PathBuf;

/// An entry of a [`UsageTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// What a tree has for a directory besides its record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Directory {
    /// With everything below.
    pub(super) total: Size,
    /// Where its entries are, in the tree's order.
    pub(super) first: u32,
    pub(super) entries: u32,
}

impl Directory {
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.first as usize + self.entries as usize
    }
}

/// How much room each directory below some roots takes; with [`Detail::Files`](super::Detail::Files) each file, too.
///
/// Ids are those of this tree, and in no order. Functions that take one panic if it is another tree's and does not
/// exist here.
#[derive(Debug, Default)]
pub struct UsageTree {
    pub(super) records: Records,
    pub(super) directories: Vec<Directory>,
    /// The entries of each directory together.
    pub(super) order: Vec<u32>,
    /// Those that have a place.
    pub(super) roots: Vec<u32>,
    pub(super) len: usize,
}

impl UsageTree {
    /// The walk's roots in the order given: those that exist, and are not part of an earlier one.
    pub fn roots(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        self.roots.iter().copied().map(NodeId)
    }

    /// What is in a directory, in the order of the bytes of the names. Nothing is in a file.
    pub fn children(
        &self,
        node: NodeId,
    ) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        let directory = self.directory(node);
        let range = directory.map_or(0..0, Directory::range);
        self.order[range].iter().copied().map(NodeId)
    }

    /// The directory that an entry is in; `None` for a root.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.records.get(node.0).parent;
        (parent != NONE).then_some(NodeId(parent))
    }

    /// Its name. For a root: the path that the walk was given.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &OsStr {
        self.records.name(node.0)
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> FileKind {
        self.records.get(node.0).kind
    }

    /// What it adds to the directory that it is in: its own size and everything below; nothing if it
    /// [is not counted](Self::is_counted).
    #[must_use]
    pub fn size(&self, node: NodeId) -> Size {
        match self.directory(node) {
            Some(directory) => directory.total,
            None if self.is_counted(node) => self.own_size(node),
            None => Size::default(),
        }
    }

    /// The size of the entry itself, counted or not. A directory's is that of its list of names.
    #[must_use]
    pub fn own_size(&self, node: NodeId) -> Size {
        self.records.get(node.0).own_size()
    }

    /// The number of the file system that it is on; 0 where there is none.
    #[must_use]
    pub fn device(&self, node: NodeId) -> u64 {
        self.records.device(node.0)
    }

    /// Its number there; 0 where there is none.
    #[must_use]
    pub fn inode(&self, node: NodeId) -> u64 {
        self.records.get(node.0).inode
    }

    /// How many names a file has; 1 for a directory, whatever its file system counts.
    #[must_use]
    pub fn links(&self, node: NodeId) -> u32 {
        let record = self.records.get(node.0);
        if record.kind.is_dir() { 1 } else { record.links_or_directory }
    }

    /// Whether a directory could not be read, or not completely: its size is then too small. This is about the
    /// directory itself, and not about those below it.
    #[must_use]
    pub fn has_errors(&self, node: NodeId) -> bool {
        self.records.get(node.0).marks.has(Marks::ERRORS)
    }

    /// `false` for a further name of a file that is counted elsewhere.
    #[must_use]
    pub fn is_counted(&self, node: NodeId) -> bool {
        !self.records.get(node.0).marks.has(Marks::NOT_COUNTED)
    }

    /// Its path: the root's as it was given, and the names below.
    #[must_use]
    pub fn path(&self, node: NodeId) -> PathBuf {
        let upwards = std::iter::successors(Some(node), |&node| self.parent(node));
        let nodes: Vec<_> = upwards.collect();
        nodes.iter().rev().map(|&node| self.name(node)).collect()
    }

    /// How many nodes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no nodes: no root could be visited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn directory(&self, node: NodeId) -> Option<&Directory> {
        let record = self.records.get(node.0);
        record.kind.is_dir().then(|| &self.directories[record.directory()])
    }
}
