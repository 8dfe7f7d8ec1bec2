//! [`Leftover`]: a temporary file of a process that was killed before it could complete or remove
//! it.
//!
//! Invariants: a living process holds a lock on its temporary file, which the system releases
//! however the process ends; so a file that can be locked has no writer. A file is removed only
//! while its lock is held, and a process uses a new file only if it still has its name after it was
//! locked. Not guaranteed: on a file system without locks, leftovers stay.

use super::directory::OutputDirectory;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;

/// How much of a file's name is part of its temporary name, so that the latter is not too long for
/// the file system.
const NAME_BYTES_MAX: usize = 200;

/// The number of files of a directory that are considered. A tree can contain any number of them.
#[cfg(unix)]
const CONSIDERED_MAX: usize = 100;

/// The number of hexadecimal digits at the end of a temporary name.
const DIGITS: usize = 16;

/// A file of a killed process.
#[derive(Debug)]
pub(super) struct Leftover {
    pub(super) name: OsString,
    /// Its device and inode.
    #[cfg(unix)]
    identity: (u64, u64),
}

/// Returns the temporary name of a file.
pub(super) fn temporary_name(name: &OsStr, random: u64) -> OsString {
    OsString::from(format!("{}{random:0DIGITS$x}", prefix(name)))
}

fn prefix(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    format!(".{}.heist-", &name[..name.floor_char_boundary(NAME_BYTES_MAX)])
}

/// Returns `true` if `candidate` is a temporary name of a file whose names begin with `prefix`.
#[cfg(any(unix, test))]
fn is_temporary_name(candidate: &[u8], prefix: &str) -> bool {
    candidate.strip_prefix(prefix.as_bytes()).is_some_and(|digits| {
        digits.len() == DIGITS
            && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Locks a new file. Returns `false` if another process has removed it, or is about to.
///
/// # Errors
/// Nothing can be found out about the file.
pub(super) fn claim(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(false),
        // A file system without locks, where no process removes leftovers.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok(file.metadata()?.nlink() > 0)
    }
    #[cfg(not(unix))]
    Ok(true)
}

/// Returns the leftovers of the file `name` in the directory.
#[cfg(unix)]
pub(super) fn find(
    directory: &OutputDirectory,
    name: &OsStr,
    is_ours: impl Fn(File) -> bool,
) -> Vec<Leftover> {
    let prefix = prefix(name);
    // If the directory cannot be read, its leftovers stay.
    let Ok(names) = directory.names() else { return Vec::new() };
    let candidates = names.filter(|name| is_temporary_name(name.as_encoded_bytes(), &prefix));
    let mut found = Vec::new();
    for name in candidates.take(CONSIDERED_MAX) {
        if let Some((file, identity)) = open(directory, &name)
            && is_ours(file)
        {
            found.push(Leftover { name, identity });
        }
    }
    found
}

#[cfg(not(unix))]
pub(super) fn find(
    _directory: &OutputDirectory,
    _name: &OsStr,
    _is_ours: impl Fn(File) -> bool,
) -> Vec<Leftover> {
    Vec::new()
}

/// Opens and locks a file that can be a leftover, and returns it with its device and inode.
#[cfg(unix)]
fn open(directory: &OutputDirectory, name: &OsStr) -> Option<(File, (u64, u64))> {
    use std::os::unix::fs::MetadataExt as _;
    let file = directory.open_file(name).ok()?;
    let metadata = file.metadata().ok()?;
    let is_mine = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || metadata.nlink() != 1 || !is_mine || file.try_lock().is_err() {
        return None;
    }
    Some((file, (metadata.dev(), metadata.ino())))
}

impl Leftover {
    /// Removes the file, unless it has changed. There is nothing left to try if this fails.
    #[cfg(unix)]
    pub(super) fn remove(&self, directory: &OutputDirectory) {
        if let Some((_locked, identity)) = open(directory, &self.name)
            && identity == self.identity
        {
            let _ = directory.remove(&self.name);
        }
    }

    #[cfg(not(unix))]
    pub(super) fn remove(&self, _directory: &OutputDirectory) {}
}

#[cfg(test)]
mod tests {
    use super::{is_temporary_name, prefix, temporary_name};

    #[test]
    fn a_temporary_name_belongs_to_one_file() {
        let of = |name: &str| temporary_name(name.as_ref(), 0xab);
        assert_eq!(of("report"), ".report.heist-00000000000000ab");
        let prefix = prefix("report".as_ref());
        assert!(is_temporary_name(of("report").as_encoded_bytes(), &prefix));
        for other in [
            ".report.heist-",
            ".report.heist-00000000000000a",
            ".report.heist-00000000000000abc",
            ".report.heist-00000000000000AB",
            ".report.heist-00000000000000ag",
            "report.heist-00000000000000ab",
            ".report2.heist-00000000000000ab",
            ".repor.heist-00000000000000ab",
        ] {
            assert!(!is_temporary_name(other.as_bytes(), &prefix), "{other}");
        }
    }
}
