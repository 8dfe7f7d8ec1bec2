//! The only door to the file system: opens what lies below the roots, and refuses the rest.
//!
//! A repository that comes from elsewhere can name any path: in a `.git` file, in
//! `objects/info/alternates`, in `commondir`, or by a symbolic link. Every path is resolved first,
//! and what resolves to a place outside the roots is refused, unless the caller trusts the
//! repository. Only regular files and directories are opened, so a pipe cannot block.
//!
//! Not guaranteed: protection against a process that replaces files between the check and the
//! opening, a few microseconds later.

use crate::problem::{FileError, FileProblem};
use crate::source_file::SourceFile;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What a repository may refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Only what lies below the roots. Everything else that it refers to is refused and told.
    #[default]
    RootsOnly,
    /// Any path of this machine, as git itself would follow it: for the user's own repositories.
    Everything,
}

/// The places that a repository is read from.
#[derive(Clone, Debug)]
pub struct Access {
    /// Resolved.
    roots: Vec<PathBuf>,
    trust: Trust,
}

impl Access {
    /// Creates an access to what lies below `roots`.
    ///
    /// # Errors
    /// Fails if a root cannot be resolved.
    pub fn new<P: AsRef<Path>>(
        roots: impl IntoIterator<Item = P>,
        trust: Trust,
    ) -> Result<Self, FileError> {
        let resolve = |root: P| {
            let root = root.as_ref();
            fs::canonicalize(root).map_err(|error| FileError::new(root, error))
        };
        let roots = roots.into_iter().map(resolve).collect::<Result<_, _>>()?;
        Ok(Self { roots, trust })
    }

    /// Returns what repositories may refer to.
    #[must_use]
    pub const fn trust(&self) -> Trust {
        self.trust
    }

    /// Resolves links and `..`. Fails if the result lies outside the roots.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, FileError> {
        let resolved = fs::canonicalize(path).map_err(|error| FileError::new(path, error))?;
        if self.trust == Trust::Everything
            || self.roots.iter().any(|root| resolved.starts_with(root))
        {
            return Ok(resolved);
        }
        Err(FileError::new(path, FileProblem::OutsideRoots(resolved)))
    }

    /// Returns `true` if there is something at `path` that may be looked at.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.resolve(path).is_ok()
    }

    /// Returns `true` for a directory that may be entered.
    pub(crate) fn is_dir(&self, path: &Path) -> bool {
        self.resolve(path).is_ok_and(|resolved| resolved.is_dir())
    }

    /// Opens a regular file.
    pub(crate) fn open(&self, path: &Path) -> Result<SourceFile, FileError> {
        let resolved = self.resolve(path)?;
        Self::open_resolved(&resolved).map_err(|problem| FileError::new(path, problem))
    }

    /// Opens a regular file whose directory was resolved before. Refuses a link.
    pub(crate) fn open_entry(directory: &Path, name: &Path) -> Result<SourceFile, FileError> {
        let path = directory.join(name);
        Self::open_resolved(&path).map_err(|problem| FileError::new(path, problem))
    }

    fn open_resolved(path: &Path) -> Result<SourceFile, FileProblem> {
        // A pipe would block, and a device may do anything when it is opened.
        if !fs::symlink_metadata(path)?.file_type().is_file() {
            return Err(FileProblem::WrongType);
        }
        SourceFile::open(path)
    }

    /// Reads a whole file of at most `limit` bytes. Returns `None` if there is none.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        let file = match self.open(path) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let too_large = |size| FileError::new(path, FileProblem::TooLarge { size, limit });
        if file.len() > limit {
            return Err(too_large(file.len()));
        }
        let mut content = Vec::new();
        // Grows as bytes arrive: the length of a sparse file proves nothing.
        let mut reader = file.reader().take(limit.saturating_add(1));
        reader.read_to_end(&mut content).map_err(|error| FileError::new(path, error))?;
        if content.len() as u64 > limit {
            return Err(too_large(content.len() as u64));
        }
        Ok(Some(content))
    }

    /// Lists a directory, sorted by name. Returns nothing if there is none.
    pub(crate) fn list(&self, path: &Path, most: usize) -> Result<Vec<DirEntry>, FileError> {
        let resolved = match self.resolve(path) {
            Ok(resolved) => resolved,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        Self::list_resolved(&resolved, most)
    }

    /// Lists a directory that was resolved before, sorted by name.
    pub(crate) fn list_resolved(path: &Path, most: usize) -> Result<Vec<DirEntry>, FileError> {
        let failed = |error: io::Error| FileError::new(path, error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entries.len() == most {
                return Err(FileError::new(
                    path,
                    FileProblem::TooLarge { size: most as u64 + 1, limit: most as u64 },
                ));
            }
            let kind = entry.file_type().map_err(failed)?;
            entries.push(DirEntry { path: entry.path(), is_dir: kind.is_dir() });
        }
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }
}

/// An entry of a directory. Links count as files: opening them checks where they lead.
#[derive(Debug)]
pub(crate) struct DirEntry {
    pub path: PathBuf,
    pub is_dir: bool,
}

impl DirEntry {
    /// Returns the name as bytes. (On Windows, as UTF-8.)
    pub(crate) fn name(&self) -> &[u8] {
        self.path.file_name().map_or(&[], |name| name.as_encoded_bytes())
    }
}
