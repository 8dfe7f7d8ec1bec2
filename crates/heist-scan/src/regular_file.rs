//! [`read_regular`]: the content of a file that is small and a file.
//!
//! What a scan reads for itself (rules, baselines, places that are known) may be part of the tree that is scanned, and
//! so made by anybody. Invariants: nothing but a regular file is read, so a pipe is not waited for and a device does
//! not go on for ever; no more is read than the limit, whatever the system says of the size.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The content of a regular file of at most `bytes_max` bytes. Symbolic links are followed.
///
/// ```
/// use heist_scan::read_regular;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("rules.toml");
/// std::fs::write(&path, "rules = []")?;
/// assert_eq!(read_regular(&path, 1 << 20)?, b"rules = []");
/// assert!(read_regular(&path, 5).is_err());
/// assert!(read_regular(directory.path(), 1 << 20).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// It cannot be read, is no regular file, or is too large.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Before it is opened: a device may do something when it is.
    check(&std::fs::metadata(path)?)?;
    let file = open(path)?;
    // And after: it may be another one by now.
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
        Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, and no file"))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// Without waiting for whoever writes into a pipe.
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
    use super::{open, read_regular};
    use std::path::Path;

    #[test]
    fn pipes_and_devices_are_refused_and_sizes_are_not_believed() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        let zeros = directory.path().join("zeros");
        std::os::unix::fs::symlink("/dev/zero", &zeros).expect("a link");
        for path in [&pipe, &zeros] {
            let error = read_regular(path, 10).expect_err("no file");
            assert_eq!(error.to_string(), "it is no regular file");
        }
        // Also if it became one after it was looked at.
        open(&pipe).expect("it does not wait");
        let nowhere = directory.path().join("nowhere");
        std::os::unix::fs::symlink("gone", &nowhere).expect("a link");
        assert!(read_regular(&nowhere, 10).is_err());
        // The system says that it has no bytes.
        assert!(!read_regular(Path::new("/proc/self/status"), 1 << 20).expect("text").is_empty());
        assert!(read_regular(Path::new("/proc/self/status"), 10).is_err());
    }
}
