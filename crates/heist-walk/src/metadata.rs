//! [`Metadata`] and [`FileKind`]: what a walk knows about an entry, in the same form on every
//! system.

use std::fs::FileType;
use std::time::SystemTime;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link that the walk did not follow.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A kind that the system does not name.
    Other,
}

impl FileKind {
    /// Returns `true` for a directory.
    #[must_use]
    pub const fn is_dir(self) -> bool {
        matches!(self, Self::Directory)
    }

    /// Returns `true` for a regular file.
    #[must_use]
    pub const fn is_file(self) -> bool {
        matches!(self, Self::File)
    }

    /// Returns `true` for a symbolic link.
    #[must_use]
    pub const fn is_symlink(self) -> bool {
        matches!(self, Self::Symlink)
    }
}

impl From<FileType> for FileKind {
    fn from(file_type: FileType) -> Self {
        if file_type.is_dir() {
            Self::Directory
        } else if file_type.is_file() {
            Self::File
        } else if file_type.is_symlink() {
            Self::Symlink
        } else {
            special_kind(file_type)
        }
    }
}

#[cfg(unix)]
fn special_kind(file_type: FileType) -> FileKind {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_fifo() {
        FileKind::Fifo
    } else if file_type.is_socket() {
        FileKind::Socket
    } else if file_type.is_char_device() {
        FileKind::CharacterDevice
    } else if file_type.is_block_device() {
        FileKind::BlockDevice
    } else {
        FileKind::Other
    }
}

#[cfg(not(unix))]
fn special_kind(_file_type: FileType) -> FileKind {
    FileKind::Other
}

/// What the system reports about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// The kind of the entry.
    pub kind: FileKind,
    /// The length in bytes, including holes.
    pub len: u64,
    /// The bytes allocated on the disk, or the length if the system does not report them.
    pub allocated: u64,
    /// The number of the file system, or 0 if unknown. Together with `inode` it identifies the
    /// file.
    pub device: u64,
    /// The number of the file on its file system, or 0 if unknown.
    pub inode: u64,
    /// The number of names (hard links) of the file.
    pub links: u64,
    /// The Unix type and permissions, or 0 on other systems.
    pub mode: u32,
    /// The time of the last change to the contents. `None` if the system does not report it or
    /// [`SystemTime`] cannot represent it.
    pub modified: Option<SystemTime>,
}

impl Metadata {
    /// Creates the metadata of an empty entry with one name and without an identity.
    ///
    /// Set the public fields to describe anything else.
    #[must_use]
    pub const fn new(kind: FileKind) -> Self {
        Self { kind, len: 0, allocated: 0, device: 0, inode: 0, links: 1, mode: 0, modified: None }
    }

    /// Returns the identity of the file, independent of its name, or `None` if the system does not
    /// report it.
    #[must_use]
    pub fn identity(&self) -> Option<FileIdentity> {
        (self.inode != 0).then_some(FileIdentity { device: self.device, inode: self.inode })
    }
}

/// Identifies a file: two names with equal identities belong to the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FileIdentity {
    /// The number of the file system.
    pub device: u64,
    /// The number of the file on its file system.
    pub inode: u64,
}

impl FileIdentity {
    /// Creates the identity of the file `inode` on the file system `device`.
    #[must_use]
    pub const fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }
}
