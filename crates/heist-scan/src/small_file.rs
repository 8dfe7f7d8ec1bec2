//! [`read_small_file`]: reads a small regular file, without blocking on a pipe.
//!
//! The files that configure a scan (rules, baselines, ignore files) may be in the scanned tree, so
//! an attacker may have made them. Invariants: only a regular file is read, so a pipe cannot block
//! the scan and a device cannot feed it forever; at most `bytes_max` bytes are accepted, whatever
//! size the system reports.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

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
    // Checked again after opening, because the path may lead to another file by now.
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{open, read_small_file};
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
}
