//! Files that a visitor wants later ([`Flow::Later`](crate::Flow::Later)), in batches by directory.
//!
//! - The files of a directory come in batches of up to [`FILES_PER_TASK`] names. The directory is
//!   still open, so each file is opened relative to it.
//! - A full batch becomes a task that others can steal. It holds a permit for its files. If there
//!   are not enough permits, or if the directory cannot stay open, the worker that found the files
//!   passes them to its visitor at once. So the number of waiting files is bounded, and no worker
//!   sleeps.
//! - The last batch of a directory, which in most directories is the only one, never waits. The
//!   worker first queues the pending directories for others, then passes the batch to its visitor.
//!   This takes no task, no permit and no allocation. A visitor that expects long work [shares the
//!   rest](FileBatch::share_rest) of the batch.
//! - If no descriptor is free for a file, this file and the files after it are put off: they become
//!   a task at the back of the queue. This task does not hold a permit, so more files than usual
//!   may wait, but only as long as the shortage may last (see [`super::descriptors`]).
//!
//! Invariant: a worker that handles a batch needs one descriptor for a file, one for the directory
//! and one for its parent, which is no more than each worker has.

use super::path_cache::{DirPath, PathCache};
use super::{DirAccess, DirHandle, Engine, TaskQueue, WalkScratch, WalkTask};
use crate::Symlinks;
use crate::sys::{self, Dir, Name, NameQueue, os_str};
use crate::visitor::Visitor;
use heist::CountPermit;
use heist_device::DeviceId;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Enough to make the cost of a task small against that of opening its files.
pub(crate) const FILES_PER_TASK: usize = 32;

/// Files in one directory that wait for [`Visitor::files`].
#[derive(Debug)]
pub(crate) struct PendingFiles<D> {
    pub(crate) within: Arc<DirAccess<D>>,
    names: NameQueue,
    /// `None` for files that were put off.
    permit: Option<CountPermit>,
}

/// A task of the visitor, for the disk it was spawned on.
#[derive(Debug)]
pub(crate) struct FollowUp<T> {
    pub(crate) disk: DeviceId,
    pub(crate) task: T,
}

/// Where the files of a batch are.
enum BatchLocation<'a, D> {
    Directory {
        open: &'a Arc<DirAccess<D>>,
        dir: &'a Dir,
    },
    /// The only file of the batch is a root.
    Root {
        root: usize,
        disk: DeviceId,
    },
}

/// Files of one directory that a visitor wanted [later](crate::Flow::Later), passed to
/// [`Visitor::files`].
///
/// `D` and `T` are the visitor's [`Dir`](Visitor::Dir) and [`Task`](Visitor::Task).
pub struct FileBatch<'a, D, T = Infallible> {
    engine: &'a Engine,
    location: BatchLocation<'a, D>,
    names: &'a mut NameQueue,
    queue: &'a mut dyn TaskQueue<D, T>,
    /// Whether the last file found no free descriptor.
    refused: Cell<bool>,
    /// The path of the directory, with and without the root.
    path: PathBuf,
    below_root: PathBuf,
}

