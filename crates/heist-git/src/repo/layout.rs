//! Where a repository keeps its parts: work trees, bare repositories, linked work trees,
//! submodules.

use super::config::{CONFIG_BYTES_MAX, Config};
use crate::access::Access;
use crate::bytes::to_path;
use crate::id::HashKind;
use crate::problem::{FileError, FileProblem};
use std::path::{Path, PathBuf};

/// A path in a `.git` or `commondir` file is no longer than the longest path of a system.
const PATH_FILE_MAX: u64 = 32 << 10;

const NO_REPOSITORY: FileProblem = FileProblem::Malformed("it is not a git repository");

/// The parts of a repository.
#[derive(Clone, Debug)]
pub struct Layout {
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: Option<PathBuf>,
    config: Config,
}

impl Layout {
    /// Finds the parts of the repository at `path`: a work tree (with a `.git` directory or file),
    /// a bare repository, or a `.git` directory itself. Does not look into the parents of `path`.
    ///
    /// # Errors
    /// Fails if there is no repository, if a `.git` or `commondir` file leads out of the roots, or
    /// if the objects have a format that is not known.
    pub fn open(path: impl AsRef<Path>, access: &Access) -> Result<Self, FileError> {
        let path = path.as_ref();
        let dot_git = path.join(".git");
        match access.resolve(&dot_git) {
            Ok(resolved) if resolved.is_dir() => Self::new(resolved, Some(path.into()), access),
            Ok(_) => {
                let git_dir = read_path_file(&dot_git, b"gitdir: ", access)?;
                let resolved = access.resolve(&path.join(git_dir))?;
                Self::new(resolved, Some(path.into()), access)
            }
            Err(error) if error.is_not_found() => Self::new(access.resolve(path)?, None, access),
            Err(error) => Err(error),
        }
    }

    /// Finds the repository at `path` or at the closest of its parents that has one, as git does.
    ///
    /// # Errors
    /// Fails as [`Layout::open`] does. Parents outside the roots are not looked at.
    pub fn discover(path: impl AsRef<Path>, access: &Access) -> Result<Self, FileError> {
        let start = access.resolve(path.as_ref())?;
        for place in start.ancestors() {
            if access.resolve(place).is_err() {
                break;
            }
            if access.exists(&place.join(".git")) || is_git_dir(place, access) {
                return Self::open(place, access);
            }
        }
        Err(FileError::new(path.as_ref(), NO_REPOSITORY))
    }

    fn new(
        git_dir: PathBuf,
        work_tree: Option<PathBuf>,
        access: &Access,
    ) -> Result<Self, FileError> {
        if !is_git_dir(&git_dir, access) {
            return Err(FileError::new(work_tree.unwrap_or(git_dir), NO_REPOSITORY));
        }
        let common = git_dir.join("commondir");
        let common_dir = match access.exists(&common) {
            true => access.resolve(&git_dir.join(read_path_file(&common, b"", access)?))?,
            false => git_dir.clone(),
        };
        let text = access.read(&common_dir.join("config"), CONFIG_BYTES_MAX)?;
        let config = Config::parse(&text.unwrap_or_default());
        if config.is_unknown_hash {
            let problem = FileProblem::Unsupported("its object format");
            return Err(FileError::new(common_dir.join("config"), problem));
        }
        Ok(Self { git_dir, common_dir, work_tree, config })
    }

    /// Returns the directory of this work tree's own files: `HEAD`, the index, its reflog.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the directory of what all work trees share: objects, refs, configuration.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the directory of the objects.
    #[must_use]
    pub fn objects_dir(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// Returns the work tree, if the repository was opened by it. (`core.worktree` is ignored: a
    /// configuration that comes with a repository could name any place.)
    #[must_use]
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Returns `true` for a work tree that was made by `git worktree add`.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir
    }

    /// Returns the hash function of the ids.
    #[must_use]
    pub const fn hash_kind(&self) -> HashKind {
        self.config.hash
    }

    /// Returns `true` if the configuration says that refs are in reftable files, which this crate
    /// does not read.
    #[must_use]
    pub const fn has_reftable(&self) -> bool {
        self.config.is_reftable
    }

    /// Returns `true` for a partial clone according to its configuration: objects may be missing
    /// because they were never fetched.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.config.is_partial
    }
}

/// Returns `true` for a directory that git would take for a repository, or for the private part of
/// a linked work tree.
pub(crate) fn is_git_dir(path: &Path, access: &Access) -> bool {
    // `HEAD` may be a link to a branch that does not exist yet.
    path.join("HEAD").symlink_metadata().is_ok()
        && (access.is_dir(&path.join("objects")) || access.exists(&path.join("commondir")))
}

/// Reads the path in a file of one line that begins with `prefix`.
fn read_path_file(path: &Path, prefix: &[u8], access: &Access) -> Result<PathBuf, FileError> {
    let text = access.read(path, PATH_FILE_MAX)?.unwrap_or_default();
    let line = text.strip_prefix(prefix).map(|line| {
        let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        &line[..end.map_or(0, |last| last + 1)]
    });
    match line {
        Some(line) if !line.is_empty() && !line.contains(&0) => Ok(to_path(line)),
        _ => Err(FileError::new(path, FileProblem::Malformed("it names no directory"))),
    }
}
