//! [`AtomicFile`]: an output file that appears whole or not at all, and only at its own path.
//!
//! Writes go to a temporary file in the same directory, and [`AtomicFile::commit`] renames it to
//! its final name.
//!
//! Invariants: a program that opens the path finds either the old content or all of the new
//! content, even if this process is killed. Only a regular file is replaced, never what a symbolic
//! link leads to; the new file belongs to this user and its group, is not executable, and its
//! permissions are never wider than those of the old one. Until it is complete, only this user may
//! read it. Creating one never waits, whatever is at the path. Not guaranteed: a process that is
//! killed may leave the temporary file (`.NAME.heist-*`) behind; a later one that writes the same
//! file can find and remove it ([`AtomicFile::find_leftovers`]).

#[cfg(unix)]
mod directory;
#[cfg(not(unix))]
#[path = "directory_by_path.rs"]
mod directory;
mod error;
mod leftovers;
mod unfinished;

use directory::{OutputDirectory, UntrustedRoots, open_device};
use leftovers::{Leftover, temporary_name};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unfinished::TemporaryFile;

pub use error::OutputPathError;
pub use unfinished::{NoUnfinishedFiles, remove_unfinished_files};

/// The number of names to try for the temporary file. A random name is almost surely free.
const TEMPORARY_NAMES_MAX: u32 = 8;

/// How an [`AtomicFile`] is created.
#[derive(Clone, Debug, Default)]
pub struct AtomicFileOptions {
    is_private: bool,
    untrusted: Vec<PathBuf>,
}

impl AtomicFileOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets only the owner read the file.
    #[must_use]
    pub fn private(mut self, private: bool) -> Self {
        self.is_private = private;
        self
    }

    /// Adds files and directories that an attacker may have made. Below them, the path of the file
    /// must not contain symbolic links, and the file must not have several names.
    #[must_use]
    pub fn untrusted(mut self, roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.untrusted.extend(roots.into_iter().map(Into::into));
        self
    }

    /// Creates the temporary file that will replace `path`.
    ///
    /// `/dev/null` and `/dev/full` are written to directly.
    ///
    /// # Errors
    /// `path` exists and is not a regular file, its directory does not exist, a link is in the way,
    /// or no file can be created there.
    pub fn create(&self, path: &Path) -> Result<AtomicFile, OutputPathError> {
        if let Some(device) = open_device(path)? {
            return Ok(AtomicFile { file: device, place: None, leftovers: Vec::new() });
        }
        let name = path.file_name().ok_or(OutputPathError::NoName)?;
        let untrusted = UntrustedRoots::new(&self.untrusted);
        let parent = path.parent().unwrap_or(Path::new(""));
        let directory = Arc::new(OutputDirectory::open(parent, &untrusted)?);
        let replaced = directory.replaced(name, &untrusted)?;
        if replaced.is_some_and(|replaced| replaced.is_untrusted && replaced.has_several_names) {
            return Err(OutputPathError::SeveralNames);
        }
        let new = if self.is_private { 0o600 } else { 0o666 };
        let mode = replaced.map_or(new, |replaced| new & replaced.permissions);
        let (file, temporary) = create_temporary(&directory, name, mode)?;
        let path = path.to_owned();
        let place = OutputPlace { directory, temporary, path, replaced, permissions: None };
        let mut created = AtomicFile { file, place: Some(place), leftovers: Vec::new() };
        created.narrow()?;
        Ok(created)
    }
}

fn create_temporary(
    directory: &Arc<OutputDirectory>,
    name: &OsStr,
    mode: u32,
) -> io::Result<(File, TemporaryFile)> {
    let mut attempt = 1;
    loop {
        // A tree can contain any number of names, but not one that it cannot guess.
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let temporary = temporary_name(name, u64::from_ne_bytes(random));
        let created = match TemporaryFile::create(directory, temporary, mode) {
            Ok((file, temporary)) => match leftovers::claim(&file) {
                Ok(true) => return Ok((file, temporary)),
                // Another process took the file for a leftover before it was locked.
                Ok(false) => {
                    temporary.remove();
                    Err(io::ErrorKind::AlreadyExists.into())
                }
                Err(error) => {
                    temporary.remove();
                    Err(error)
                }
            },
            Err(error) => Err(error),
        };
        match created {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && attempt < TEMPORARY_NAMES_MAX =>
            {
                attempt += 1;
            }
            created => return created,
        }
    }
}

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
    /// `None` if a device is written to directly, or if the file has its final name.
    place: Option<OutputPlace>,
    /// Files of killed processes, which [`AtomicFile::commit`] removes.
    leftovers: Vec<Leftover>,
}

