//! [`AtomicFile`]: an output file that appears whole or not at all.
//!
//! Writes go to a temporary file in the same directory, and [`AtomicFile::commit`] renames it to
//! its final name. Invariant: a program that opens the path finds either the old content or all of
//! the new content, even if this process is killed. Not guaranteed: a killed process may leave the
//! temporary file (`.NAME.heist-*`) behind.
//!
//! A path that is not a regular file (a terminal, a pipe, `/dev/null`) is written to directly,
//! because it cannot be replaced.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The number of names to try for the temporary file.
const TEMPORARY_NAMES_MAX: u32 = 1_000;

/// An output file that appears whole or not at all.
///
/// Until [`commit`](Self::commit), writes go to a temporary file beside it. Dropping an
/// `AtomicFile` without committing removes the temporary file and leaves the old content in place.
///
/// # Examples
/// ```
/// use std::io::Write as _;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report");
/// let mut file = heist_scan::AtomicFile::create(&path)?;
/// file.write_all(b"half of it, ")?;
/// assert!(!path.exists());
/// file.write_all(b"and the rest")?;
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"half of it, and the rest");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// The temporary path and the final path, or `None` if the file is written to directly.
    paths: Option<(PathBuf, PathBuf)>,
}

impl AtomicFile {
    /// Creates the temporary file that will replace `path`. If `path` is a symbolic link, the file
    /// it leads to is replaced, not the link.
    ///
    /// # Errors
    /// `path` is a directory, its directory does not exist, or no file can be created there.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_as(path, false)
    }

    /// Does the same for a file that only its owner may read.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub fn create_private(path: &Path) -> io::Result<Self> {
        Self::create_as(path, true)
    }

    fn create_as(path: &Path, private: bool) -> io::Result<Self> {
        // The target of a broken link is unknown, so the link itself is replaced.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let replaced = fs::metadata(&target).ok();
        match &replaced {
            Some(metadata) if metadata.is_dir() => {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Some(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(&target)?;
                return Ok(Self { file, paths: None });
            }
            _ => {}
        }
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        };
        for attempt in 0..TEMPORARY_NAMES_MAX {
            let mut temporary = OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".heist-{}-{attempt}", std::process::id()));
            let temporary = target.with_file_name(temporary);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            restrict(&mut options, private);
            match options.open(&temporary) {
                Ok(file) => {
                    let created = Self { file, paths: Some((temporary, target)) };
                    if let Some(metadata) = replaced.filter(|_| !private) {
                        // Replacing a file must not change who may read it.
                        created.file.set_permissions(metadata.permissions())?;
                    }
                    return Ok(created);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Returns the path of the temporary file, or `None` if the file is written to directly.
    #[must_use]
    pub fn temporary_path(&self) -> Option<&Path> {
        self.paths.as_ref().map(|(temporary, _)| temporary.as_path())
    }

    /// Writes everything to the disk and renames the temporary file to its final name.
    ///
    /// # Errors
    /// The data did not reach the disk, or the file cannot be renamed.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some((temporary, target)) = &self.paths {
            // Before renaming, or a power failure could leave the new name without its content.
            self.file.sync_all()?;
            fs::rename(temporary, target)?;
            self.paths = None;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions, private: bool) {
    use std::os::unix::fs::OpenOptionsExt as _;
    if private {
        options.mode(0o600);
    }
}

#[cfg(not(unix))]
fn restrict(_options: &mut OpenOptions, _private: bool) {}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.paths {
            // There is nothing left to try if this fails.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AtomicFile;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn a_file_that_is_not_committed_leaves_no_trace() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        fs::write(&path, "before").expect("a file");
        let mut file = AtomicFile::create(&path).expect("it can be made");
        file.write_all(b"after").expect("there is room");
        drop(file);
        assert_eq!(fs::read(&path).expect("it is there"), b"before");
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }

    #[test]
    fn two_writers_of_one_path_do_not_disturb_each_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        let mut first = AtomicFile::create(&path).expect("it can be made");
        let mut second = AtomicFile::create(&path).expect("it can be made");
        first.write_all(b"first").expect("there is room");
        second.write_all(b"second").expect("there is room");
        first.commit().expect("it is renamed");
        assert_eq!(fs::read(&path).expect("it is there"), b"first");
        second.commit().expect("it is renamed");
        assert_eq!(fs::read(&path).expect("it is there"), b"second");
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_stay_devices() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let (path, link) = (directory.path().join("report"), directory.path().join("link"));
        fs::write(&path, "before").expect("a file");
        std::os::unix::fs::symlink("report", &link).expect("a link");
        let mut file = AtomicFile::create_private(&link).expect("it can be made");
        file.write_all(b"after").expect("there is room");
        file.commit().expect("it is renamed");
        assert!(link.symlink_metadata().expect("it is there").is_symlink());
        assert_eq!(fs::read(&path).expect("it is there"), b"after");
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut file = AtomicFile::create(&path).expect("it can be made");
        file.write_all(b"again").expect("there is room");
        file.commit().expect("it is renamed");
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "the permissions do not change");
        let mut null = AtomicFile::create("/dev/null".as_ref()).expect("a device");
        assert_eq!(null.temporary_path(), None);
        null.write_all(b"gone").expect("it takes everything");
        null.commit().expect("nothing to rename");
        assert!(AtomicFile::create(directory.path()).is_err());
        assert!(AtomicFile::create(&directory.path().join("no/where")).is_err());
    }
}
