//! [`StagedPlace`]: which repository and which index.
//!
//! Without a PATH, the variables count that git sets for its hooks: `GIT_DIR`, `GIT_WORK_TREE` and
//! `GIT_INDEX_FILE` (`git commit FILE` writes an index of its own). They come from the user and not
//! from a repository, so what they name is trusted. Otherwise the nearest directory with a `.git`
//! counts, at the PATH or above it. If that `.git` belongs to the user or to root, it may refer to
//! other places, as that of a linked work tree does. If it belongs to someone else, only what is
//! below the work tree is read.

use super::StagedError;
use crate::scan::settings::is_stdin;
use heist_git::{Access, Layout, Trust};
use std::env::var_os;
use std::path::{Path, PathBuf};

/// A repository whose staged files are scanned.
#[derive(Debug)]
pub(crate) struct StagedPlace {
    /// The root of the work tree, as reports show it.
    root: PathBuf,
    pub(super) layout: Layout,
    pub(super) access: Access,
    /// The path of the index file.
    pub(super) index: PathBuf,
}

impl StagedPlace {
    /// Finds the repository.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self, StagedError> {
        if paths.len() > 1 || paths.iter().any(|path| is_stdin(path)) {
            return Err(StagedError::Paths);
        }
        let index = var_os("GIT_INDEX_FILE").filter(|_| paths.is_empty()).map(PathBuf::from);
        if let (Some(git_dir), true) = (var_os("GIT_DIR"), paths.is_empty()) {
            let root = var_os("GIT_WORK_TREE").map_or(PathBuf::from("."), PathBuf::from);
            let access = Access::new([&root], Trust::Everything)?;
            let layout = Layout::open(PathBuf::from(git_dir), &access)?;
            return Ok(Self::new(root, layout, access, index));
        }
        let start = paths.first().map_or(Path::new("."), PathBuf::as_path);
        let none = || StagedError::NoRepository(start.to_owned());
        let real = start.canonicalize().map_err(|_| none())?;
        let has_git = |place: &&Path| place.join(".git").symlink_metadata().is_ok();
        let Some(root) = real.ancestors().find(has_git) else {
            let access = Access::new([&real], Trust::RootsOnly)?;
            return Err(match Layout::open(&real, &access) {
                Ok(_) => StagedError::NoWorkTree(start.to_owned()),
                Err(_) => none(),
            });
        };
        let trust = if is_own(&root.join(".git")) { Trust::Everything } else { Trust::RootsOnly };
        let access = Access::new([root], trust)?;
        let layout = Layout::open(root, &access)?;
        Ok(Self::new(shown(start, &real, root), layout, access, index))
    }

    fn new(root: PathBuf, layout: Layout, access: Access, index: Option<PathBuf>) -> Self {
        let index = index.unwrap_or_else(|| layout.git_dir().join("index"));
        Self { root, layout, access, index }
    }

    /// Returns the directory of what all work trees of the repository share.
    pub(crate) fn common_dir(&self) -> &Path {
        self.layout.common_dir()
    }

    /// Returns `true` if the repository is the user's own.
    pub(crate) fn is_trusted(&self) -> bool {
        self.access.trust() == Trust::Everything
    }

    /// Returns the root of the work tree, as reports show it: it takes the place of the PATHs.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

/// Returns `root`, which is `start` or above it, as reports show it.
fn shown(start: &Path, real: &Path, root: &Path) -> PathBuf {
    let below = real.strip_prefix(root).map_or(0, |below| below.components().count());
    match below {
        0 => start.to_owned(),
        // From the current directory, the way is known, whatever links lead to it.
        _ if start == Path::new(".") => std::iter::repeat_n("..", below).collect(),
        _ => root.to_owned(),
    }
}

/// Returns `true` if a file belongs to the user or to root.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    path.symlink_metadata().is_ok_and(|found| found.uid() == user || found.uid() == 0)
}

#[cfg(not(unix))]
fn is_own(_path: &Path) -> bool {
    true
}
