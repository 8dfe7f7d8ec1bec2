//! [`StagedError`]: why the staged files cannot be scanned.

use crate::escape;
use heist_git::FileError;
use std::fmt;
use std::path::PathBuf;

/// Why the staged files cannot be scanned.
#[derive(Debug)]
pub(crate) enum StagedError {
    /// More than one PATH is given, or `-`.
    Paths,
    /// There is no repository at this path or above it.
    NoRepository(PathBuf),
    /// The repository has no work tree.
    NoWorkTree(PathBuf),
    /// A file of the repository cannot be read.
    File(FileError),
}

impl StagedError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Paths => "give no PATH, or that of the repository",
            Self::NoRepository(_) => "give the PATH of a work tree of git",
            Self::NoWorkTree(_) => "give the PATH of its work tree",
            Self::File(_) => "`git status` and `git fsck` tell more about the repository",
        }
    }
}

impl fmt::Display for StagedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &PathBuf| escape::for_terminal(path.as_os_str()).into_owned();
        match self {
            Self::Paths => f.write_str("--staged scans one repository"),
            Self::NoRepository(path) => {
                write!(f, "--staged: there is no git repository at '{}' or above it", shown(path))
            }
            Self::NoWorkTree(path) => {
                write!(f, "--staged: the repository '{}' has no work tree", shown(path))
            }
            Self::File(error) => {
                write!(f, "--staged: cannot read {}", escape::visible(&error.to_string()))
            }
        }
    }
}

impl std::error::Error for StagedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FileError> for StagedError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}
