//! [`Visitor`], the trait whose methods a walk calls, and what these methods answer.

use crate::engine::FileBatch;
use crate::entry::Entry;
use crate::error::WalkError;

/// What a walk does after an entry or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// Continue with the next entry.
    Continue,
    /// Do not descend into this entry. For files and errors this is the same as `Continue`.
    Skip,
    /// Stop the walk. It ends as soon as every worker has noticed.
    Quit,
    /// Continue, and pass this file to [`Visitor::files`] later.
    ///
    /// Any worker may receive it, in a batch with other files of the same directory. For errors
    /// this is the same as `Continue`.
    Later,
}

/// What a walk does with a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enter<D> {
    /// Enter it.
    ///
    /// The walk keeps the value until everything below the directory is done, passes it to the
    /// visitor with each entry of the directory, and finally moves it into [`Visitor::leave_dir`].
    Into(D),
    /// Do not enter it. The walk does not call [`Visitor::leave_dir`] for it either.
    Skip,
    /// Stop the walk. It ends as soon as every worker has noticed.
    Quit,
}

/// Receives the entries of a walk.
///
/// Only [`enter_dir`](Self::enter_dir), [`file`](Self::file) and [`error`](Self::error) are
/// required. A visitor that neither keeps values for directories nor spawns tasks sets
/// `type Dir = ()` and `type Task = Infallible`.
///
/// # Threads
///
/// Each worker thread of a walk has a visitor of its own. The closure passed to
/// [`Walk::run`](crate::Walk::run) creates it on that thread, and the walk calls it on that thread
/// only, one call at a time. So a visitor needs no locks for its own fields. When the walk ends,
/// [`WalkReport::visitors`](crate::WalkReport::visitors) returns all visitors to the caller. A
/// visitor may have seen no entry, if its thread started when little was left to do.
///
/// # Order
///
/// - `enter_dir` returns before the walk calls anything for what is inside the directory.
/// - `leave_dir` comes after all other calls for what is below the directory, including
///   [`files`](Self::files), but not including [`task`](Self::task).
/// - The calls for one directory may come on several workers. The entries of a large directory may
///   even come on several workers at the same time.
/// - Otherwise there is no order.
///
/// # What a visitor may do
///
/// - **Wait**, for example in a read or on a full channel. Meanwhile its worker and the worker's
///   device slot are busy, and the rest of the walk continues. A visitor must not wait for a later
///   call of its own walk: the call may be queued behind it.
/// - **Spawn follow-up tasks**: in `files` with [`FileBatch::spawn`], and in `task` with its
///   `spawn` argument. The walk ends only after they have run. (`file` and `enter_dir` cannot
///   spawn; `file` passes a file on to `files` with [`Flow::Later`].) A visitor may start threads
///   as well, but the walk does not wait for them.
/// - **Stop the walk** with [`Flow::Quit`] or [`Enter::Quit`], or by cancelling the token passed to
///   [`Walk::cancel`](crate::Walk::cancel). Other workers may make a few more calls before they
///   notice. A stopped walk drops queued files and tasks, and does not call `leave_dir` for
///   directories that it did not finish.
/// - **Panic.** The first panic stops the walk, and [`Walk::run`](crate::Walk::run) rethrows it in
///   the caller. The other visitors are lost.
/// - **Change the tree.** The walk may or may not see the changes, but it never leaves its roots.
pub trait Visitor: Send + 'static {
    /// The value that the visitor keeps for each entered directory, or `()`.
    ///
    /// Several workers may read it at the same time, so anything they change in it needs an atomic
    /// or a lock.
    type Dir: Send + Sync + 'static;

    /// A follow-up task, which [`FileBatch::spawn`] queues and [`task`](Self::task) runs.
    ///
    /// Visitors without tasks use [`Infallible`](std::convert::Infallible): no value of that type
    /// exists, so nothing can be spawned.
    type Task: Send + 'static;

    /// Set it to `true` if the visitor reads files or computes for more than a few microseconds per
    /// call.
    ///
    /// If it is `false`, the walk concludes from a moment without progress that its threads wait
    /// for the disk, and lets [extra threads](crate::Walk::threads) join in.
    const READS_FILES: bool = false;

    /// Visits a directory and decides whether the walk enters it.
    ///
    /// `parent` is the value kept for the directory that contains it, or `None` for a root.
    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&Self::Dir>) -> Enter<Self::Dir>;

    /// Decides whether the walk visits a directory where a pseudo file system begins, such as
    /// `/proc` or `/sys`. What is in these is not stored anywhere: the kernel makes it up when it
    /// is read, much of it cannot be read, and reading some of it changes something.
    ///
    /// The walk visits a root whatever the answer is; for roots, the call is for information.
    fn pseudo_file_system(&mut self, dir: &Entry<'_>, parent: Option<&Self::Dir>) -> bool {
        let _ = (dir, parent);
        true
    }

    /// Visits an entry that is not a directory.
    ///
    /// `parent` is the value kept for the directory that contains it, or `None` for a root.
    fn file(&mut self, file: &Entry<'_>, parent: Option<&Self::Dir>) -> Flow;

    /// Receives files of one directory for which [`file`](Self::file) of any worker answered
    /// [`Flow::Later`].
    ///
    /// The walk leaves the directory only after this call. Files that the visitor does not take out
    /// of the batch are not offered again.
    fn files(&mut self, files: &mut FileBatch<'_, Self::Dir, Self::Task>) {
        let _ = files;
    }

    /// Runs a task that this or another worker's visitor [spawned](FileBatch::spawn).
    ///
    /// `spawn` queues another task for the same disk. The walk may already have left the directory
    /// that the task came from.
    fn task(&mut self, task: Self::Task, spawn: &mut dyn FnMut(Self::Task)) {
        let _ = (task, spawn);
    }

    /// Leaves a directory that was entered: everything below it is done.
    ///
    /// The walk calls it once per entered directory, on the worker that finished last. A walk that
    /// was stopped does not call it for directories that it did not finish.
    fn leave_dir(&mut self, dir: Self::Dir, parent: Option<&Self::Dir>) {
        let _ = (dir, parent);
    }

    /// Called when the worker has run out of work and is about to sleep.
    ///
    /// It may take long until the next call, so a visitor that collects data for others should pass
    /// it on now. A worker may sleep and wake many times in a walk.
    fn before_sleep(&mut self) {}

    /// Receives an error about something that could not be visited, or only in part.
    ///
    /// `parent` is the value kept for the directory that contains it. If a directory was entered
    /// but could not be read, it is the value of that directory itself.
    fn error(&mut self, error: WalkError, parent: Option<&Self::Dir>) -> Flow;
}
