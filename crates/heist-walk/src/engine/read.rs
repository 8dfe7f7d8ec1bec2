//! Reading a directory: the worker visits its files and queues its directories.

use super::{
    DirAccess, DirHandle, Engine, FILES_PER_TASK, NAMES_PER_TASK, PendingDirs, TaskQueue,
    WalkScratch, WalkTask,
};
use crate::Symlinks;
use crate::entry::{Entry, ParentPath};
use crate::error::{Operation, WalkError};
use crate::filter::ExcludedBy;
use crate::metadata::{FileKind, Metadata};
use crate::sys::{Dir, Name, NameQueue, os_str};
use crate::visitor::{Flow, Visitor};
use std::sync::Arc;

/// What to do with an entry of a directory.
enum EntryAction {
    /// Show it to the visitor, or show the target of the link.
    File { metadata: Option<Metadata>, followed: bool },
    /// Enter it. `follow` tells whether it is a link to a directory.
    Directory { follow: bool },
    /// Report that its metadata could not be read.
    Failed(Operation, std::io::Error),
}

impl Engine {
    /// Reads a directory, starting where the last block ended.
    ///
    /// `is_shared` tells that this is a block of a large directory. As soon as such a block is
    /// fetched, other workers may read the next one.
    pub(super) fn read<V: Visitor>(
        &self,
        open: Arc<DirAccess<V::Dir>>,
        is_shared: bool,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let DirHandle::Open(dir) = &open.handle else {
            unreachable!("a directory is closed only after it has been read");
        };
        let node = &*open.node;
        let WalkScratch { visitor, buffer, names, files, paths, counts } = scratch;
        let paths = &*paths;
        let path_of = || paths.borrow_mut().path_of(&open.node, &self.roots).whole.to_path_buf();
        let within = ParentPath::new(&path_of);
        let depth = node.depth as usize + 1;
        let fail = |name: Option<&Name>, operation, source| {
            let (path, depth) = match name {
                Some(name) => (within.path().join(os_str(name)), depth),
                None => (within.path().to_path_buf(), depth - 1),
            };
            WalkError::new(path, depth, operation, source)
        };
        names.clear();
        files.clear();
        let mut share_next = is_shared;
        let mut next_is_shared = false;
        let mut blocks = 0;
        let mut listing = dir.list(buffer);
        loop {
            let fetches = listing.is_block_done();
            if fetches && (next_is_shared || self.stop.is_cancelled()) {
                break;
            }
            let listed = match listing.next() {
                None => break,
                Some(Ok(listed)) => listed,
                Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Some(Err(source)) => {
                    counts.so_far.errors += 1;
                    let error = fail(None, Operation::ReadDirectory, source);
                    if visitor.error(error, Some(&node.kept)) == Flow::Quit {
                        self.stop.cancel();
                    }
                    break;
                }
            };
            if fetches {
                blocks += 1;
                counts.publish();
                // A directory with a second block is large. Others may read the third one, if the
                // directory can stay open.
                if blocks == 2 {
                    share_next = self.keep_open(&open);
                }
                if share_next {
                    queue.spawn(WalkTask::ReadMore(Arc::clone(&open)));
                    next_is_shared = true;
                }
            }
            if listed.is_dot() {
                continue;
            }
            let name = listed.name();
            let action = self.classify(dir, name, listed.kind(), &open, &within);
            let action = match action {
                Ok(action) => action,
                Err(by) => {
                    counts.count_excluded(by);
                    continue;
                }
            };
            let flow = match action {
                EntryAction::File { metadata, followed } => {
                    let kind = metadata.map(|metadata| metadata.kind).or(listed.kind());
                    counts.so_far.files += 1;
                    if let Some(metadata) = &metadata {
                        counts.so_far.bytes += metadata.len;
                        counts.so_far.allocated += metadata.allocated;
                    }
                    let entry = Entry {
                        name: os_str(name),
                        kind: kind.unwrap_or(FileKind::Other),
                        depth,
                        root: node.root as usize,
                        metadata: metadata.as_ref().filter(|_| self.metadata),
                        within: Some(&within),
                        followed,
                    };
                    let flow = visitor.file(&entry, Some(&node.kept));
                    if flow == Flow::Later {
                        files.push(name, followed);
                        if files.len() == FILES_PER_TASK {
                            self.full_batch(&open, files, visitor, paths, queue);
                        }
                    }
                    flow
                }
                EntryAction::Directory { follow } => {
                    names.push(name, follow);
                    if names.len() == NAMES_PER_TASK && self.keep_open(&open) {
                        let names = names.take();
                        let within = Arc::clone(&open);
                        queue.spawn(WalkTask::EnterDirs(Box::new(PendingDirs { within, names })));
                    }
                    Flow::Continue
                }
                EntryAction::Failed(operation, source) => {
                    counts.so_far.errors += 1;
                    visitor.error(fail(Some(name), operation, source), Some(&node.kept))
                }
            };
            if flow == Flow::Quit {
                self.stop.cancel();
                break;
            }
        }
        if !scratch.files.is_empty() {
            self.take_last_files(&open, scratch, queue);
        }
        self.leave_pending(open, scratch, queue);
    }

