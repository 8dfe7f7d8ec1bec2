//! The engine of a walk: what its tasks do. The engine does not know threads. Its caller runs the
//! tasks, lends it the state of a worker ([`WalkScratch`]) and queues the tasks it spawns
//! ([`TaskQueue`]).
//!
//! - After a directory is read, the directories in it are pending: [`PendingDirs`] holds up to
//!   [`NAMES_PER_TASK`] of their names. A worker takes one name, puts the rest back into its queue
//!   and enters that one directory. So each worker goes depth first and few directories are open,
//!   and other workers can steal everything that is pending.
//! - If the entries of a directory do not fit into one block, [`WalkTask::ReadMore`] reads the next
//!   one. A worker that has fetched a block first spawns this task and then visits its block. So
//!   all workers visit a huge directory together, although only one at a time makes the system call
//!   that lists it.
//! - If no descriptor is free, a task is put off: it goes to the back of the queue with everything
//!   that it has not opened yet, and other tasks run first. See [`descriptors`].
//!
//! Invariants:
//!
//! - No task sleeps or waits, except inside a system call.
//! - Unless the walk is stopped, each entered directory is left once, by the worker that finishes
//!   the last thing below it. See [`node`].

mod descriptors;
#[cfg(all(test, target_os = "linux", not(heist_portable)))]
mod fault_tests;
mod files;
mod node;
mod path_cache;
mod read;
mod roots;

pub(crate) use descriptors::{DescriptorBudget, LEFT_FOR_PROGRAM};
pub use files::{BatchedFile, FileBatch};
pub(crate) use files::{FILES_PER_TASK, FollowUp, PendingFiles};
pub(crate) use node::{DirAccess, DirHandle, DirNode, ParentLink};

use crate::Symlinks;
use crate::counters::WorkerCounts;
use crate::entry::{Entry, ParentPath};
use crate::error::{Operation, Refusal, WalkError};
use crate::filter::Filter;
use crate::metadata::{FileIdentity, FileKind, Metadata};
use crate::sys::{Dir, Name, NameQueue, ReadBuffer, os_str};
use crate::visitor::{Enter, Flow, Visitor};
use heist::{CancelToken, CountBudget};
use heist_device::DeviceId;
use path_cache::PathCache;
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Enough to make the cost of a task small against that of opening its directories, and few enough
/// to leave something to steal.
pub(crate) const NAMES_PER_TASK: usize = 32;

/// A unit of work of a walk.
#[derive(Debug)]
pub(crate) enum WalkTask<D, T> {
    /// Visit a root.
    Root(usize),
    /// Pass a root that is a file to [`Visitor::files`]. This task exists only if the file was put
    /// off.
    RootFile(usize, DeviceId),
    /// Enter directories.
    EnterDirs(Box<PendingDirs<D>>),
    /// Read the next block of a directory.
    ReadMore(Arc<DirAccess<D>>),
    /// Read the first block of a directory. This is a task of its own because the directory is a
    /// root, or is not on the disk of its parent.
    ReadFirst(Arc<DirAccess<D>>),
    /// Pass files to [`Visitor::files`].
    VisitFiles(Box<PendingFiles<D>>),
    /// Run a task of the visitor.
    FollowUp(Box<FollowUp<T>>),
}

/// Pending directories: names of directories in one directory.
#[derive(Debug)]
pub(crate) struct PendingDirs<D> {
    pub(crate) within: Arc<DirAccess<D>>,
    pub(crate) names: NameQueue,
}

impl<D, T> WalkTask<D, T> {
    /// Creates a task that enters one directory.
    pub(crate) fn enter_one(within: Arc<DirAccess<D>>, name: &Name, follow: bool) -> Self {
        let mut names = NameQueue::default();
        names.push(name, follow);
        Self::EnterDirs(Box::new(PendingDirs { within, names }))
    }

