//! The engine of a walk: what its tasks do. It knows nothing of threads; whoever runs the tasks gives it a worker's
//! state and a way to spawn more.
//!
//! - A directory whose entries have been read is pending as [`Pending`]: up to [`NAMES_PER_TASK`] names of
//!   directories in it. A worker takes one name, gives the rest back to its queue, where others can steal it, and
//!   enters that one directory: so the walk is depth-first on each worker and few directories are open, but anything
//!   pending can be stolen.
//! - A directory that does not fit into one block of entries is read on by [`WalkTask::More`]: whoever has fetched a
//!   block first spawns that, then visits its block. So one huge directory is visited by all workers, though only one
//!   at a time is in the system call that lists it.
//!
//! - A task that finds no descriptor free for what it opens is put off: it goes to the back of the queue with what is
//!   still to be opened, and other tasks run first. See [`descriptors`].
//!
//! Invariants: no task sleeps or waits (a call of the system may); each directory that is entered is left once, by
//! the worker that finishes the last thing below it, unless the walk was stopped. See [`node`].

mod descriptors;
#[cfg(all(test, target_os = "linux", not(heist_portable)))]
mod fault_tests;
mod files;
mod node;
mod read;
mod roots;

pub(crate) use descriptors::{Descriptors, RESERVE};
pub use files::{BatchedFile, FileBatch};
pub(crate) use files::{FILES_PER_TASK, PendingFiles, VisitorsTask};
pub(crate) use node::{DirNode, Handle, OpenDir, Parent};

use crate::Symlinks;
use crate::counters::WorkerCounts;
use crate::entry::{Entry, Surroundings};
use crate::error::{Operation, Refusal, WalkError};
use crate::filter::Filter;
use crate::metadata::{FileIdentity, FileKind, Metadata};
use crate::sys::{Dir, Name, Names, ReadBuffer, os_str};
use crate::visitor::{Enter, Flow, Visitor};
use heist::{CancelToken, CountBudget};
use heist_device::DeviceId;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Enough that a task's own cost is lost in that of opening its directories, and few enough that there is something
/// left to steal.
pub(crate) const NAMES_PER_TASK: usize = 32;

/// A piece of a walk.
#[derive(Debug)]
pub(crate) enum WalkTask<D> {
    /// Start at a root.
    Root(usize),
    /// Take a root that is a file and that the visitor wants later: it was put off.
    RootFile(usize, DeviceId),
    /// Enter directories.
    Pending(Box<Pending<D>>),
    /// Read the next block of a directory.
    More(Arc<OpenDir<D>>),
    /// Read a directory from its beginning: it is on another disk than the one that it was found on.
    Arrived(Arc<OpenDir<D>>),
    /// Files that the visitor wants later.
    Files(Box<PendingFiles<D>>),
    /// Whatever the visitor likes.
    Visitors(Box<VisitorsTask>),
}

/// Directories in one directory, to be entered.
#[derive(Debug)]
pub(crate) struct Pending<D> {
    pub(crate) within: Arc<OpenDir<D>>,
    pub(crate) names: Names,
}

impl<D> WalkTask<D> {
    /// Enters one directory.
    pub(crate) fn enter_one(within: Arc<OpenDir<D>>, name: &Name, follow: bool) -> Self {
        let mut names = Names::default();
        names.push(name, follow);
        Self::Pending(Box::new(Pending { within, names }))
    }

    /// The disk that it is on; `None` for a root, which nobody has looked at yet.
    pub(crate) fn disk(&self) -> Option<DeviceId> {
        match self {
            Self::Root(_) => None,
            Self::RootFile(_, disk) => Some(*disk),
            Self::Pending(pending) => Some(pending.within.node.disk),
            Self::More(open) | Self::Arrived(open) => Some(open.node.disk),
            Self::Files(pending) => Some(pending.within.node.disk),
            Self::Visitors(task) => Some(task.disk),
        }
    }

