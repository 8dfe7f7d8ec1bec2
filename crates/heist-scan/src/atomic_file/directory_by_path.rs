//! [`OutputDirectory`] on systems without operations relative to an open directory.
//!
//! Not guaranteed here: that the directories of the path are not links, and that nothing changes
//! between a check and the operation after it.

use super::Replaced;
use super::error::OutputPathError;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The files and directories that an attacker may have made, and everything below them.
#[derive(Debug, Default)]
pub(super) struct UntrustedRoots {
    paths: Vec<PathBuf>,
}

impl UntrustedRoots {
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        Self { paths: roots.iter().filter_map(|root| root.canonicalize().ok()).collect() }
    }

    fn contain(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.paths.iter().any(|root| path.starts_with(root)))
    }
}

/// A directory.
#[derive(Debug)]
pub(super) struct OutputDirectory {
    path: PathBuf,
    pub(super) is_untrusted: bool,
}

impl OutputDirectory {
    pub(super) fn open(path: &Path, untrusted: &UntrustedRoots) -> Result<Self, OutputPathError> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(Self { is_untrusted: untrusted.contain(path), path: path.canonicalize()? })
    }

    pub(super) fn replaced(
        &self,
        name: &OsStr,
        untrusted: &UntrustedRoots,
    ) -> Result<Option<Replaced>, OutputPathError> {
        let path = self.path.join(name);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if metadata.is_symlink() {
            return Err(OutputPathError::Link);
        }
        if metadata.is_dir() {
            return Err(OutputPathError::NotRegular { kind: "a directory" });
        }
        if !metadata.is_file() {
            return Err(OutputPathError::NotRegular { kind: "something else" });
        }
        Ok(Some(Replaced {
            permissions: 0o666,
            has_several_names: false,
            is_untrusted: self.is_untrusted || untrusted.contain(&path),
        }))
    }

    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.path.join(name))
    }

    pub(super) fn create_new(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }
}

/// Returns `None`: no device can be opened by its path here.
pub(super) fn open_device(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}
