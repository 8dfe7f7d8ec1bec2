//! The temporary files of this process, so that a handler which ends the process can remove them.
//!
//! Invariant: a temporary file is in the list from before it exists until after it was renamed or
//! removed, because both happen under the lock of the list.

use super::directory::OutputDirectory;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static UNFINISHED: Mutex<Vec<TemporaryFile>> = Mutex::new(Vec::new());

/// The name of a temporary file, relative to its open directory.
#[derive(Clone, Debug)]
pub(super) struct TemporaryFile {
    directory: Arc<OutputDirectory>,
    name: OsString,
}

fn list() -> MutexGuard<'static, Vec<TemporaryFile>> {
    // Each change of the list is one call, so the list is valid even after a panic.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TemporaryFile {
    /// Creates a new file.
    ///
    /// # Errors
    /// The name exists, or the file cannot be created.
    pub(super) fn create(
        directory: &Arc<OutputDirectory>,
        name: OsString,
        mode: u32,
    ) -> io::Result<(File, Self)> {
        let mut list = list();
        let file = directory.create_new(&name, mode)?;
        let created = Self { directory: Arc::clone(directory), name };
        list.push(created.clone());
        Ok((file, created))
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Renames the file, which replaces `target`.
    ///
    /// # Errors
    /// The file cannot be renamed. It is still in the list then.
    pub(super) fn rename(&self, target: &OsStr) -> io::Result<()> {
        let mut list = list();
        self.directory.rename(&self.name, target)?;
        self.forget(&mut list);
        Ok(())
    }

    /// Removes the file.
    pub(super) fn remove(&self) {
        let mut list = list();
        // There is nothing left to try if this fails.
        let _ = self.directory.remove(&self.name);
        self.forget(&mut list);
    }

    fn forget(&self, list: &mut Vec<Self>) {
        list.retain(|other| {
            !(Arc::ptr_eq(&other.directory, &self.directory) && other.name == self.name)
        });
    }
}

/// No output file can be created or completed while this value exists. See
/// [`remove_unfinished_files`].
#[derive(Debug)]
#[must_use = "files can be created again as soon as it is dropped"]
pub struct NoUnfinishedFiles {
    _list: MutexGuard<'static, Vec<TemporaryFile>>,
}

/// Removes the temporary files of every [`AtomicFile`](crate::AtomicFile) of this process. For the
/// thread that ends the process because of a signal: a caller that keeps the returned value until
/// then leaves no temporary file behind, whatever the other threads do.
pub fn remove_unfinished_files() -> NoUnfinishedFiles {
    let mut list = list();
    for file in list.drain(..) {
        let _ = file.directory.remove(&file.name);
    }
    NoUnfinishedFiles { _list: list }
}