    /// What it is called in a trace.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Root(_) | Self::RootFile(..) => "root",
            Self::Pending(_) => "directory",
            Self::More(_) => "more of a directory",
            Self::Arrived(_) => "directory on another disk",
            Self::Files(_) => "files",
            Self::Visitors(_) => "task of the visitor",
        }
    }
}

/// Where an engine's tasks go.
pub(crate) trait Spawn<D> {
    /// To this worker's queue.
    fn spawn(&mut self, task: WalkTask<D>);

    /// For a task that was refused a descriptor: to be tried again after whatever else there is to do.
    fn put_off(&mut self, task: WalkTask<D>);
}

/// A directory to be entered.
struct Child {
    name: Box<Name>,
    /// Whether the name is that of a symbolic link.
    follow: bool,
}

/// There was no descriptor for it: to be put off.
struct Refused(Child);

/// What a worker has of its own.
#[derive(Debug)]
pub(crate) struct Hands<V> {
    pub(crate) visitor: V,
    pub(crate) buffer: ReadBuffer,
    /// Directories in the one that is being read. Empty in between, and here only to be used again.
    pub(crate) names: Names,
    /// Files in it that the visitor wants later, likewise.
    pub(crate) files: Names,
    pub(crate) counts: WorkerCounts,
}

impl<V> Hands<V> {
    pub(crate) fn new(visitor: V, counts: WorkerCounts) -> Self {
        let (names, files) = (Names::default(), Names::default());
        Self { visitor, buffer: ReadBuffer::new(), names, files, counts }
    }
}

/// What a walk is asked to do, and what all workers share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) filter: Filter,
    pub(crate) symlinks: Symlinks,
    pub(crate) max_depth: u32,
    pub(crate) same_file_system: bool,
    /// Whether the visitor wants metadata.
    pub(crate) metadata: bool,
    /// Whether the walk itself wants to know which directory is which.
    pub(crate) identify: bool,
    /// Whether the visitor is shown links that lead back to a directory that they are in, and does not enter them.
    pub(crate) show_loops: bool,
    pub(crate) descriptors: Descriptors,
    pub(crate) disks: crate::disks::Disks,
    /// How many files may wait for a visitor that wants them later.
    pub(crate) waiting_files: CountBudget,
    pub(crate) stop: CancelToken,
}

impl Engine {
    /// Does one task.
    pub(crate) fn run<V: Visitor>(
        &self,
        task: WalkTask<V::Dir>,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        match task {
            WalkTask::Root(root) => self.start_root(root, hands, queue),
            WalkTask::RootFile(root, disk) => self.take_root_file(root, disk, hands, queue),
            WalkTask::Pending(pending) => self.enter_pending(pending, hands, queue),
            WalkTask::More(open) => self.read(open, true, hands, queue),
            WalkTask::Arrived(open) => self.read(open, false, hands, queue),
            WalkTask::Files(pending) => self.take_pending_files(*pending, hands, queue),
            WalkTask::Visitors(task) => {
                let disk = task.disk;
                hands.visitor.task(task.task, &mut |task| {
                    queue.spawn(WalkTask::Visitors(Box::new(VisitorsTask { disk, task })));
                });
            }
        }
        hands.counts.show();
    }

