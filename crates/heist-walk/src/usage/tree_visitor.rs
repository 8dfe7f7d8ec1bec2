//! [`TreeVisitor`]: keeps a record for each directory, and for each file if the tree contains
//! files.
//!
//! If the tree does not contain files, a worker adds them to a sum for the current directory. A
//! worker finishes a block before it goes to another directory. So there is one such sum for each
//! directory, and one more for each further block of a large one. [Building](mod@super::build) the
//! tree merges them.
//!
//! A file that the walk may reach under other names always has a record, because only the whole
//! tree shows which name comes first.

use super::extensions::ExtensionSums;
use super::inodes::SharedInodes;
use super::overlap::RootIdentities;
use super::records::{Marks, NONE, RecordArena, SharedNumbering};
use super::{OnError, Size};
use crate::entry::Entry;
use crate::error::{Operation, WalkError};
use crate::metadata::Metadata;
use crate::visitor::{Enter, Flow, Visitor};
use std::convert::Infallible;
use std::sync::Arc;

/// What all workers of the measurement share.
#[derive(Debug)]
pub(super) struct SharedTree {
    pub(super) numbering: SharedNumbering,
    /// Whether each file has a record.
    pub(super) keep_files: bool,
    /// Whether to add up sizes by extension.
    pub(super) by_extension: bool,
    /// How the walk may reach something several times, or `None` if everything counts each time.
    pub(super) repeats: Option<Repeats>,
}

/// How a walk may reach something several times, other than by further names of a file.
#[derive(Debug)]
pub(super) struct Repeats {
    /// By links to anything.
    pub(super) over_links: bool,
    /// By roots inside roots.
    pub(super) roots: RootIdentities,
    /// The directories that were entered: all of them if links are followed, otherwise the roots.
    pub(super) entered: SharedInodes,
}

impl Repeats {
    /// Returns `true` if a directory is entered elsewhere.
    fn is_entered_elsewhere(&self, metadata: &Metadata, is_root: bool) -> bool {
        if self.over_links || is_root {
            metadata.identity().is_some_and(|directory| !self.entered.insert(directory))
        } else {
            self.roots.contain_directory(metadata)
        }
    }

    #[inline]
    fn may_repeat(&self, file: &Metadata) -> bool {
        file.links > 1 || self.over_links || self.roots.contain_file(file)
    }
}

/// What one worker has recorded.
#[derive(Debug, Default)]
pub(super) struct WorkerRecords {
    pub(super) arena: RecordArena,
    /// The roots, by their index in the walk.
    pub(super) roots: Vec<(usize, u32)>,
    /// Sums of files without records, each for a directory. The last one is incomplete until the
    /// walk ends.
    pub(super) sums: Vec<(u32, Size)>,
    /// Directories that could not be read, or only in part.
    pub(super) with_errors: Vec<u32>,
    /// The number of links that lead back to a directory containing them.
    pub(super) loops: u64,
    pub(super) extensions: ExtensionSums,
}

/// Records entries. See the module's documentation.
pub(super) struct TreeVisitor<E> {
    shared: Arc<SharedTree>,
    records: WorkerRecords,
    on_error: Arc<E>,
}

impl<E> TreeVisitor<E> {
    pub(super) fn new(shared: Arc<SharedTree>, on_error: Arc<E>) -> Self {
        Self { shared, records: WorkerRecords::default(), on_error }
    }

    pub(super) fn into_records(self) -> WorkerRecords {
        self.records
    }

    #[inline]
    fn keep(
        &mut self,
        entry: &Entry<'_>,
        metadata: &Metadata,
        parent: u32,
        marks: Marks,
    ) -> Option<u32> {
        let WorkerRecords { arena, roots, .. } = &mut self.records;
        let id = arena.push(&self.shared.numbering, entry.name(), metadata, parent, marks)?;
        if parent == NONE {
            roots.push((entry.root(), id));
        }
        Some(id)
    }

    #[inline]
    fn add_to_sum(&mut self, directory: u32, size: Size) {
        match self.records.sums.last_mut() {
            Some((current, sum)) if *current == directory => *sum += size,
            _ => self.records.sums.push((directory, size)),
        }
    }
}

impl<E: OnError> Visitor for TreeVisitor<E> {
    /// The id of the directory's record.
    type Dir = u32;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&u32>) -> Enter<u32> {
        let Some(metadata) = dir.metadata() else { return Enter::Skip };
        let is_root = parent.is_none();
        let elsewhere = self
            .shared
            .repeats
            .as_ref()
            .is_some_and(|repeats| repeats.is_entered_elsewhere(metadata, is_root));
        let marks = if elsewhere { Marks::ENTERED_ELSEWHERE } else { Marks::NOTHING };
        match self.keep(dir, metadata, parent.copied().unwrap_or(NONE), marks) {
            None => Enter::Quit,
            Some(_) if elsewhere => Enter::Skip,
            Some(id) => Enter::Into(id),
        }
    }

    #[inline]
    fn file(&mut self, file: &Entry<'_>, parent: Option<&u32>) -> Flow {
        let Some(metadata) = file.metadata() else { return Flow::Continue };
        let repeats = self.shared.repeats.as_ref();
        let may_repeat = repeats.is_some_and(|repeats| repeats.may_repeat(metadata));
        if self.shared.by_extension && !may_repeat {
            self.records.extensions.add(file.name(), Size::of(metadata));
        }
        match parent {
            Some(&directory) if !self.shared.keep_files && !may_repeat => {
                self.add_to_sum(directory, Size::of(metadata));
                Flow::Continue
            }
            _ => {
                let marks = if may_repeat { Marks::MAY_REPEAT } else { Marks::NOTHING };
                match self.keep(file, metadata, parent.copied().unwrap_or(NONE), marks) {
                    Some(_) => Flow::Continue,
                    None => Flow::Quit,
                }
            }
        }
    }

    fn error(&mut self, error: WalkError, parent: Option<&u32>) -> Flow {
        if error.is_loop() {
            self.records.loops += 1;
            return Flow::Continue;
        }
        // A directory is read even if its ignore rules cannot be.
        if error.operation != Operation::ReadIgnoreFile {
            self.records.with_errors.extend(parent);
        }
        (self.on_error)(&error);
        Flow::Continue
    }
}