impl<D, T> fmt::Debug for FileBatch<'_, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBatch")
            .field("path", &self.path)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<'a, D, T> FileBatch<'a, D, T> {
    fn new(
        engine: &'a Engine,
        location: BatchLocation<'a, D>,
        names: &'a mut NameQueue,
        paths: &RefCell<PathCache<D>>,
        queue: &'a mut dyn TaskQueue<D, T>,
    ) -> Self {
        let (path, below_root) = match &location {
            BatchLocation::Directory { open, .. } => {
                let mut paths = paths.borrow_mut();
                let DirPath { whole, below_root } = paths.path_of(&open.node, &engine.roots);
                (whole.to_path_buf(), below_root.to_path_buf())
            }
            BatchLocation::Root { .. } => (PathBuf::new(), PathBuf::new()),
        };
        Self { engine, location, names, queue, refused: Cell::new(false), path, below_root }
    }

    /// Returns the value kept for the directory of the files, or `None` if the file is a root.
    #[must_use]
    pub fn dir(&self) -> Option<&D> {
        match &self.location {
            BatchLocation::Directory { open, .. } => Some(&open.node.kept),
            BatchLocation::Root { .. } => None,
        }
    }

    /// Returns the index of the root that the files are below.
    #[must_use]
    pub fn root(&self) -> usize {
        match &self.location {
            BatchLocation::Directory { open, .. } => open.node.root as usize,
            BatchLocation::Root { root, .. } => *root,
        }
    }

    /// Returns the number of files left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns `true` if no files are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Takes the next file out of the batch.
    ///
    /// Returns `None` at the end, if the walk was stopped, or if the last file was put off
    /// ([`BatchedFile::open`]). In the last case the visitor receives that file and the rest of the
    /// batch again later.
    #[expect(clippy::should_implement_trait, reason = "what it yields borrows from the batch")]
    pub fn next(&mut self) -> Option<BatchedFile<'_>> {
        if self.refused.get() || self.engine.stop.is_cancelled() {
            return None;
        }
        let (name, follow) = self.names.next()?;
        let within = match &self.location {
            BatchLocation::Directory { dir, .. } => {
                Some(BatchDirectory { dir, path: &self.path, below_root: &self.below_root })
            }
            BatchLocation::Root { .. } => None,
        };
        Some(BatchedFile { engine: self.engine, name, follow, within, refused: &self.refused })
    }

    /// Leaves the rest of the batch to other workers, unless too many files are waiting already.
    ///
    /// A visitor should call it before work that takes long.
    pub fn share_rest(&mut self) {
        let BatchLocation::Directory { open, .. } = &self.location else { return };
        if self.refused.get() {
            // The whole batch is put off anyway.
            return;
        }
        if let Some(task) = self.engine.files_task(open, self.names) {
            self.queue.spawn(task);
        }
    }

    /// Queues a task for the disk of these files. Any worker's visitor may receive it, in
    /// [`Visitor::task`].
    ///
    /// The walk ends only after the task has run. A walk that is stopped drops it.
    pub fn spawn(&mut self, task: T) {
        let disk = match &self.location {
            BatchLocation::Directory { open, .. } => open.node.disk,
            BatchLocation::Root { disk, .. } => *disk,
        };
        self.queue.spawn(WalkTask::FollowUp(Box::new(FollowUp { disk, task })));
    }
}

/// The directory of a batch.
struct BatchDirectory<'b> {
    dir: &'b Dir,
    path: &'b Path,
    below_root: &'b Path,
}

/// A file of a [`FileBatch`].
pub struct BatchedFile<'b> {
    engine: &'b Engine,
    /// The path, if the file is a root.
    name: &'b Name,
    follow: bool,
    /// `None` for a root.
    within: Option<BatchDirectory<'b>>,
    refused: &'b Cell<bool>,
}

impl fmt::Debug for BatchedFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchedFile").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl BatchedFile<'_> {
    /// Returns the name without the directories. For a root it is the path as given to the walk.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        os_str(self.name)
    }

    /// Writes the path into `path`, replacing its contents: the root as given to the walk, and the
    /// names below it.
    pub fn path_into(&self, path: &mut PathBuf) {
        join_into(
            self.within.as_ref().map_or(Path::new(""), |within| within.path),
            self.name(),
            path,
        );
    }

    /// Writes the path below the root into `path`, replacing its contents. For a root it is the
    /// last part of the root's path.
    pub fn path_below_root_into(&self, path: &mut PathBuf) {
        match &self.within {
            Some(within) => join_into(within.below_root, self.name(), path),
            None => {
                let name = Path::new(self.name());
                join_into(Path::new(""), name.file_name().unwrap_or(name.as_os_str()), path);
            }
        }
    }

    /// Opens the file for reading, relative to its directory.
    ///
    /// The call follows a symbolic link only if the walk does, and it does not block if a named
    /// pipe has replaced the file.
    ///
    /// Returns `Ok(None)` if no descriptor is free. The walk then puts the file off: the batch ends
    /// here, and the visitor receives this file and the files after it again after other work. If
    /// no descriptor becomes free for about 200 ms, the call returns the error of the system
    /// instead.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if the file cannot be opened.
    pub fn open(&self) -> io::Result<Option<File>> {
        let result = match &self.within {
            Some(within) => within.dir.open_file(self.name, self.follow),
            None => sys::open_root_file(Path::new(self.name()), self.follow),
        };
        let opened = self.engine.descriptors.opened_or_put_off(result);
        self.refused.set(matches!(opened, Ok(None)));
        opened
    }
}

