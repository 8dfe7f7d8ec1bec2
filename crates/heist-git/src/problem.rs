//! Why a file of a repository, or an object, could not be read.

use crate::id::ObjectId;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// The system refused an operation.
    Io(io::ErrorKind),
    /// It is not a regular file, or not a directory where one belongs.
    WrongType,
    /// It leads out of the roots, to this place, and the roots are all that is trusted.
    OutsideRoots(PathBuf),
    /// It is larger than the limit for files of its kind.
    TooLarge {
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Its content is not what git writes.
    Malformed(&'static str),
    /// It has a form that this crate does not read.
    Unsupported(&'static str),
}

impl From<io::Error> for FileProblem {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(kind) => write!(f, "{kind}"),
            Self::WrongType => f.write_str("neither a regular file nor a directory in its place"),
            Self::OutsideRoots(target) => {
                write!(f, "leads out of the scanned roots, to {}", target.display())
            }
            Self::TooLarge { size, limit } => {
                write!(f, "has {size} bytes, and the limit is {limit}")
            }
            Self::Malformed(what) => write!(f, "is damaged: {what}"),
            Self::Unsupported(what) => write!(f, "is not supported: {what}"),
        }
    }
}

/// A file of a repository that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    path: PathBuf,
    problem: FileProblem,
}

impl FileError {
    pub(crate) fn new(path: impl Into<PathBuf>, problem: impl Into<FileProblem>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is wrong with it.
    #[must_use]
    pub fn problem(&self) -> &FileProblem {
        &self.problem
    }

    /// Returns `true` if there is no such file.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.problem, FileProblem::Io(io::ErrorKind::NotFound))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl Error for FileError {}

/// Why an object could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// The repository does not have it. In a shallow or partial clone, that is to be expected.
    Missing,
    /// It is a delta, and its base is missing.
    MissingBase(Option<ObjectId>),
    /// It is a delta, and its base is damaged, too large or was cut.
    UnreadableBase,
    /// It is a delta against itself, directly or through others, or one of a chain that is longer
    /// than git makes them.
    EndlessChain,
    /// Its bytes are not what git writes.
    Corrupt(&'static str),
    /// It is larger than the limit for objects.
    TooLarge {
        /// The size in bytes that its header states.
        size: u64,
    },
    /// The system refused to read it.
    Io(io::ErrorKind),
    /// The scan was stopped, or a limit for the whole repository was reached, before its turn.
    Cut,
}

impl From<io::Error> for ObjectError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::Corrupt("the file ends within the object");
        }
        Self::Io(error.kind())
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::MissingBase(Some(base)) => write!(f, "its delta base {base} is missing"),
            Self::MissingBase(None) => f.write_str("its delta base is missing"),
            Self::UnreadableBase => f.write_str("its delta base cannot be read"),
            Self::EndlessChain => f.write_str("its chain of deltas is too long or does not end"),
            Self::Corrupt(what) => write!(f, "corrupt: {what}"),
            Self::TooLarge { size } => write!(f, "too large: {size} bytes"),
            Self::Io(kind) => write!(f, "cannot be read: {kind}"),
            Self::Cut => f.write_str("not read before the scan was stopped"),
        }
    }
}

impl Error for ObjectError {}