    /// Enters one directory, and leaves the others in the queue.
    fn enter_pending<V: Visitor>(
        &self,
        mut pending: Box<Pending<V::Dir>>,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let within = Arc::clone(&pending.within);
        match &within.handle {
            Handle::Open(dir) => {
                if let Some((name, follow)) = pending.names.next() {
                    // It is needed after the rest has gone to the queue.
                    let name = name.into();
                    if pending.names.is_empty() {
                        drop(pending);
                    } else {
                        queue.spawn(WalkTask::Pending(pending));
                    }
                    let child = Child { name, follow };
                    let refused = self.enter_child(&within.node, dir, child, hands, queue);
                    if let Err(Refused(Child { name, follow })) = refused {
                        queue.put_off(WalkTask::enter_one(Arc::clone(&within), &name, follow));
                    }
                }
            }
            // Opening it again is dear: one time for all of its names.
            Handle::Closed(identity) => match self.open_again(&within.node, *identity) {
                Ok(Some(dir)) => {
                    let mut refused = false;
                    while let Some((name, follow)) = pending.names.next() {
                        if self.stop.is_cancelled() {
                            return;
                        }
                        let child = Child { name: name.into(), follow };
                        if self.enter_child(&within.node, &dir, child, hands, queue).is_err() {
                            pending.names.put_back();
                            refused = true;
                            break;
                        }
                    }
                    if refused {
                        queue.put_off(WalkTask::Pending(pending));
                    } else {
                        drop(pending);
                    }
                }
                Ok(None) => queue.put_off(WalkTask::Pending(pending)),
                Err((path, source)) => {
                    let depth = within.node.depth as usize;
                    let error = WalkError::new(&path, depth, Operation::ReopenDirectory, source);
                    self.report(error, Some(&within.node.kept), hands);
                    drop(pending);
                }
            },
        }
        self.let_go(within, hands);
    }

