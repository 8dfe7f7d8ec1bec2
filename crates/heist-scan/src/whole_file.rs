//! [`WholeFile`]: a file that is there whole or not at all.
//!
//! What is written goes to a file of another name in the same directory; [`WholeFile::commit`] gives it its name in one
//! step. Invariant: whoever opens the path finds what was there before, or all of what was written, also if the process
//! is killed at any time. Not guaranteed: that a killed process leaves no file of the other name (`.NAME.heist-*`).
//!
//! What is no regular file (a terminal, a pipe, `/dev/null`) is written to as it is: there is nothing to replace.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many names are tried for the file that becomes the whole one.
const NAMES_MAX: u32 = 1_000;

/// See the module's documentation.
///
/// ```
/// use std::io::Write as _;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report");
/// let mut file = heist_scan::WholeFile::create(&path)?;
/// file.write_all(b"half of it, ")?;
/// assert!(!path.exists());
/// file.write_all(b"and the rest")?;
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"half of it, and the rest");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    /// Where it is until it is whole, and where it is then; `None` if it is written to as it is.
    names: Option<(PathBuf, PathBuf)>,
}

impl WholeFile {
    /// Starts to write what `path` will be. A symbolic link is followed: what it leads to is replaced, not the link.
    ///
    /// # Errors
    /// Its directory is not there, or nothing can be made in it.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_as(path, false)
    }

    /// The same, for what nobody but the user may read.
    ///
    /// # Errors
    /// As [`WholeFile::create`].
    pub fn create_private(path: &Path) -> io::Result<Self> {
        Self::create_as(path, true)
    }

    fn create_as(path: &Path, private: bool) -> io::Result<Self> {
        // A link that leads nowhere is what it is: its target cannot be told from here.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let replaced = fs::metadata(&target).ok();
        match &replaced {
            Some(metadata) if metadata.is_dir() => {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Some(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(&target)?;
                return Ok(Self { file, names: None });
            }
            _ => {}
        }
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        };
        for attempt in 0..NAMES_MAX {
            let mut other = OsString::from(".");
            other.push(name);
            other.push(format!(".heist-{}-{attempt}", std::process::id()));
            let other = target.with_file_name(other);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            restrict(&mut options, private);
            match options.open(&other) {
                Ok(file) => {
                    let unfinished = Self { file, names: Some((other, target)) };
                    if let Some(metadata) = replaced.filter(|_| !private) {
                        // Who may read it is not to change.
                        unfinished.file.set_permissions(metadata.permissions())?;
                    }
                    return Ok(unfinished);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Where the file is until it is whole; `None` if it is written to as it is.
    #[must_use]
    pub fn unfinished(&self) -> Option<&Path> {
        self.names.as_ref().map(|(other, _)| other.as_path())
    }

    /// Gives the file its name. Without this, nothing of it is left when it is dropped.
    ///
    /// # Errors
    /// What was written did not reach the disk, or the file cannot be renamed.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some((other, target)) = &self.names {
            // Before the name, or a machine that loses power may have the name and not the content.
            self.file.sync_all()?;
            fs::rename(other, target)?;
            self.names = None;
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

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((other, _)) = &self.names {
            // What cannot be removed now cannot be removed later either.
            let _ = fs::remove_file(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WholeFile;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        fs::write(&path, "before").expect("a file");
        let mut file = WholeFile::create(&path).expect("it can be made");
        file.write_all(b"after").expect("there is room");
        drop(file);
        assert_eq!(fs::read(&path).expect("it is there"), b"before");
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }

    #[test]
    fn two_at_once_do_not_disturb_each_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        let mut first = WholeFile::create(&path).expect("it can be made");
        let mut second = WholeFile::create(&path).expect("it can be made");
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
        let mut file = WholeFile::create_private(&link).expect("it can be made");
        file.write_all(b"after").expect("there is room");
        file.commit().expect("it is renamed");
        assert!(link.symlink_metadata().expect("it is there").is_symlink());
        assert_eq!(fs::read(&path).expect("it is there"), b"after");
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut file = WholeFile::create(&path).expect("it can be made");
        file.write_all(b"again").expect("there is room");
        file.commit().expect("it is renamed");
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "who may read it does not change");
        let mut null = WholeFile::create("/dev/null".as_ref()).expect("a device");
        assert_eq!(null.unfinished(), None);
        null.write_all(b"gone").expect("it takes everything");
        null.commit().expect("nothing to rename");
        assert!(WholeFile::create(directory.path()).is_err());
        assert!(WholeFile::create(&directory.path().join("no/where")).is_err());
    }
}
