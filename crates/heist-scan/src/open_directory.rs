//! Opens directories step by step, so that no symbolic link is followed unnoticed. The paths of
//! output files and of files that a scanned tree names are walked like this.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Opens a directory only to look up names in it, where the system has such a flag; that needs no
/// permission to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOK_UP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOK_UP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the directory at `path`, and follows symbolic links.
pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, LOOK_UP, Mode::empty())
}

/// Opens the directory `name` in `directory`, and follows it if it is a symbolic link.
pub(crate) fn open_directory_in(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(directory, name, LOOK_UP, Mode::empty())
}

/// Opens the directory `name` in `directory`. Returns `None` if it is a symbolic link.
pub(crate) fn open_directory_without_link(
    directory: impl AsFd,
    name: &OsStr,
) -> Result<Option<OwnedFd>, Errno> {
    let opened = openat(&directory, name, LOOK_UP | OFlags::NOFOLLOW, Mode::empty());
    // Systems differ in the error that they report for a link.
    match opened {
        Err(_) if kind_in(directory, name) == Ok(FileType::Symlink) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Returns the kind of the file `name` in `directory`, and does not follow it.
pub(crate) fn kind_in(directory: impl AsFd, name: &OsStr) -> Result<FileType, Errno> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode as RawMode))
}
