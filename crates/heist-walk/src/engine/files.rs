//! Files that a visitor wants to have later ([`Flow::Later`](crate::Flow::Later)): batches by directory.
//!
//! - A directory's files come back in batches of up to [`FILES_PER_TASK`] names, with the directory still open, so that
//!   each is opened relative to it.
//! - A full batch is a task that others can steal. It holds a permit for its files. If there is none left, or the
//!   directory cannot stay open, the worker that found the files takes them at once: so what waits is bounded, and
//!   nobody sleeps for it.
//! - The rest of a directory, which for most directories is all of it, never waits: the worker takes it as soon as
//!   others can have the directories in it. No task, no permit, no allocation. If it turns out to be long work, the
//!   visitor [hands the rest on](FileBatch::hand_on).
//! - A batch with a file that finds no descriptor free is put off: that file and those after it become a task at the
//!   back of the queue. It holds no permit, so more files than usual may wait then, for no longer than the shortage
//!   may last (see [`super::descriptors`]).
//!
//! Invariant: whoever takes a batch needs one descriptor for a file, beside those of the directory and of the one that
//! it is in: no more than a worker has.

use super::{Engine, Handle, Hands, OpenDir, Spawn, WalkTask};
use crate::Symlinks;
use crate::sys::{self, Dir, Name, Names, os_str};
use crate::visitor::Visitor;
use heist::CountPermit;
use heist_device::DeviceId;
use std::any::Any;
use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Enough that a task's own cost is lost in that of opening its files.
pub(crate) const FILES_PER_TASK: usize = 32;

/// Files in one directory, to be taken.
#[derive(Debug)]
pub(crate) struct PendingFiles<D> {
    pub(crate) within: Arc<OpenDir<D>>,
    names: Names,
    /// `None` for files that were put off.
    permit: Option<CountPermit>,
}

/// A task of the visitor's own.
#[derive(Debug)]
pub(crate) struct VisitorsTask {
    pub(crate) disk: DeviceId,
    pub(crate) task: Box<dyn Any + Send>,
}

/// Where the files of a batch are.
enum Place<'a, D> {
    In {
        open: &'a Arc<OpenDir<D>>,
        dir: &'a Dir,
    },
    /// The file is a root.
    Root {
        root: usize,
        disk: DeviceId,
    },
}

/// Files of one directory for which the visitor said [`Flow::Later`](crate::Flow::Later): given to
/// [`Visitor::files`](crate::Visitor::files).
pub struct FileBatch<'a, D> {
    engine: &'a Engine,
    place: Place<'a, D>,
    names: &'a mut Names,
    queue: &'a mut dyn Spawn<D>,
    /// Whether the last file could not be opened for want of a descriptor.
    refused: Cell<bool>,
    /// The directory's path, with the root's and without.
    path: PathBuf,
    below_root: PathBuf,
}

impl<D> fmt::Debug for FileBatch<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBatch")
            .field("path", &self.path)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<'a, D> FileBatch<'a, D> {
    fn new(
        engine: &'a Engine,
        place: Place<'a, D>,
        names: &'a mut Names,
        queue: &'a mut dyn Spawn<D>,
    ) -> Self {
        let (path, below_root) = match &place {
            Place::In { open, .. } => (open.node.path(&engine.roots), open.node.path_below_root()),
            Place::Root { .. } => (PathBuf::new(), PathBuf::new()),
        };
        Self { engine, place, names, queue, refused: Cell::new(false), path, below_root }
    }

    /// What was kept for the directory that the files are in; `None` if the file is a root.
    #[must_use]
    pub fn dir(&self) -> Option<&D> {
        match &self.place {
            Place::In { open, .. } => Some(&open.node.kept),
            Place::Root { .. } => None,
        }
    }

    /// Which of the walk's roots they are below, counted from 0.
    #[must_use]
    pub fn root(&self) -> usize {
        match &self.place {
            Place::In { open, .. } => open.node.root as usize,
            Place::Root { root, .. } => *root,
        }
    }

    /// How many files are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The next file; `None` also if the walk was stopped, or if the last file was put off
    /// ([`BatchedFile::open`]): the rest of the batch then comes again with that file.
    #[expect(clippy::should_implement_trait, reason = "what it yields borrows from the batch")]
    pub fn next(&mut self) -> Option<BatchedFile<'_>> {
        if self.refused.get() || self.engine.stop.is_cancelled() {
            return None;
        }
        let (name, follow) = self.names.next()?;
        let within = match &self.place {
            Place::In { dir, .. } => {
                Some(Within { dir, path: &self.path, below_root: &self.below_root })
            }
            Place::Root { .. } => None,
        };
        Some(BatchedFile { engine: self.engine, name, follow, within, refused: &self.refused })
    }

    /// Leaves the rest of the batch to whoever has time, if there is any and it may wait: to be called before something
    /// that takes long.
    pub fn hand_on(&mut self) {
        let Place::In { open, .. } = &self.place else { return };
        if self.refused.get() {
            // It is put off as a whole.
            return;
        }
        if let Some(task) = self.engine.files_task(open, self.names) {
            self.queue.spawn(task);
        }
    }

    /// Spawns a task of the visitor's own, on the disk of these files: some worker's visitor gets it
    /// ([`Visitor::task`](crate::Visitor::task)). A walk that is stopped drops it.
    pub fn spawn(&mut self, task: Box<dyn Any + Send>) {
        let disk = match &self.place {
            Place::In { open, .. } => open.node.disk,
            Place::Root { disk, .. } => *disk,
        };
        self.queue.spawn(WalkTask::Visitors(Box::new(VisitorsTask { disk, task })));
    }
}

