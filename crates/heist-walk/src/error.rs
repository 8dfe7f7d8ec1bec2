//! [`WalkError`]: what went wrong at one place of the tree, while the walk goes on everywhere else.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What the walk was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a directory.
    OpenDirectory,
    /// Reading a directory's entries. Those that were read before are visited; the rest is missing.
    ReadDirectory,
    /// Asking for an entry's metadata.
    ReadMetadata,
    /// Following a symbolic link.
    FollowLink,
    /// Reading a file of ignore rules. The directory is walked without these rules.
    ReadIgnoreFile,
    /// Opening a directory a second time, after its descriptor had been needed elsewhere.
    ReopenDirectory,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenDirectory => "cannot open directory",
            Self::ReadDirectory => "cannot read directory",
            Self::ReadMetadata => "cannot access",
            Self::FollowLink => "cannot follow symbolic link",
            Self::ReadIgnoreFile => "cannot use ignore rules of",
            Self::ReopenDirectory => "cannot open directory again",
        })
    }
}

/// One entry that could not be visited, or not completely.
#[derive(Debug)]
#[non_exhaustive]
pub struct WalkError {
    /// Which entry.
    pub path: PathBuf,
    /// How far below its root: 0 for the root itself.
    pub depth: usize,
    /// What failed.
    pub operation: Operation,
    /// Why.
    pub source: io::Error,
}

impl WalkError {
    /// An error at `path`.
    #[must_use]
    pub fn new(path: &Path, depth: usize, operation: Operation, source: io::Error) -> Self {
        Self { path: path.to_path_buf(), depth, operation, source }
    }

    /// Whether this is a symbolic link that was not followed because it leads back to a directory that it is in. What
    /// it leads to is visited all the same.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        let refusal = self.source.get_ref().and_then(|source| source.downcast_ref::<Refusal>());
        refusal == Some(&Refusal::Loop)
    }
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}': {}", self.operation, self.path.display(), self.source)
    }
}

impl std::error::Error for WalkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why a directory was not entered, or not read to its end, though no system call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A link that leads back to a directory that it is in.
    Loop,
    /// Not the directory that it was before.
    Replaced,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loop => "it leads back to a directory that it is in",
            Self::Replaced => "it was replaced by another one during the walk",
        })
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(crate) fn into_io_error(self) -> io::Error {
        io::Error::other(self)
    }
}
