//! Every other system: `std::fs`, with joined paths.
//!
//! What the Linux layer has and this one has not: a directory that is renamed during the walk is lost, one that is
//! replaced by a link may be followed, and a path that is too long for the system is an error.

use crate::metadata::{FileIdentity, FileKind, Metadata};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, File, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What an entry is called.
pub(crate) type Name = OsStr;

/// The name, as the rest of the world wants it.
pub(crate) fn os_str(name: &Name) -> &OsStr {
    name
}

/// The name of an entry, if there can be one that is called so.
#[expect(clippy::unnecessary_wraps, reason = "the Linux layer's signature")]
pub(crate) fn boxed_name(name: &OsStr) -> Option<Box<Name>> {
    Some(name.into())
}

/// Nothing: `std` has buffers of its own.
#[derive(Debug)]
pub(crate) struct ReadBuffer;

impl ReadBuffer {
    pub(crate) fn new() -> Self {
        Self
    }
}

/// After this many entries another worker may go on.
const ENTRIES_PER_BLOCK: usize = 512;

/// A directory, and what of it is not read yet.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
    unread: Mutex<ReadDir>,
}

impl Dir {
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

    /// What this directory is.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        metadata_of_root(&self.path, true)
    }

    /// Which directory this is.
    pub(crate) fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(self.metadata()?.identity())
    }

    /// What an entry of this directory is.
    pub(crate) fn metadata_of(&self, name: &Name, follow: bool) -> io::Result<Metadata> {
        metadata_of_root(&self.path.join(name), follow)
    }

    /// A small file in this directory, whole; `None` if there is no such file, or it is not a regular one.
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

    /// The entries from where the last listing of this directory stopped.
    pub(crate) fn list<'a>(&'a self, _buffer: &'a mut ReadBuffer) -> Listing<'a> {
        Listing { dir: self, left_in_block: 0 }
    }
}

/// Opens a root that is a file for reading. Asked first what it is: whoever opens a pipe may wait for ever.
pub(crate) fn open_root_file(path: &Path, follow: bool) -> io::Result<File> {
    let metadata = if follow { path.metadata()? } else { path.symlink_metadata()? };
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no longer a regular file"));
    }
    File::open(path)
}

/// What `path` is.
pub(crate) fn metadata_of_root(path: &Path, follow: bool) -> io::Result<Metadata> {
    let metadata = if follow { path.metadata()? } else { path.symlink_metadata()? };
    Ok(metadata_from(&metadata))
}

/// The entries of a directory.
pub(crate) struct Listing<'a> {
    dir: &'a Dir,
    left_in_block: usize,
}

/// One of them.
pub(crate) struct Listed {
    name: OsString,
    kind: Option<FileKind>,
}

impl Listed {
    fn new(entry: &DirEntry) -> Self {
        Self { name: entry.file_name(), kind: entry.file_type().ok().map(FileKind::from) }
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// What it is, if the file system keeps that beside the name.
    pub(crate) fn kind(&self) -> Option<FileKind> {
        self.kind
    }

    /// Whether it is the directory itself, or its parent: `std` leaves these out.
    #[expect(clippy::unused_self, reason = "the Linux layer's signature")]
    pub(crate) fn is_dot(&self) -> bool {
        false
    }
}

impl Listing<'_> {
    /// The next entry. `None` at the end of the directory.
    pub(crate) fn next(&mut self) -> Option<io::Result<Listed>> {
        if self.left_in_block == 0 {
            self.left_in_block = ENTRIES_PER_BLOCK;
        }
        self.left_in_block -= 1;
        let mut unread = self.dir.unread.lock().unwrap_or_else(PoisonError::into_inner);
        Some(unread.next()?.map(|entry| Listed::new(&entry)))
    }

    /// Whether the next entry comes from the next block: another worker may then go on with it.
    pub(crate) fn is_block_done(&self) -> bool {
        self.left_in_block == 0
    }
}

/// Names of directories that wait to be opened, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: VecDeque<(OsString, bool)>,
    last: (OsString, bool),
}

impl Names {
    /// Adds a name at the end.
    pub(crate) fn push(&mut self, name: &Name, follow: bool) {
        self.names.push_back((name.to_os_string(), follow));
    }

    /// Takes the first name: with whether to follow it.
    pub(crate) fn next(&mut self) -> Option<(&Name, bool)> {
        self.last = self.names.pop_front()?;
        Some((&self.last.0, self.last.1))
    }

    /// Puts the last name that was taken back: it is the first again. To be called once after [`Self::next`].
    pub(crate) fn put_back(&mut self) {
        self.names.push_front(std::mem::take(&mut self.last));
    }

    /// Takes them all out.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Nothing to raise.
pub(crate) fn raise_descriptor_limit() {}

/// Not known: what most systems allow at least.
pub(crate) fn descriptors_available() -> usize {
    256 - 16
}

/// `std` does not tell.
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