/// The directory of a batch.
struct Within<'b> {
    dir: &'b Dir,
    path: &'b Path,
    below_root: &'b Path,
}

/// One of a [`FileBatch`].
pub struct BatchedFile<'b> {
    engine: &'b Engine,
    /// For a root: its path.
    name: &'b Name,
    follow: bool,
    /// `None` for a root.
    within: Option<Within<'b>>,
    refused: &'b Cell<bool>,
}

impl fmt::Debug for BatchedFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchedFile").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl BatchedFile<'_> {
    /// Its name, without the directories. For a root: the path that the walk was given.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        os_str(self.name)
    }

    /// Its path, in a buffer of the caller's: the root's as it was given, and the names below.
    pub fn path_into(&self, path: &mut PathBuf) {
        join_into(
            self.within.as_ref().map_or(Path::new(""), |within| within.path),
            self.name(),
            path,
        );
    }

    /// Its path below the root, in a buffer of the caller's. For a root: the last part of its path.
    pub fn path_below_root_into(&self, path: &mut PathBuf) {
        match &self.within {
            Some(within) => join_into(within.below_root, self.name(), path),
            None => {
                let name = Path::new(self.name());
                join_into(Path::new(""), name.file_name().unwrap_or(name.as_os_str()), path);
            }
        }
    }

    /// Opens it for reading, relative to its directory. The call follows no link that the walk does not follow, and
    /// does not wait for the other end of a pipe that has taken the file's place.
    ///
    /// Returns `None` if no descriptor is free. The walk has then put the file off: this batch ends here, and the
    /// visitor gets the file and those after it again when other work has been done. If it stays like that for some
    /// 200 ms, the call returns the system's error instead.
    ///
    /// # Errors
    /// The system's.
    pub fn open(&self) -> io::Result<Option<File>> {
        let result = match &self.within {
            Some(within) => within.dir.open_file(self.name, self.follow),
            None => sys::open_root_file(Path::new(self.name()), self.follow),
        };
        let opened = self.engine.descriptors.opened_or_later(result);
        self.refused.set(matches!(opened, Ok(None)));
        opened
    }
}

/// `directory/name`, without looking at either.
fn join_into(directory: &Path, name: &OsStr, path: &mut PathBuf) {
    let text = path.as_mut_os_string();
    text.clear();
    let directory = directory.as_os_str();
    text.push(directory);
    let last = directory.as_encoded_bytes().last();
    if last.is_some_and(|&byte| !std::path::is_separator(char::from(byte))) {
        text.push(std::path::MAIN_SEPARATOR_STR);
    }
    text.push(name);
}

impl Engine {
    /// The names as a task, if the directory may stay open and the files may wait. If not, the names stay where they
    /// are.
    fn files_task<D>(&self, open: &Arc<OpenDir<D>>, names: &mut Names) -> Option<WalkTask<D>> {
        if names.is_empty() || !self.keep_open(open) {
            return None;
        }
        let permit = Some(self.waiting_files.try_acquire(names.len() as u64).ok()?);
        let (within, names) = (Arc::clone(open), names.take());
        Some(WalkTask::Files(Box::new(PendingFiles { within, names, permit })))
    }

    /// A batch is full: it waits, or is taken at once.
    #[cold]
    pub(super) fn full_batch<V: Visitor>(
        &self,
        open: &Arc<OpenDir<V::Dir>>,
        files: &mut Names,
        visitor: &mut V,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        match self.files_task(open, files) {
            Some(task) => queue.spawn(task),
            None => self.take_files(open, files, visitor, queue),
        }
    }

    /// Gives files to the visitor.
    pub(super) fn take_files<V: Visitor>(
        &self,
        open: &Arc<OpenDir<V::Dir>>,
        files: &mut Names,
        visitor: &mut V,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let Handle::Open(dir) = &open.handle else {
            unreachable!("files wait only in directories that stay open");
        };
        let mut batch = FileBatch::new(self, Place::In { open, dir }, files, queue);
        visitor.files(&mut batch);
        if batch.refused.get() {
            files.put_back();
            self.keep_open_anyway(open);
            let (within, names) = (Arc::clone(open), files.take());
            queue.put_off(WalkTask::Files(Box::new(PendingFiles { within, names, permit: None })));
        }
        // What the visitor did not want, or a walk that was stopped did not come to.
        files.clear();
    }

    /// Takes files that have waited.
    pub(super) fn take_pending_files<V: Visitor>(
        &self,
        pending: PendingFiles<V::Dir>,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let PendingFiles { within, mut names, permit } = pending;
        self.take_files(&within, &mut names, &mut hands.visitor, queue);
        drop(permit);
        self.let_go(within, hands);
    }

    /// A root is a file that the visitor wants later, which is now.
    pub(super) fn take_root_file<V: Visitor>(
        &self,
        root: usize,
        disk: DeviceId,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let Some(name) = sys::boxed_name(self.roots[root].as_os_str()) else { return };
        let mut names = Names::default();
        names.push(&name, self.symlinks != Symlinks::Never);
        let place = Place::Root { root, disk };
        let mut batch = FileBatch::new(self, place, &mut names, queue);
        hands.visitor.files(&mut batch);
        if batch.refused.get() {
            queue.put_off(WalkTask::RootFile(root, disk));
        }
    }
}