    /// Visits the last files of a block. First it queues the pending directories, if they can wait,
    /// so that others can enter them meanwhile.
    fn take_last_files<V: Visitor>(
        &self,
        open: &Arc<DirAccess<V::Dir>>,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let WalkScratch { visitor, names, files, paths, .. } = scratch;
        if !names.is_empty() && self.keep_open(open) {
            let (within, names) = (Arc::clone(open), names.take());
            queue.spawn(WalkTask::EnterDirs(Box::new(PendingDirs { within, names })));
        }
        self.take_files(open, files, visitor, paths, queue);
    }

    /// Decides what to do with an entry. Returns why it is left out, if the filter leaves it out or
    /// if it is on another file system and the walk stays on one.
    #[inline(always)]
    fn classify<D>(
        &self,
        dir: &Dir,
        name: &Name,
        listed: Option<FileKind>,
        open: &DirAccess<D>,
        within: &ParentPath<'_>,
    ) -> Result<EntryAction, ExcludedBy> {
        let mut metadata = None;
        let kind = match listed {
            Some(kind) => kind,
            // Not every file system stores the kind beside the name.
            None => match dir.metadata_of(name, false) {
                Ok(found) => metadata.insert(found).kind,
                Err(source) => return Ok(EntryAction::Failed(Operation::ReadMetadata, source)),
            },
        };
        let check = |kind| {
            let by = match self.filter.is_active() {
                true => self.filter.excludes(&open.node.rules, within, os_str(name), kind),
                false => None,
            };
            by.map_or(Ok(()), Err)
        };
        if kind.is_symlink() && self.symlinks == Symlinks::Always {
            // What the filter says about a link depends on the link's target.
            let target = dir.metadata_of(name, true);
            check(target.as_ref().map_or(kind, |found| found.kind))?;
            return match target {
                Ok(found) if found.kind.is_dir() => Ok(EntryAction::Directory { follow: true }),
                Ok(found) if self.leaves_file_system(&open.node, Some(&found)) => {
                    Err(ExcludedBy::Other)
                }
                Ok(found) => Ok(EntryAction::File { metadata: Some(found), followed: true }),
                Err(source) => Ok(EntryAction::Failed(Operation::FollowLink, source)),
            };
        }
        check(kind)?;
        if kind.is_dir() {
            return Ok(EntryAction::Directory { follow: false });
        }
        if self.metadata && metadata.is_none() {
            match dir.metadata_of(name, false) {
                // Rare: the entry has become a directory since it was listed.
                Ok(found) if found.kind.is_dir() => {
                    return Ok(EntryAction::Directory { follow: false });
                }
                Ok(found) => metadata = Some(found),
                Err(source) => return Ok(EntryAction::Failed(Operation::ReadMetadata, source)),
            }
        }
        // A file can be a mount point.
        if self.leaves_file_system(&open.node, metadata.as_ref()) {
            return Err(ExcludedBy::Other);
        }
        Ok(EntryAction::File { metadata, followed: false })
    }

    /// Returns `true` if `open` may stay open while names in it are pending.
    pub(super) fn keep_open<D>(&self, open: &DirAccess<D>) -> bool {
        if open.is_kept_open() {
            return true;
        }
        let kept = self.descriptors.try_keep_open();
        if kept {
            open.set_kept_open();
        }
        kept
    }

    /// Keeps `open` open, even over the limit, because files in it were put off.
    pub(super) fn keep_open_anyway<D>(&self, open: &DirAccess<D>) {
        if !open.is_kept_open() {
            self.descriptors.keep_open_anyway();
            open.set_kept_open();
        }
    }

    /// Queues the names that are left after a directory has been read.
    fn leave_pending<V: Visitor>(
        &self,
        open: Arc<DirAccess<V::Dir>>,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let names = &mut scratch.names;
        if names.is_empty() {
            return self.release(open, scratch);
        }
        let within = if self.keep_open(&open) {
            open
        } else {
            // Only directories that may stay open are shared, so this is the only holder.
            let Some(open) = Arc::into_inner(open) else {
                unreachable!("only a directory that may stay open is shared");
            };
            let DirHandle::Open(dir) = &open.handle else { return };
            let identity = match open.node.identity {
                Some(identity) => Some(identity),
                None => dir.identity().ok().flatten(),
            };
            Arc::new(DirAccess::new(open.node, DirHandle::Closed(identity)))
        };
        // There are more names than one task takes only if the directory could not stay open.
        while names.len() > NAMES_PER_TASK {
            let mut some = NameQueue::default();
            while some.len() < NAMES_PER_TASK {
                let Some((name, follow)) = names.next() else { break };
                some.push(name, follow);
            }
            let within = Arc::clone(&within);
            queue.spawn(WalkTask::EnterDirs(Box::new(PendingDirs { within, names: some })));
        }
        let names = names.take();
        queue.spawn(WalkTask::EnterDirs(Box::new(PendingDirs { within, names })));
    }

    pub(super) fn count_file<V: Visitor>(&self, entry: &Entry<'_>, scratch: &mut WalkScratch<V>) {
        let counts = &mut scratch.counts.so_far;
        counts.files += 1;
        if let Some(metadata) = entry.metadata {
            counts.bytes += metadata.len;
            counts.allocated += metadata.allocated;
        }
    }
}
