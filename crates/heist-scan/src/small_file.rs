//! [`read_small_file`]: reads a small regular file, without blocking on a pipe; and
//! [`read_small_file_below`], which also stays below a directory.
//!
//! The files that configure a scan (rules, baselines, ignore files) may be in the scanned tree, so
//! an attacker may have made them. Invariants: only a regular file is read, so a pipe cannot block
//! the scan and a device cannot feed it forever; at most `bytes_max` bytes are accepted, whatever
//! size the system reports. A file below a directory is opened step by step, each without following
//! a link, so that no change of the tree between a check and the open can lead out of it.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path};

/// Reads a regular file of at most `bytes_max` bytes. Follows symbolic links.
///
/// # Examples
/// ```
/// use heist_scan::read_small_file;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("rules.toml");
/// std::fs::write(&path, "rules = []")?;
/// assert_eq!(read_small_file(&path, 1 << 20)?, b"rules = []");
/// assert!(read_small_file(&path, 5).is_err());
/// assert!(read_small_file(directory.path(), 1 << 20).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The file cannot be read, is not a regular file, or is too large.
pub fn read_small_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Checked before opening, because opening a device can have side effects.
    check(&std::fs::metadata(path)?)?;
    let file = open(path)?;
    read(file, bytes_max)
}

/// Reads a regular file of at most `bytes_max` bytes below `directory`. Follows no symbolic link
/// after `directory`.
///
/// # Examples
/// ```
/// use heist_scan::read_small_file_below;
///
/// let tree = tempfile::tempdir()?;
/// std::fs::create_dir(tree.path().join("ci"))?;
/// std::fs::write(tree.path().join("ci/rules.toml"), "rules = []")?;
/// assert_eq!(read_small_file_below(tree.path(), "ci/rules.toml".as_ref(), 99)?, b"rules = []");
/// for outside in ["../rules.toml", "/etc/passwd", "ci/../../rules.toml"] {
///     assert!(read_small_file_below(tree.path(), outside.as_ref(), 99).is_err());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// `file` is absolute or contains `..`, the file or a directory on the way is a symbolic link, or
/// the file cannot be read, is not a regular file, or is too large.
pub fn read_small_file_below(directory: &Path, file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut names = Vec::new();
    for component in file.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(refused("it is not below the directory that names it")),
        }
    }
    read(open_below(directory, &names)?, bytes_max)
}

/// Reads an open file.
fn read(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Checked after opening, because before that the path may lead to another file.
    check(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let limit = if bytes_max >= 1 << 20 {
            format!("{} MiB", bytes_max >> 20)
        } else {
            format!("{bytes_max} bytes")
        };
        let why = format!("it is larger than {limit}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

fn check(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file"))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Opens a file without waiting for the other end of a pipe.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// The error for a symbolic link below the directory.
fn is_link() -> io::Error {
    refused("it is a symbolic link, or lies behind one")
}

/// Opens the file that these names lead to, one after the other.
#[cfg(unix)]
fn open_below(directory: &Path, names: &[&OsStr]) -> io::Result<File> {
    use crate::open_directory::{kind_in, open_directory, open_directory_without_link};
    use rustix::fs::{FileType, Mode, OFlags, openat};
    use rustix::io::Errno;
    let Some((name, parents)) = names.split_last() else {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file"));
    };
    // An empty path means the current directory.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let mut at = open_directory(directory)?;
    for parent in parents {
        at = open_directory_without_link(&at, parent)?.ok_or_else(is_link)?;
    }
    // Checked before opening, because opening a device can have side effects.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match kind_in(&at, name)? {
        FileType::Symlink => return Err(is_link()),
        FileType::RegularFile | FileType::Directory => {}
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
    match openat(&at, *name, flags, Mode::empty()) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(is_link()),
        Err(error) => Err(error.into()),
    }
}

/// Not guaranteed here: that the tree does not change between the check and the open.
#[cfg(not(unix))]
fn open_below(directory: &Path, names: &[&OsStr]) -> io::Result<File> {
    let mut path = directory.to_owned();
    for name in names {
        path.push(name);
        if path.symlink_metadata()?.is_symlink() {
            return Err(is_link());
        }
    }
    open(&path)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{open, read_small_file, read_small_file_below};
    use std::path::Path;

    #[test]
    fn pipes_and_devices_are_refused_and_reported_sizes_are_not_trusted() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        let zeros = directory.path().join("zeros");
        std::os::unix::fs::symlink("/dev/zero", &zeros).expect("a link");
        for path in [&pipe, &zeros] {
            let error = read_small_file(path, 10).expect_err("not a regular file");
            assert_eq!(error.to_string(), "it is not a regular file");
        }
        // A file that is replaced by a pipe between the check and the open does not block either.
        open(&pipe).expect("it does not wait");
        let nowhere = directory.path().join("nowhere");
        std::os::unix::fs::symlink("gone", &nowhere).expect("a link");
        assert!(read_small_file(&nowhere, 10).is_err());
        // The system reports a size of 0 for this file.
        assert!(
            !read_small_file(Path::new("/proc/self/status"), 1 << 20).expect("text").is_empty()
        );
        assert!(read_small_file(Path::new("/proc/self/status"), 10).is_err());
    }

    #[test]
    fn a_file_below_a_directory_is_read_without_following_links() {
        let directory = tempfile::tempdir().expect("a directory");
        let (tree, outside) = (directory.path().join("tree"), directory.path().join("outside"));
        for made in [&tree, &outside, &tree.join("sub")] {
            std::fs::create_dir(made).expect("a directory");
        }
        std::fs::write(outside.join("file"), "secret").expect("a file");
        std::fs::write(tree.join("sub/file"), "inside").expect("a file");
        std::os::unix::fs::symlink("../outside", tree.join("way")).expect("a link");
        std::os::unix::fs::symlink("../outside/file", tree.join("link")).expect("a link");
        std::os::unix::fs::symlink("sub/file", tree.join("within")).expect("a link");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, tree.join("pipe"), mode).expect("a pipe");
        let read = |file: &str| read_small_file_below(&tree, file.as_ref(), 10);
        assert_eq!(read("./sub//file").expect("it is below"), b"inside");
        for (file, why) in [
            ("way/file", "symbolic link"),
            ("link", "symbolic link"),
            ("within", "symbolic link"),
            ("../outside/file", "not below"),
            ("sub/../../outside/file", "not below"),
            ("/etc/hostname", "not below"),
            ("pipe", "not a regular file"),
            ("sub", "a directory"),
            ("", "a directory"),
            ("gone", "No such file"),
        ] {
            let error = read(file).expect_err(file).to_string();
            assert!(error.contains(why), "{file}: {error}");
        }
    }
}
