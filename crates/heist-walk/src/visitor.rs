//! [`Visitor`]: what a walk calls, on every worker its own.

use crate::engine::FileBatch;
use crate::entry::Entry;
use crate::error::WalkError;
use std::any::Any;

/// How a walk goes on after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// With the next one.
    Continue,
    /// Without what is below this one. (Below a file there is nothing: the same as `Continue`.)
    Skip,
    /// Not at all: the walk ends as soon as every worker has noticed.
    Quit,
    /// With the next one; this file comes back, with others of its directory, in [`Visitor::files`]: to be opened and
    /// read, on whichever worker has time. (Of something that went wrong: the same as `Continue`.)
    Later,
}

/// How a walk goes on at a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enter<D> {
    /// Into it. The value is kept for as long as anything below it is not done, shown with each of its entries, and
    /// given back to [`Visitor::leave_dir`].
    Into(D),
    /// Past it. It will not be left either.
    Skip,
    /// Not at all: the walk ends as soon as every worker has noticed.
    Quit,
}

/// Sees every entry of a walk. Each worker has a visitor of its own, so nothing in it needs a lock; at the end of the
/// walk all of them come back.
///
/// A directory is entered before anything in it is seen, and left when everything below it is done, on whatever
/// workers. Entries of one directory come in the order in which the file system has them, and those of a large one may
/// come on several workers at once.
pub trait Visitor: Send + 'static {
    /// What the visitor keeps for a directory; `()` if nothing.
    type Dir: Send + Sync + 'static;

    /// Whether the visitor reads files. A walk that does not move on then may be computing.
    const READS_FILES: bool = false;

    /// A directory. `parent` is what was kept for the one that it is in; a root has none.
    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&Self::Dir>) -> Enter<Self::Dir>;

    /// Anything else than a directory.
    fn file(&mut self, file: &Entry<'_>, parent: Option<&Self::Dir>) -> Flow;

    /// Files of one directory for which [`Visitor::file`] of whichever worker said [`Flow::Later`]. The directory is
    /// not left before. What is not taken out of the batch is forgotten.
    fn files(&mut self, files: &mut FileBatch<'_, Self::Dir>) {
        let _ = files;
    }

    /// A task that a visitor, this worker's or another one's, has [spawned](FileBatch::spawn). `spawn` spawns another
    /// one, on the same disk.
    fn task(&mut self, task: Box<dyn Any + Send>, spawn: &mut dyn FnMut(Box<dyn Any + Send>)) {
        let _ = (task, spawn);
    }

    /// Everything below a directory that was entered is done. Not called for what a walk that was cancelled, or that
    /// the visitor quit, had not finished.
    fn leave_dir(&mut self, dir: Self::Dir, parent: Option<&Self::Dir>) {
        let _ = (dir, parent);
    }

    /// The worker has nothing to do for now. Whatever its visitor has gathered for others can be handed on: it may be
    /// long until the next entry.
    fn before_sleep(&mut self) {}

    /// Something could not be visited, or not completely. `parent` is what was kept for the directory that it is in
    /// (for a directory that was entered but could not be read: that directory).
    fn error(&mut self, error: WalkError, parent: Option<&Self::Dir>) -> Flow;
}