    /// Returns the disk that the task works on, or `None` for a root, whose disk is not known yet.
    pub(crate) fn disk(&self) -> Option<DeviceId> {
        match self {
            Self::Root(_) => None,
            Self::RootFile(_, disk) => Some(*disk),
            Self::EnterDirs(pending) => Some(pending.within.node.disk),
            Self::ReadMore(open) | Self::ReadFirst(open) => Some(open.node.disk),
            Self::VisitFiles(pending) => Some(pending.within.node.disk),
            Self::FollowUp(task) => Some(task.disk),
        }
    }

    /// Returns the name of the task in a trace.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Root(_) | Self::RootFile(..) => "root",
            Self::EnterDirs(_) => "directory",
            Self::ReadMore(_) => "more of a directory",
            Self::ReadFirst(_) => "directory on another disk",
            Self::VisitFiles(_) => "files",
            Self::FollowUp(_) => "task of the visitor",
        }
    }
}

/// Where the engine puts new tasks.
pub(crate) trait TaskQueue<D, T> {
    /// Queues a task on the current worker.
    fn spawn(&mut self, task: WalkTask<D, T>);

    /// Queues a task that found no free descriptor, to be tried again after all other work.
    fn put_off(&mut self, task: WalkTask<D, T>);
}

/// A directory to enter.
struct ChildDir {
    name: Box<Name>,
    /// Whether the name is that of a symbolic link to follow.
    follow: bool,
}

/// The node of a directory that the visitor wants to enter, and how opening it went.
type ShownDir<D> = (DirNode<D>, io::Result<Option<Dir>>);

/// No descriptor was free for this directory, so it has to be put off.
struct NoDescriptor(ChildDir);

/// The state that each worker owns.
#[derive(Debug)]
pub(crate) struct WalkScratch<V: Visitor> {
    pub(crate) visitor: V,
    pub(crate) buffer: ReadBuffer,
    /// The directories in the directory being read. Kept between tasks only to reuse its memory.
    pub(crate) names: NameQueue,
    /// The files in it that the visitor wants later. Kept for the same reason.
    pub(crate) files: NameQueue,
    paths: RefCell<PathCache<V::Dir>>,
    pub(crate) counts: WorkerCounts,
}

impl<V: Visitor> WalkScratch<V> {
    pub(crate) fn new(visitor: V, counts: WorkerCounts) -> Self {
        let (names, files) = (NameQueue::default(), NameQueue::default());
        let (buffer, paths) = (ReadBuffer::new(), RefCell::default());
        Self { visitor, buffer, names, files, paths, counts }
    }
}

/// The settings of a walk, and what all its workers share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) filter: Filter,
    pub(crate) symlinks: Symlinks,
    pub(crate) max_depth: u32,
    pub(crate) same_file_system: bool,
    /// Whether the visitor wants metadata.
    pub(crate) metadata: bool,
    /// Whether the walk itself needs the identities of directories.
    pub(crate) identify: bool,
    /// Whether to show links that lead back to a directory containing them. The visitor must not
    /// enter these.
    pub(crate) show_loops: bool,
    pub(crate) descriptors: DescriptorBudget,
    pub(crate) disks: crate::disks::Disks,
    /// Limits how many files may wait for [`Visitor::files`].
    pub(crate) waiting_files: CountBudget,
    pub(crate) stop: CancelToken,
}

impl Engine {
    /// Runs one task.
    pub(crate) fn run<V: Visitor>(
        &self,
        task: WalkTask<V::Dir, V::Task>,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        match task {
            WalkTask::Root(root) => self.start_root(root, scratch, queue),
            WalkTask::RootFile(root, disk) => self.take_root_file(root, disk, scratch, queue),
            WalkTask::EnterDirs(pending) => self.enter_pending(pending, scratch, queue),
            WalkTask::ReadMore(open) => self.read(open, true, scratch, queue),
            WalkTask::ReadFirst(open) => self.read(open, false, scratch, queue),
            WalkTask::VisitFiles(pending) => self.take_pending_files(*pending, scratch, queue),
            WalkTask::FollowUp(task) => {
                let disk = task.disk;
                scratch.visitor.task(task.task, &mut |task| {
                    queue.spawn(WalkTask::FollowUp(Box::new(FollowUp { disk, task })));
                });
            }
        }
        scratch.counts.publish();
    }