    /// Opens a directory that was closed, from its root down, and makes sure that it is the same. `Ok(None)` if it has
    /// to be put off.
    fn open_again<D>(
        &self,
        node: &DirNode<D>,
        identity: Option<FileIdentity>,
    ) -> Result<Option<Dir>, (PathBuf, io::Error)> {
        let failed = |source| (node.path(&self.roots), source);
        let opened = |result| self.descriptors.step_or_later(result).map_err(failed);
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

    /// Enters the directory `child` of `parent`, or gives it back if there is no descriptor for it.
    fn enter_child<V: Visitor>(
        &self,
        parent: &Arc<DirNode<V::Dir>>,
        parent_dir: &Dir,
        child: Child,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) -> Result<(), Refused> {
        // A directory that is not to be read need not be opened.
        let opened = if parent.depth + 1 < self.max_depth {
            let result = parent_dir.open_child(&child.name, child.follow);
            match self.descriptors.opened_or_later(result) {
                Ok(None) => return Err(Refused(child)),
                opened => opened,
            }
        } else {
            Ok(None)
        };
        self.enter_opened(parent, parent_dir, (child, opened), hands, queue);
        Ok(())
    }

    /// Enters a directory that was opened, or could not be, or need not be because it is not to be read.
    fn enter_opened<V: Visitor>(
        &self,
        parent: &Arc<DirNode<V::Dir>>,
        parent_dir: &Dir,
        (child, opened): (Child, io::Result<Option<Dir>>),
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let Child { name: boxed_name, follow } = child;
        let name = &*boxed_name;
        let depth = parent.depth + 1;
        let path_of = || parent.path(&self.roots);
        let within = Surroundings::new(&path_of);
        let fail = |operation, source| {
            WalkError::new(&within.path().join(os_str(name)), depth as usize, operation, source)
        };
        let metadata = match &opened {
            _ if !(self.metadata || self.identify) => Ok(None),
            Ok(Some(dir)) => dir.metadata().map(Some),
            Ok(None) | Err(_) => parent_dir.metadata_of(name, follow).map(Some),
        };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(source) => {
                // If it could not be opened either, that says more.
                let error = match opened {
                    Err(source) => fail(Operation::OpenDirectory, source),
                    Ok(_) => fail(Operation::ReadMetadata, source),
                };
                return self.report(error, Some(&parent.kept), hands);
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
            return self.report(error, Some(&parent.kept), hands);
        }
        if self.leaves_file_system(parent, metadata.as_ref()) {
            hands.counts.so_far.excluded += 1;
            return;
        }
        let identity = metadata.as_ref().and_then(Metadata::identity);
        let is_loop = || identity.is_some() && parent.chain().any(|node| node.identity == identity);
        if follow && !self.show_loops && is_loop() {
            let error = fail(Operation::FollowLink, Refusal::Loop.into_io_error());
            return self.report(error, Some(&parent.kept), hands);
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
        let Some(kept) = self.ask_to_enter(&entry, Some(&parent.kept), hands) else { return };
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
            parent: Parent::new(Some(Arc::clone(parent))),
            name: Some(boxed_name),
            depth,
            root: parent.root,
            followed: follow,
            identity,
            disk: self.disks.disk_below(parent.disk, parent.identity, number),
            rules,
            kept,
        };
        self.report_rules(rule_errors, &node, hands);
        match opened {
            Ok(None) => self.leave(Arc::new(node), hands),
            Err(source) => {
                let path = node.path(&self.roots);
                let error = WalkError::new(&path, depth as usize, Operation::OpenDirectory, source);
                self.report(error, Some(&node.kept), hands);
                self.leave(Arc::new(node), hands);
            }
            Ok(Some(dir)) => {
                let elsewhere = node.disk != parent.disk;
                let open = Arc::new(OpenDir::new(Arc::new(node), Handle::Open(dir)));
                if elsewhere {
                    queue.spawn(WalkTask::Arrived(open));
                } else {
                    self.read(open, false, hands, queue);
                }
            }
        }
    }

    /// Whether something in `parent` is on another file system, and the walk stays on that of its root.
    #[inline(always)]
    fn leaves_file_system<D>(&self, parent: &DirNode<D>, metadata: Option<&Metadata>) -> bool {
        self.same_file_system
            && parent
                .identity
                .zip(metadata)
                .is_some_and(|(parent, metadata)| parent.device != metadata.device)
    }

    /// Shows a directory to the visitor: what it keeps for it, if the walk goes in.
    fn ask_to_enter<V: Visitor>(
        &self,
        entry: &Entry<'_>,
        parent: Option<&V::Dir>,
        hands: &mut Hands<V>,
    ) -> Option<V::Dir> {
        match hands.visitor.enter_dir(entry, parent) {
            Enter::Into(kept) => {
                let counts = &mut hands.counts.so_far;
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

    fn report<V: Visitor>(&self, error: WalkError, parent: Option<&V::Dir>, hands: &mut Hands<V>) {
        hands.counts.so_far.errors += 1;
        if hands.visitor.error(error, parent) == Flow::Quit {
            self.stop.cancel();
        }
    }

    fn report_rules<V: Visitor>(
        &self,
        errors: Vec<(PathBuf, io::Error)>,
        node: &DirNode<V::Dir>,
        hands: &mut Hands<V>,
    ) {
        if errors.is_empty() {
            return;
        }
        for (path, source) in errors {
            let depth = node.depth as usize + 1;
            let error = WalkError::new(&path, depth, Operation::ReadIgnoreFile, source);
            self.report(error, Some(&node.kept), hands);
        }
    }

    /// Lets go of a directory. Whoever is last closes it.
    fn let_go<V: Visitor>(&self, open: Arc<OpenDir<V::Dir>>, hands: &mut Hands<V>) {
        let Some(open) = Arc::into_inner(open) else { return };
        if open.is_kept_open() {
            self.descriptors.let_go();
        }
        drop(open.handle);
        self.leave(open.node, hands);
    }

    /// Lets go of a directory that is closed. Whoever is last leaves it, and then perhaps those that it is in.
    fn leave<V: Visitor>(&self, node: Arc<DirNode<V::Dir>>, hands: &mut Hands<V>) {
        let mut next = Some(node);
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            // What a stopped walk did not finish is not left: others drop what they hold, and then who is last has not
            // seen everything. Asked of each directory, and only once this is the last hold on it: whoever let go of it
            // because the walk was stopped did so after the stop.
            if self.stop.is_cancelled() {
                return;
            }
            hands.visitor.leave_dir(node.kept, node.parent.kept());
            next = node.parent.take();
        }
    }
}
