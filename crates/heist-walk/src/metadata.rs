//! [`Metadata`] and [`FileKind`]: what a walk knows about an entry, the same on every system.

use std::fs::FileType;
use std::time::SystemTime;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link that was not followed.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// Something that the system has no name for.
    Other,
}

impl FileKind {
    /// Whether this is a directory.
    #[must_use]
    pub const fn is_dir(self) -> bool {
        matches!(self, Self::Directory)
    }

    /// Whether this is a regular file.
    #[must_use]
    pub const fn is_file(self) -> bool {
        matches!(self, Self::File)
    }

    /// Whether this is a symbolic link.
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

/// What the system says about an entry: as much of it as tools over trees ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Its length in bytes, holes included.
    pub len: u64,
    /// What it takes on the disk, in bytes. (Where the system does not tell: its length.)
    pub allocated: u64,
    /// The number of the file system that it is on. With `inode` it says which file this is; 0 where there is none.
    pub device: u64,
    /// Its number there; 0 where there is none.
    pub inode: u64,
    /// How many names it has.
    pub links: u64,
    /// Its type and permissions, as Unix has them; 0 elsewhere.
    pub mode: u32,
    /// When its contents last changed; `None` if the system does not tell, or the time is beyond what can be said.
    pub modified: Option<SystemTime>,
}

impl Metadata {
    /// Which file this is, whatever it is called; `None` where the system does not tell.
    #[must_use]
    pub fn identity(&self) -> Option<FileIdentity> {
        (self.inode != 0).then_some(FileIdentity { device: self.device, inode: self.inode })
    }
}

/// Which file something is: two names with equal identities are names of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    /// The number of the file system.
    pub device: u64,
    /// The file's number there.
    pub inode: u64,
}