    /// Enters one of the pending directories and puts the others back into the queue.
    fn enter_pending<V: Visitor>(
        &self,
        mut pending: Box<PendingDirs<V::Dir>>,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let within = Arc::clone(&pending.within);
        match &within.handle {
            DirHandle::Open(dir) => {
                if let Some((name, follow)) = pending.names.next() {
                    // The name is still needed after the rest has gone to the queue.
                    let name = name.into();
                    if pending.names.is_empty() {
                        drop(pending);
                    } else {
                        queue.spawn(WalkTask::EnterDirs(pending));
                    }
                    let child = ChildDir { name, follow };
                    let refused = self.enter_child(&within.node, dir, child, scratch, queue);
                    if let Err(NoDescriptor(ChildDir { name, follow })) = refused {
                        queue.put_off(WalkTask::enter_one(Arc::clone(&within), &name, follow));
                    }
                }
            }
            // Opening a directory again is expensive, so it is done once for all of its names.
            DirHandle::Closed(identity) => match self.open_again(&within.node, *identity) {
                Ok(Some(dir)) => {
                    let mut refused = false;
                    while let Some((name, follow)) = pending.names.next() {
                        if self.stop.is_cancelled() {
                            return;
                        }
                        let child = ChildDir { name: name.into(), follow };
                        if self.enter_child(&within.node, &dir, child, scratch, queue).is_err() {
                            pending.names.put_back();
                            refused = true;
                            break;
                        }
                    }
                    if refused {
                        queue.put_off(WalkTask::EnterDirs(pending));
                    } else {
                        drop(pending);
                    }
                }
                Ok(None) => queue.put_off(WalkTask::EnterDirs(pending)),
                Err((path, source)) => {
                    let depth = within.node.depth as usize;
                    let error = WalkError::new(path, depth, Operation::ReopenDirectory, source);
                    self.report(error, Some(&within.node.kept), scratch);
                    drop(pending);
                }
            },
        }
        self.release(within, scratch);
    }

    /// Opens a closed directory again, from its root down, and makes sure that it is still the same
    /// directory. Returns `Ok(None)` if the task has to be put off.
    fn open_again<D>(
        &self,
        node: &DirNode<D>,
        identity: Option<FileIdentity>,
    ) -> Result<Option<Dir>, (PathBuf, io::Error)> {
        let failed = |source| (node.path(&self.roots), source);
        let opened = |result| self.descriptors.step_or_put_off(result).map_err(failed);
        let chain: Vec<&DirNode<D>> = node.chain().collect();
        let root = &self.roots[node.root as usize];
        let follow_root = self.symlinks != Symlinks::Never;
        let Some(mut dir) = opened(Dir::open_root(root, follow_root))? else { return Ok(None) };
        for below in chain.iter().rev() {
            if let Some(name) = &below.name {
                let Some(next) = opened(dir.open_child(name, below.followed))? else {
                    return Ok(None);
                };
                dir = next;
            }
        }
        if dir.identity().map_err(failed)? == identity {
            Ok(Some(dir))
        } else {
            Err(failed(Refusal::Replaced.into_io_error()))
        }
    }

    /// Enters the directory `child` of `parent`, or gives it back if no descriptor is free.
    fn enter_child<V: Visitor>(
        &self,
        parent: &Arc<DirNode<V::Dir>>,
        parent_dir: &Dir,
        child: ChildDir,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) -> Result<(), NoDescriptor> {
        // At the maximum depth the directory is visited but not read, so it does not have to be
        // opened.
        let opened = if parent.depth + 1 < self.max_depth {
            let result = parent_dir.open_child(&child.name, child.follow);
            match self.descriptors.opened_or_put_off(result) {
                Ok(None) => return Err(NoDescriptor(child)),
                opened => opened,
            }
        } else {
            Ok(None)
        };
        self.enter_opened(parent, parent_dir, (child, opened), scratch, queue);
        Ok(())
    }

