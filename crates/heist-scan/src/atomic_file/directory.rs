//! [`OutputDirectory`]: the open directory of an output file, reached without following a link that
//! an untrusted tree contains.
//!
//! Invariant: between the directory that the user named and the file, nothing is looked up by path
//! again. So a tree that changes during the scan cannot redirect the file.

use super::Replaced;
use super::error::OutputPathError;
use crate::open_directory::{open_directory, open_directory_in, open_directory_without_link};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The device and the inode of a file.
type FileIdentity = (u64, u64);

/// The files and directories that an attacker may have made, and everything below them.
#[derive(Debug, Default)]
pub(super) struct UntrustedRoots {
    identities: HashSet<FileIdentity>,
}

impl UntrustedRoots {
    /// Identifies the roots. One that does not exist contains nothing.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        let known = roots.iter().filter_map(|root| std::fs::metadata(root).ok());
        Self { identities: known.map(|root| (root.dev(), root.ino())).collect() }
    }

    /// Returns `true` if an open directory is one of the roots or below one.
    fn contain(&self, directory: &OwnedFd) -> Result<bool, Errno> {
        if self.identities.is_empty() {
            return Ok(false);
        }
        let mut identity = identity(directory)?;
        let mut above: Option<OwnedFd> = None;
        loop {
            if self.identities.contains(&identity) {
                return Ok(true);
            }
            let here = above.as_ref().unwrap_or(directory);
            let parent = match open_directory_in(here, "..".as_ref()) {
                Ok(parent) => parent,
                // A directory that this user cannot enter cannot be scanned either.
                Err(Errno::ACCESS) => return Ok(false),
                Err(error) => return Err(error),
            };
            let parent_identity = self::identity(&parent)?;
            if parent_identity == identity {
                return Ok(false);
            }
            identity = parent_identity;
            above = Some(parent);
        }
    }
}

/// An open directory.
#[derive(Debug)]
pub(super) struct OutputDirectory {
    fd: OwnedFd,
    /// Whether it is below an untrusted root.
    pub(super) is_untrusted: bool,
}

impl OutputDirectory {
    /// Opens the directory at `path`. Links are followed until the path enters an untrusted root.
    ///
    /// # Errors
    /// The path cannot be opened, or contains a link below an untrusted root.
    pub(super) fn open(path: &Path, untrusted: &UntrustedRoots) -> Result<Self, OutputPathError> {
        let start = if path.is_absolute() { "/" } else { "." };
        let mut fd = open_directory(start.as_ref())?;
        let mut is_untrusted = untrusted.contain(&fd)?;
        let mut opened = PathBuf::new();
        for component in path.components() {
            opened.push(component);
            let name = match component {
                Component::Normal(name) => name,
                Component::ParentDir => OsStr::new(".."),
                _ => continue,
            };
            let next = open_directory_without_link(&fd, name)?;
            let was_link = next.is_none();
            if was_link && is_untrusted {
                return Err(OutputPathError::LinkInUntrusted { link: opened });
            }
            fd = match next {
                Some(next) => next,
                None => open_directory_in(&fd, name)?,
            };
            is_untrusted = if was_link || component == Component::ParentDir {
                untrusted.contain(&fd)?
            } else {
                is_untrusted || untrusted.identities.contains(&identity(&fd)?)
            };
        }
        Ok(Self { fd, is_untrusted })
    }

    /// Returns the regular file of this name, or `None` if there is no file.
    ///
    /// # Errors
    /// It is not a regular file, or nothing can be found out about it.
    #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
    pub(super) fn replaced(
        &self,
        name: &OsStr,
        untrusted: &UntrustedRoots,
    ) -> Result<Option<Replaced>, OutputPathError> {
        let stat = match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let kind = match FileType::from_raw_mode(stat.st_mode as RawMode) {
            FileType::RegularFile => {
                let is_root = untrusted.identities.contains(&identity_of(&stat));
                return Ok(Some(Replaced {
                    permissions: u32::from(Mode::from_raw_mode(stat.st_mode as RawMode).bits()),
                    has_several_names: stat.st_nlink > 1,
                    is_untrusted: self.is_untrusted || is_root,
                }));
            }
            FileType::Symlink => return Err(OutputPathError::Link),
            FileType::Directory => "a directory",
            FileType::Fifo => "a pipe",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            _ => "something else",
        };
        Err(OutputPathError::NotRegular { kind })
    }

    /// Opens a file of this name for reading, without following a link and without waiting.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
    }

    /// Returns the names in the directory. The first one that cannot be read is the last.
    pub(super) fn names(&self) -> io::Result<impl Iterator<Item = OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?;
        let entries = rustix::fs::Dir::new(readable)?;
        let names = entries.map_while(Result::ok);
        Ok(names.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()))
    }

    /// Creates a file that did not exist.
    pub(super) fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode as RawMode);
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, mode)?))
    }

    /// Renames a file; neither name is followed if it is a link.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }
}

/// Opens `path` for writing if it is a device that never blocks: the one that discards everything,
/// or the one that is always full.
///
/// # Errors
/// The device cannot be opened.
pub(super) fn open_device(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::FileTypeExt as _;
    if path != Path::new("/dev/null") && path != Path::new("/dev/full") {
        return Ok(None);
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let is_device = |metadata: &std::fs::Metadata| metadata.file_type().is_char_device();
    if !std::fs::symlink_metadata(path).is_ok_and(|metadata| is_device(&metadata)) {
        return Ok(None);
    }
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    Ok(is_device(&file.metadata()?).then_some(file))
}

fn identity(fd: impl AsFd) -> Result<FileIdentity, Errno> {
    Ok(identity_of(&rustix::fs::fstat(fd)?))
}

#[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
fn identity_of(stat: &rustix::fs::Stat) -> FileIdentity {
    (stat.st_dev as u64, stat.st_ino as u64)
}
