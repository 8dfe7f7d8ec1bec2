//! [`WalkError`], a problem with one entry of the tree, and [`WalkStartError`], which keeps a walk
//! from starting.

use heist::{ConfigError, StartError};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// What the walk was doing when an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a directory.
    OpenDirectory,
    /// Reading a directory's entries. The walk visits the entries it read before the error; the
    /// others are missing.
    ReadDirectory,
    /// Reading the metadata of an entry.
    ReadMetadata,
    /// Following a symbolic link.
    FollowLink,
    /// Reading a file with ignore rules. The walk visits the directory without these rules.
    ReadIgnoreFile,
    /// Opening a directory a second time, after the walk had closed it to free its descriptor.
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
            Self::ReopenDirectory => "cannot reopen directory",
        })
    }
}

/// An entry that could not be visited, or only in part.
#[derive(Debug)]
#[non_exhaustive]
pub struct WalkError {
    /// The path of the entry.
    pub path: PathBuf,
    /// The depth of the entry below its root. The root itself has depth 0.
    pub depth: usize,
    /// The operation that failed.
    pub operation: Operation,
    /// Why it failed.
    pub source: io::Error,
}

impl WalkError {
    /// Creates an error about `path`.
    #[must_use]
    pub fn new(
        path: impl Into<PathBuf>,
        depth: usize,
        operation: Operation,
        source: io::Error,
    ) -> Self {
        Self { path: path.into(), depth, operation, source }
    }

    /// Returns `true` for a symbolic link that was not followed because it leads back to a
    /// directory that contains it. The walk visits that directory anyway.
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

/// How many threads a walk can have: as many as its executor can have workers.
pub(crate) const THREADS_MAX: usize = 4096;

/// Why a walk could not start.
///
/// Once a walk has started it does not fail: problems in the tree are [`WalkError`]s.
#[derive(Debug)]
#[non_exhaustive]
pub enum WalkStartError {
    /// [`Walk::threads`](crate::Walk::threads) requested 0 threads, or more than heist supports.
    Threads {
        /// The number of threads requested.
        threads: usize,
        /// The limit that this number violates.
        source: ConfigError,
    },
    /// [`Walk::executor`](crate::Walk::executor) set a field to a value that cannot be used.
    Setting(ConfigError),
    /// The system refused to start a thread. The walk has already ended the threads it had started.
    SpawnThread {
        /// The number of the refused thread, counted from 0.
        thread: usize,
        /// The error of the system.
        source: io::Error,
    },
}

impl fmt::Display for WalkStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads { threads: 0, .. } => {
                f.write_str("the number of threads must be at least 1, but is 0")
            }
            Self::Threads { threads, .. } => {
                write!(f, "the number of threads must be at most {THREADS_MAX}, but is {threads}")
            }
            Self::Setting(error) => error.fmt(f),
            Self::SpawnThread { thread, source } => write!(
                f,
                "cannot start thread {thread} of the walk: {source}; use fewer threads or a \
                 smaller `stack_size`, or raise the system's limit on threads"
            ),
        }
    }
}

impl std::error::Error for WalkStartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Threads { source, .. } => Some(source),
            // Its text is this error's own text.
            Self::Setting(_) => None,
            Self::SpawnThread { source, .. } => Some(source),
        }
    }
}

impl WalkStartError {
    /// Translates an error of the executor, given the walk's setting for the number of threads.
    pub(crate) fn from_executor(error: StartError, threads: Option<usize>) -> Self {
        match (error, threads) {
            (StartError::Config(source), Some(threads)) if source.field() == "threads" => {
                Self::Threads { threads, source }
            }
            (StartError::Config(source), _) => Self::Setting(source),
            (StartError::Thread { worker, source }, _) => {
                Self::SpawnThread { thread: worker, source }
            }
            (other, _) => Self::SpawnThread { thread: 0, source: io::Error::other(other) },
        }
    }
}

/// Turns the error back into the executor's, for programs that report both in the same way.
impl From<WalkStartError> for StartError {
    fn from(error: WalkStartError) -> Self {
        match error {
            WalkStartError::Threads { source, .. } | WalkStartError::Setting(source) => {
                Self::Config(source)
            }
            WalkStartError::SpawnThread { thread, source } => {
                Self::Thread { worker: thread, source }
            }
        }
    }
}

/// Why the walk did not enter a directory, or stopped reading it, although no system call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A link leads back to a directory that contains it.
    Loop,
    /// The path now leads to a different directory than before.
    Replaced,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loop => "it leads back to a directory that contains it",
            Self::Replaced => {
                "it was replaced during the walk; walk it again to see what is there now"
            }
        })
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(crate) fn into_io_error(self) -> io::Error {
        io::Error::other(self)
    }
}