/// A regular file that an output file will replace.
#[derive(Clone, Copy, Debug)]
struct Replaced {
    /// The permissions, without the kind of file.
    permissions: u32,
    has_several_names: bool,
    is_untrusted: bool,
}

#[derive(Debug)]
struct OutputPlace {
    directory: Arc<OutputDirectory>,
    temporary: TemporaryFile,
    /// The final path.
    path: PathBuf,
    replaced: Option<Replaced>,
    /// The permissions that the complete file gets, if they differ from those until then.
    permissions: Option<Permissions>,
}

impl OutputPlace {
    fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

impl AtomicFile {
    /// Creates the temporary file that will replace `path`, with the default options.
    ///
    /// # Errors
    /// As [`AtomicFileOptions::create`].
    pub fn create(path: &Path) -> Result<Self, OutputPathError> {
        AtomicFileOptions::new().create(path)
    }

    /// Returns the path of the temporary file, or `None` if a device is written to directly.
    #[must_use]
    pub fn temporary_path(&self) -> Option<PathBuf> {
        self.place.as_ref().map(|place| place.path.with_file_name(place.temporary.name()))
    }

    /// Opens the file that will be replaced if it is one of the untrusted files or below them, so
    /// that the caller can decide whether it may be.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open_untrusted_replaced(&self) -> io::Result<Option<File>> {
        let Some(place) = &self.place else { return Ok(None) };
        if !place.replaced.is_some_and(|replaced| replaced.is_untrusted) {
            return Ok(None);
        }
        let file = place.directory.open_file(place.name())?;
        // Another process may have put something else there.
        match file.metadata()?.is_file() {
            true => Ok(Some(file)),
            false => Err(OutputPathError::NotRegular { kind: "something else" }.into()),
        }
    }

    /// Finds the temporary files that killed processes left when they wrote the same file.
    /// [`commit`](Self::commit) removes them.
    ///
    /// Such a file belongs to this user, has one name, and no living process writes to it. It must
    /// also satisfy `is_ours`, because a tree can bring files of any name. At most 100 files are
    /// considered, and none on systems other than Unix.
    pub fn find_leftovers(&mut self, is_ours: impl Fn(File) -> bool) {
        if let Some(place) = &self.place {
            self.leftovers = leftovers::find(&place.directory, place.name(), is_ours);
        }
    }

    /// Returns the paths of the files that [`find_leftovers`](Self::find_leftovers) has found.
    pub fn leftovers(&self) -> impl Iterator<Item = PathBuf> {
        let place = self.place.iter();
        place.flat_map(|place| {
            self.leftovers.iter().map(|leftover| place.path.with_file_name(&leftover.name))
        })
    }

    /// Lets only this user read the file until it is complete.
    fn narrow(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        if let Some(place) = &mut self.place {
            use std::os::unix::fs::PermissionsExt as _;
            let whole = self.file.metadata()?.permissions();
            let narrow = Permissions::from_mode(whole.mode() & 0o600);
            // Not every file system has permissions to change.
            if narrow.mode() != whole.mode() & 0o7777 && self.file.set_permissions(narrow).is_ok() {
                place.permissions = Some(whole);
            }
        }
        Ok(())
    }

    /// Writes everything to the disk, renames the temporary file to its final name, and removes the
    /// leftovers that were found.
    ///
    /// # Errors
    /// The data did not reach the disk, or the file cannot be renamed.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some(place) = &mut self.place {
            // Before renaming, or a power failure could leave the new name without its content.
            self.file.sync_all()?;
            if let Some(permissions) = place.permissions.take() {
                self.file.set_permissions(permissions)?;
            }
            place.temporary.rename(place.name())?;
            for leftover in &self.leftovers {
                leftover.remove(&place.directory);
            }
            self.place = None;
        }
        Ok(())
    }
}

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
        if let Some(place) = &self.place {
            place.temporary.remove();
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

    #[test]
    fn a_name_may_be_as_long_as_the_file_system_allows() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["x".repeat(255), "é".repeat(127)] {
            let path = directory.path().join(name);
            AtomicFile::create(&path).expect("it can be made").commit().expect("it is renamed");
            assert!(path.is_file());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod path_tests;