/// Writes `directory/name` into `path` without parsing either.
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
    /// Makes the names a task, if the directory may stay open and the files may wait. Otherwise the
    /// names stay where they are.
    fn files_task<D, T>(
        &self,
        open: &Arc<DirAccess<D>>,
        names: &mut NameQueue,
    ) -> Option<WalkTask<D, T>> {
        if names.is_empty() || !self.keep_open(open) {
            return None;
        }
        let permit = Some(self.waiting_files.try_acquire(names.len() as u64).ok()?);
        let (within, names) = (Arc::clone(open), names.take());
        Some(WalkTask::VisitFiles(Box::new(PendingFiles { within, names, permit })))
    }

    /// Queues a full batch, or passes it to the visitor at once.
    #[cold]
    pub(super) fn full_batch<V: Visitor>(
        &self,
        open: &Arc<DirAccess<V::Dir>>,
        files: &mut NameQueue,
        visitor: &mut V,
        paths: &RefCell<PathCache<V::Dir>>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        match self.files_task(open, files) {
            Some(task) => queue.spawn(task),
            None => self.take_files(open, files, visitor, paths, queue),
        }
    }

    /// Passes files to the visitor.
    pub(super) fn take_files<V: Visitor>(
        &self,
        open: &Arc<DirAccess<V::Dir>>,
        files: &mut NameQueue,
        visitor: &mut V,
        paths: &RefCell<PathCache<V::Dir>>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let DirHandle::Open(dir) = &open.handle else {
            unreachable!("files wait only in directories that stay open");
        };
        let location = BatchLocation::Directory { open, dir };
        let mut batch = FileBatch::new(self, location, files, paths, queue);
        visitor.files(&mut batch);
        if batch.refused.get() {
            files.put_back();
            self.keep_open_anyway(open);
            let (within, names) = (Arc::clone(open), files.take());
            queue.put_off(WalkTask::VisitFiles(Box::new(PendingFiles {
                within,
                names,
                permit: None,
            })));
        }
        // The visitor did not want these, or the walk was stopped.
        files.clear();
    }

    /// Passes files that have waited to the visitor.
    pub(super) fn take_pending_files<V: Visitor>(
        &self,
        pending: PendingFiles<V::Dir>,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let PendingFiles { within, mut names, permit } = pending;
        let WalkScratch { visitor, paths, .. } = scratch;
        self.take_files(&within, &mut names, visitor, paths, queue);
        drop(permit);
        self.release(within, scratch);
    }

    /// Passes a root that is a file to the visitor.
    pub(super) fn take_root_file<V: Visitor>(
        &self,
        root: usize,
        disk: DeviceId,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let Some(name) = sys::boxed_name(self.roots[root].as_os_str()) else { return };
        let mut names = NameQueue::default();
        names.push(&name, self.symlinks != Symlinks::Never);
        let location = BatchLocation::Root { root, disk };
        let WalkScratch { visitor, paths, .. } = scratch;
        let mut batch = FileBatch::new(self, location, &mut names, paths, queue);
        visitor.files(&mut batch);
        if batch.refused.get() {
            queue.put_off(WalkTask::RootFile(root, disk));
        }
    }
}
