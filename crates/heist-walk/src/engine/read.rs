//! Reading a directory: its files are visited, its directories become pending.

use super::{
    Engine, FILES_PER_TASK, Handle, Hands, NAMES_PER_TASK, OpenDir, Pending, Spawn, WalkTask,
};
use crate::Symlinks;
use crate::entry::{Entry, Surroundings};
use crate::error::{Operation, WalkError};
use crate::metadata::{FileKind, Metadata};
use crate::sys::{Dir, Name, Names, os_str};
use crate::visitor::{Flow, Visitor};
use std::sync::Arc;

/// What to do with an entry of a directory.
enum Sort {
    /// Show it: it, or what it leads to.
    File { metadata: Option<Metadata>, followed: bool },
    /// Enter it, following its name if it is a link.
    Directory { follow: bool },
    /// It could not be asked.
    Failed(Operation, std::io::Error),
}

impl Engine {
    /// Reads a directory, from where its last block ended. `handed_on` says that this is a block of a large
    /// directory, to be handed on as soon as a block has been fetched.
    pub(super) fn read<V: Visitor>(
        &self,
        open: Arc<OpenDir<V::Dir>>,
        handed_on: bool,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let Handle::Open(dir) = &open.handle else {
            unreachable!("a directory is closed only after it has been read");
        };
        let node = &*open.node;
        let path_of = || node.path(&self.roots);
        let within = Surroundings::new(&path_of);
        let depth = node.depth as usize + 1;
        let fail = |name: Option<&Name>, operation, source| {
            let (path, depth) = match name {
                Some(name) => (within.path().join(os_str(name)), depth),
                None => (within.path().to_path_buf(), depth - 1),
            };
            WalkError::new(&path, depth, operation, source)
        };
        let Hands { visitor, buffer, names, files, counts } = hands;
        names.clear();
        files.clear();
        let mut hand_on_next = handed_on;
        let mut next_is_others = false;
        let mut blocks = 0;
        let mut listing = dir.list(buffer);
        loop {
            let fetches = listing.is_block_done();
            if fetches && (next_is_others || self.stop.is_cancelled()) {
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
                counts.show();
                // A directory with a second block is a large one. Others may have the third, if it can stay open.
                if blocks == 2 {
                    hand_on_next = self.keep_open(&open);
                }
                if hand_on_next {
                    queue.spawn(WalkTask::More(Arc::clone(&open)));
                    next_is_others = true;
                }
            }
            if listed.is_dot() {
                continue;
            }
            let name = listed.name();
            let sort = self.sort(dir, name, listed.kind(), &open, &within);
            let Some(sort) = sort else {
                counts.so_far.excluded += 1;
                continue;
            };
            let flow = match sort {
                Sort::File { metadata, followed } => {
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
                            self.full_batch(&open, files, visitor, queue);
                        }
                    }
                    flow
                }
                Sort::Directory { follow } => {
                    names.push(name, follow);
                    if names.len() == NAMES_PER_TASK && self.keep_open(&open) {
                        let names = names.take();
                        let within = Arc::clone(&open);
                        queue.spawn(WalkTask::Pending(Box::new(Pending { within, names })));
                    }
                    Flow::Continue
                }
                Sort::Failed(operation, source) => {
                    counts.so_far.errors += 1;
                    visitor.error(fail(Some(name), operation, source), Some(&node.kept))
                }
            };
            if flow == Flow::Quit {
                self.stop.cancel();
                break;
            }
        }
        if !hands.files.is_empty() {
            self.take_last_files(&open, hands, queue);
        }
        self.leave_pending(open, hands, queue);
    }

    /// The last files of a block: others can have the directories meanwhile, if these can wait.
    fn take_last_files<V: Visitor>(
        &self,
        open: &Arc<OpenDir<V::Dir>>,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let Hands { visitor, names, files, .. } = hands;
        if !names.is_empty() && self.keep_open(open) {
            let (within, names) = (Arc::clone(open), names.take());
            queue.spawn(WalkTask::Pending(Box::new(Pending { within, names })));
        }
        self.take_files(open, files, visitor, queue);
    }

    /// What to do with an entry; `None` if a filter leaves it out, or it is on another file system and is not to be
    /// seen.
    #[inline(always)]
    fn sort<D>(
        &self,
        dir: &Dir,
        name: &Name,
        listed: Option<FileKind>,
        open: &OpenDir<D>,
        within: &Surroundings<'_>,
    ) -> Option<Sort> {
        let mut metadata = None;
        let kind = match listed {
            Some(kind) => kind,
            // Not every file system keeps it beside the name.
            None => match dir.metadata_of(name, false) {
                Ok(found) => metadata.insert(found).kind,
                Err(source) => return Some(Sort::Failed(Operation::ReadMetadata, source)),
            },
        };
        let excluded = |kind| {
            self.filter.is_active()
                && self.filter.excludes(&open.node.rules, within, os_str(name), kind)
        };
        if kind.is_symlink() && self.symlinks == Symlinks::Always {
            // What a filter says about a link depends on what the link leads to.
            return match dir.metadata_of(name, true) {
                Ok(found) if excluded(found.kind) => None,
                Ok(found) if found.kind.is_dir() => Some(Sort::Directory { follow: true }),
                Ok(found) if self.leaves_file_system(&open.node, Some(&found)) => None,
                Ok(found) => Some(Sort::File { metadata: Some(found), followed: true }),
                Err(_) if excluded(kind) => None,
                Err(source) => Some(Sort::Failed(Operation::FollowLink, source)),
            };
        }
        if excluded(kind) {
            return None;
        }
        if kind.is_dir() {
            return Some(Sort::Directory { follow: false });
        }
        if self.metadata && metadata.is_none() {
            match dir.metadata_of(name, false) {
                // Seldom: it has become one since it was listed.
                Ok(found) if found.kind.is_dir() => return Some(Sort::Directory { follow: false }),
                Ok(found) => metadata = Some(found),
                Err(source) => return Some(Sort::Failed(Operation::ReadMetadata, source)),
            }
        }
        // Files can be mounted on files.
        if self.leaves_file_system(&open.node, metadata.as_ref()) {
            return None;
        }
        Some(Sort::File { metadata, followed: false })
    }

    /// Whether `open` may stay open while names in it are pending.
    pub(super) fn keep_open<D>(&self, open: &OpenDir<D>) -> bool {
        if open.is_kept_open() {
            return true;
        }
        let kept = self.descriptors.try_keep();
        if kept {
            open.set_kept_open();
        }
        kept
    }

    /// Keeps `open` open although there may be no descriptor left: files in it were put off.
    pub(super) fn keep_open_anyway<D>(&self, open: &OpenDir<D>) {
        if !open.is_kept_open() {
            self.descriptors.keep_anyway();
            open.set_kept_open();
        }
    }

    /// The rest of a directory that has been read: names that wait.
    fn leave_pending<V: Visitor>(
        &self,
        open: Arc<OpenDir<V::Dir>>,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let names = &mut hands.names;
        if names.is_empty() {
            return self.let_go(open, hands);
        }
        let within = if self.keep_open(&open) {
            open
        } else {
            // It was never handed on, so nobody else has it.
            let Some(open) = Arc::into_inner(open) else {
                unreachable!("only a directory that may stay open is shared");
            };
            let Handle::Open(dir) = &open.handle else { return };
            let identity = match open.node.identity {
                Some(identity) => Some(identity),
                None => dir.identity().ok().flatten(),
            };
            Arc::new(OpenDir::new(open.node, Handle::Closed(identity)))
        };
        // More than one task's worth only if the directory could not stay open.
        while names.len() > NAMES_PER_TASK {
            let mut some = Names::default();
            while some.len() < NAMES_PER_TASK {
                let Some((name, follow)) = names.next() else { break };
                some.push(name, follow);
            }
            let within = Arc::clone(&within);
            queue.spawn(WalkTask::Pending(Box::new(Pending { within, names: some })));
        }
        let names = names.take();
        queue.spawn(WalkTask::Pending(Box::new(Pending { within, names })));
    }

    pub(super) fn count_file<V: Visitor>(&self, entry: &Entry<'_>, hands: &mut Hands<V>) {
        let counts = &mut hands.counts.so_far;
        counts.files += 1;
        if let Some(metadata) = entry.metadata {
            counts.bytes += metadata.len;
            counts.allocated += metadata.allocated;
        }
    }
}