    /// Enters a directory. `opened` is `Ok(None)` if the directory is not to be read.
    fn enter_opened<V: Visitor>(
        &self,
        parent: &Arc<DirNode<V::Dir>>,
        parent_dir: &Dir,
        child: (ChildDir, io::Result<Option<Dir>>),
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        // The visitor, which is in the scratch as well, may ask for the path.
        let paths = RefCell::new(scratch.paths.take());
        let shown = self.show_opened(parent, parent_dir, child, &paths, scratch);
        scratch.paths = paths;
        let Some((node, opened)) = shown else { return };
        match opened {
            Ok(None) => self.leave(Arc::new(node), scratch),
            Err(source) => {
                let (path, depth) = (node.path(&self.roots), node.depth as usize);
                let error = WalkError::new(path, depth, Operation::OpenDirectory, source);
                self.report(error, Some(&node.kept), scratch);
                self.leave(Arc::new(node), scratch);
            }
            Ok(Some(dir)) => {
                let elsewhere = node.disk != parent.disk;
                let open = Arc::new(DirAccess::new(Arc::new(node), DirHandle::Open(dir)));
                if elsewhere {
                    queue.spawn(WalkTask::ReadFirst(open));
                } else {
                    self.read(open, false, scratch, queue);
                }
            }
        }
    }

