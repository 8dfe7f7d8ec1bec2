//! The implementation for systems other than Linux: `std::fs` with joined paths.
//!
//! Not guaranteed, unlike on Linux: if a directory is renamed during the walk, the walk loses it;
//! if a link replaces a directory, the walk may follow it; and a path that is too long for the
//! system is an error.

use crate::metadata::{FileIdentity, FileKind, Metadata};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, File, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The name of an entry.
pub(crate) type Name = OsStr;

/// Returns the name as the standard library represents it.
pub(crate) fn os_str(name: &Name) -> &OsStr {
    name
}

/// Returns the name in this layer's representation.
#[expect(clippy::unnecessary_wraps, reason = "the Linux layer's signature")]
pub(crate) fn boxed_name(name: &OsStr) -> Option<Box<Name>> {
    Some(name.into())
}

/// Empty, because `std` has buffers of its own.
#[derive(Debug)]
pub(crate) struct ReadBuffer;

impl ReadBuffer {
    pub(crate) fn new() -> Self {
        Self
    }
}

/// After this many entries another worker may continue.
const ENTRIES_PER_BLOCK: usize = 512;

/// A directory and its unread entries.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
    unread: Mutex<ReadDir>,
}

impl Dir {
    /// Returns `true` if this directory is in a file system that the kernel makes up. Not known
    /// here.
    pub(crate) fn is_pseudo_file_system(&self) -> bool {
        false
    }

    /// Opens a root.
    pub(crate) fn open_root(path: &Path, follow: bool) -> io::Result<Self> {
        if !follow && path.symlink_metadata()?.is_symlink() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_path_buf(), unread: Mutex::new(path.read_dir()?) })
    }

    /// Opens a directory in this one.
    pub(crate) fn open_child(&self, name: &Name, follow: bool) -> io::Result<Self> {
        Self::open_root(&self.path.join(name), follow)
    }

    /// Returns the metadata of this directory.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        metadata_of_root(&self.path, true)
    }

    /// Returns the identity of this directory.
    pub(crate) fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(self.metadata()?.identity())
    }

    /// Returns the metadata of an entry in this directory.
    pub(crate) fn metadata_of(&self, name: &Name, follow: bool) -> io::Result<Metadata> {
        metadata_of_root(&self.path.join(name), follow)
    }

    /// Reads a small file in this directory. Returns `None` if it does not exist or is not a
    /// regular file.
    pub(crate) fn read_file(&self, name: &Name) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => std::fs::read(path).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a file in this directory for reading.
    pub(crate) fn open_file(&self, name: &Name, follow: bool) -> io::Result<File> {
        open_root_file(&self.path.join(name), follow)
    }

    /// Lists the entries, starting where the last listing of this directory stopped.
    pub(crate) fn list<'a>(&'a self, _buffer: &'a mut ReadBuffer) -> RawEntries<'a> {
        RawEntries { dir: self, left_in_block: 0 }
    }
}

/// Opens a root that is a file for reading. It checks the kind first, because opening a named pipe
/// may block forever.
pub(crate) fn open_root_file(path: &Path, follow: bool) -> io::Result<File> {
    let metadata = if follow { path.metadata()? } else { path.symlink_metadata()? };
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file any more",
        ));
    }
    File::open(path)
}

/// Returns the metadata of `path`.
pub(crate) fn metadata_of_root(path: &Path, follow: bool) -> io::Result<Metadata> {
    let metadata = if follow { path.metadata()? } else { path.symlink_metadata()? };
    Ok(metadata_from(&metadata))
}

/// The entries of a directory.
pub(crate) struct RawEntries<'a> {
    dir: &'a Dir,
    left_in_block: usize,
}

/// An entry of a directory.
pub(crate) struct RawEntry {
    name: OsString,
    kind: Option<FileKind>,
}

impl RawEntry {
    fn new(entry: &DirEntry) -> Self {
        Self { name: entry.file_name(), kind: entry.file_type().ok().map(FileKind::from) }
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// Returns the kind, if the file system stores it beside the name.
    pub(crate) fn kind(&self) -> Option<FileKind> {
        self.kind
    }

    /// Returns `true` for `.` and `..`, which `std` leaves out.
    #[expect(clippy::unused_self, reason = "the Linux layer's signature")]
    pub(crate) fn is_dot(&self) -> bool {
        false
    }
}

impl RawEntries<'_> {
    /// Returns the next entry, or `None` at the end of the directory.
    pub(crate) fn next(&mut self) -> Option<io::Result<RawEntry>> {
        if self.left_in_block == 0 {
            self.left_in_block = ENTRIES_PER_BLOCK;
        }
        self.left_in_block -= 1;
        let mut unread = self.dir.unread.lock().unwrap_or_else(PoisonError::into_inner);
        Some(unread.next()?.map(|entry| RawEntry::new(&entry)))
    }

    /// Returns `true` if the next entry comes from the next block, which another worker may read.
    pub(crate) fn is_block_done(&self) -> bool {
        self.left_in_block == 0
    }
}

/// Names of directories or files that wait to be opened, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct NameQueue {
    names: VecDeque<(OsString, bool)>,
    last: (OsString, bool),
}

impl NameQueue {
    /// Adds a name at the end.
    pub(crate) fn push(&mut self, name: &Name, follow: bool) {
        self.names.push_back((name.to_os_string(), follow));
    }

    /// Takes the first name, and whether to follow it.
    pub(crate) fn next(&mut self) -> Option<(&Name, bool)> {
        self.last = self.names.pop_front()?;
        Some((&self.last.0, self.last.1))
    }

    /// Puts the name that was taken last back to the front. Call it at most once after
    /// [`Self::next`].
    pub(crate) fn put_back(&mut self) {
        self.names.push_front(std::mem::take(&mut self.last));
    }

    /// Takes all names out.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Removes all names.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Does nothing: `std` offers no limit to raise.
pub(crate) fn raise_descriptor_limit() {}

/// Returns what most systems allow at least, because `std` does not tell the real limit.
pub(crate) fn descriptors_available() -> usize {
    256 - 16
}

/// Returns `None`, because `std` does not tell.
pub(crate) fn time_computed() -> Option<std::time::Duration> {
    None
}

#[cfg(unix)]
fn metadata_from(metadata: &std::fs::Metadata) -> Metadata {
    use std::os::unix::fs::MetadataExt;
    Metadata {
        kind: metadata.file_type().into(),
        len: metadata.len(),
        allocated: metadata.blocks().saturating_mul(512),
        device: metadata.dev(),
        inode: metadata.ino(),
        links: metadata.nlink(),
        mode: metadata.mode(),
        modified: metadata.modified().ok(),
    }
}

#[cfg(not(unix))]
fn metadata_from(metadata: &std::fs::Metadata) -> Metadata {
    Metadata {
        kind: metadata.file_type().into(),
        len: metadata.len(),
        allocated: metadata.len(),
        device: 0,
        inode: 0,
        links: 1,
        mode: 0,
        modified: metadata.modified().ok(),
    }
}
