//! Removes trees of any depth.
//!
//! The paths of a deep tree are longer than system calls accept, and one descriptor per level may
//! exceed the limit of the process. So a single descriptor goes down by name and up by `..`, and
//! only the names still to be visited are kept. No other process may move directories of the tree
//! meanwhile. Symbolic links are removed, not followed.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

use super::make::for_each_in_parallel;

const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes everything below the directory but keeps the directory itself.
pub(crate) fn empty(root: &OwnedFd) -> io::Result<()> {
    let children = remove_files(root)?;
    for_each_in_parallel(children.len(), |index| {
        let name = &children[index];
        remove_below(rustix::fs::openat(root, name, FLAGS, Mode::empty())?)?;
        Ok(rustix::fs::unlinkat(root, name, AtFlags::REMOVEDIR)?)
    })
}

/// Removes everything below the directory on one thread, without recursion.
fn remove_below(directory: OwnedFd) -> io::Result<()> {
    let mut rest = remove_files(&directory)?;
    let mut here = directory;
    // For each level above: the name of the directory that we descended into, and the names still
    // to be removed.
    let mut above: Vec<(CString, Vec<CString>)> = Vec::new();
    loop {
        if let Some(name) = rest.pop() {
            here = rustix::fs::openat(&here, &name, FLAGS, Mode::empty())?;
            above.push((name, mem::replace(&mut rest, remove_files(&here)?)));
        } else if let Some((name, rest_above)) = above.pop() {
            here = rustix::fs::openat(&here, c"..", FLAGS, Mode::empty())?;
            rustix::fs::unlinkat(&here, &name, AtFlags::REMOVEDIR)?;
            rest = rest_above;
        } else {
            return Ok(());
        }
    }
}

/// Removes everything except directories, and returns the names of those.
fn remove_files(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut directories = Vec::new();
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if is_directory(directory, name, entry.file_type())? {
            directories.push(name.to_owned());
        } else {
            rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
        }
    }
    Ok(directories)
}

fn is_directory(parent: &OwnedFd, name: &CStr, listed: FileType) -> io::Result<bool> {
    let kind = match listed {
        // Some filesystems do not report the type with the name.
        FileType::Unknown => {
            let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            FileType::from_raw_mode(stat.st_mode)
        }
        listed => listed,
    };
    Ok(kind == FileType::Directory)
}