    /// Shows a directory to the visitor. Returns it if the walk enters it.
    fn show_opened<V: Visitor>(
        &self,
        parent: &Arc<DirNode<V::Dir>>,
        parent_dir: &Dir,
        (child, opened): (ChildDir, io::Result<Option<Dir>>),
        paths: &RefCell<PathCache<V::Dir>>,
        scratch: &mut WalkScratch<V>,
    ) -> Option<ShownDir<V::Dir>> {
        let ChildDir { name: boxed_name, follow } = child;
        let name = &*boxed_name;
        let depth = parent.depth + 1;
        let path_of = || paths.borrow_mut().path_of(parent, &self.roots).whole.to_path_buf();
        let within = ParentPath::new(&path_of);
        let fail = |operation, source| {
            WalkError::new(within.path().join(os_str(name)), depth as usize, operation, source)
        };
        let metadata = match &opened {
            _ if !(self.metadata || self.identify) => Ok(None),
            Ok(Some(dir)) => dir.metadata().map(Some),
            Ok(None) | Err(_) => parent_dir.metadata_of(name, follow).map(Some),
        };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(source) => {
                // The error of opening it says more.
                let error = match opened {
                    Err(source) => fail(Operation::OpenDirectory, source),
                    Ok(_) => fail(Operation::ReadMetadata, source),
                };
                self.report(error, Some(&parent.kept), scratch);
                return None;
            }
        };
        let still_directory = match (&opened, &metadata) {
            (_, Some(metadata)) => metadata.kind.is_dir(),
            (Err(error), None) => error.kind() == io::ErrorKind::PermissionDenied,
            (Ok(_), None) => true,
        };
        if !still_directory {
            let source = opened.err().unwrap_or_else(|| Refusal::Replaced.into_io_error());
            let error = fail(Operation::OpenDirectory, source);
            self.report(error, Some(&parent.kept), scratch);
            return None;
        }
        if self.leaves_file_system(parent, metadata.as_ref()) {
            scratch.counts.so_far.excluded += 1;
            return None;
        }
        let identity = metadata.as_ref().and_then(Metadata::identity);
        let is_loop = || identity.is_some() && parent.chain().any(|node| node.identity == identity);
        if follow && !self.show_loops && is_loop() {
            let error = fail(Operation::FollowLink, Refusal::Loop.into_io_error());
            self.report(error, Some(&parent.kept), scratch);
            return None;
        }
        let entry = Entry {
            name: os_str(name),
            kind: FileKind::Directory,
            depth: depth as usize,
            root: parent.root as usize,
            metadata: metadata.as_ref().filter(|_| self.metadata),
            within: Some(&within),
            followed: follow,
        };
        // One more call, but only where a file system begins.
        if is_on_another_device(parent, metadata.as_ref())
            && matches!(&opened, Ok(Some(dir)) if dir.is_pseudo_file_system())
            && !scratch.visitor.pseudo_file_system(&entry, Some(&parent.kept))
        {
            return None;
        }
        let kept = self.ask_to_enter(&entry, Some(&parent.kept), scratch)?;
        let mut rule_errors = Vec::new();
        let rules = match &opened {
            Ok(Some(dir)) if self.filter.is_active() => {
                let path = || within.path().join(os_str(name));
                self.filter.rules_in(&parent.rules, &path, dir, &mut rule_errors)
            }
            _ => parent.rules.clone(),
        };
        let number = metadata.as_ref().map(|metadata| metadata.device);
        let node = DirNode {
            parent: ParentLink::new(Some(Arc::clone(parent))),
            name: Some(boxed_name),
            depth,
            root: parent.root,
            followed: follow,
            identity,
            disk: self.disks.disk_below(parent.disk, parent.identity, number),
            rules,
            kept,
        };
        self.report_rules(rule_errors, &node, scratch);
        Some((node, opened))
    }

    /// Returns `true` if something in `parent` is on another file system and the walk stays on the
    /// one of its root.
    #[inline(always)]
    fn leaves_file_system<D>(&self, parent: &DirNode<D>, metadata: Option<&Metadata>) -> bool {
        self.same_file_system && is_on_another_device(parent, metadata)
    }

    /// Shows a directory to the visitor. Returns the value to keep for it if the walk enters it.
    fn ask_to_enter<V: Visitor>(
        &self,
        entry: &Entry<'_>,
        parent: Option<&V::Dir>,
        scratch: &mut WalkScratch<V>,
    ) -> Option<V::Dir> {
        match scratch.visitor.enter_dir(entry, parent) {
            Enter::Into(kept) => {
                let counts = &mut scratch.counts.so_far;
                counts.directories += 1;
                if let Some(metadata) = entry.metadata {
                    counts.bytes += metadata.len;
                    counts.allocated += metadata.allocated;
                }
                Some(kept)
            }
            Enter::Skip => None,
            Enter::Quit => {
                self.stop.cancel();
                None
            }
        }
    }

    fn report<V: Visitor>(
        &self,
        error: WalkError,
        parent: Option<&V::Dir>,
        scratch: &mut WalkScratch<V>,
    ) {
        scratch.counts.so_far.errors += 1;
        if scratch.visitor.error(error, parent) == Flow::Quit {
            self.stop.cancel();
        }
    }

    fn report_rules<V: Visitor>(
        &self,
        errors: Vec<(PathBuf, io::Error)>,
        node: &DirNode<V::Dir>,
        scratch: &mut WalkScratch<V>,
    ) {
        if errors.is_empty() {
            return;
        }
        for (path, source) in errors {
            let depth = node.depth as usize + 1;
            let error = WalkError::new(path, depth, Operation::ReadIgnoreFile, source);
            self.report(error, Some(&node.kept), scratch);
        }
    }

    /// Releases a hold on a directory. The last holder closes it.
    fn release<V: Visitor>(&self, open: Arc<DirAccess<V::Dir>>, scratch: &mut WalkScratch<V>) {
        let Some(open) = Arc::into_inner(open) else { return };
        if open.is_kept_open() {
            self.descriptors.release();
        }
        drop(open.handle);
        self.leave(open.node, scratch);
    }

    /// Releases a hold on a closed directory. The last holder leaves it, and does the same with its
    /// parent.
    fn leave<V: Visitor>(&self, node: Arc<DirNode<V::Dir>>, scratch: &mut WalkScratch<V>) {
        let mut next = Some(node);
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            // After a stop, workers release directories that they have not finished, so the last
            // holder must not leave them. The check comes after taking the last hold: a worker that
            // released its hold because of the stop did so after the stop, so the last holder sees
            // the stop.
            if self.stop.is_cancelled() {
                return;
            }
            scratch.visitor.leave_dir(node.kept, node.parent.kept());
            next = node.parent.take();
        }
    }
}

/// Returns `true` if something in `parent` is on another file system, as far as the walk knows.
#[inline(always)]
fn is_on_another_device<D>(parent: &DirNode<D>, metadata: Option<&Metadata>) -> bool {
    let both = parent.identity.zip(metadata);
    both.is_some_and(|(parent, metadata)| parent.device != metadata.device)
}
