//! [`OutputPathError`]: why a path cannot become an output file.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a path cannot become an output file.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutputPathError {
    /// The path is a symbolic link.
    Link,
    /// A directory of the path is a symbolic link inside an untrusted directory.
    LinkInUntrusted {
        /// The link.
        link: PathBuf,
    },
    /// The file is in an untrusted directory and has several names (hard links).
    SeveralNames,
    /// The path exists and is not a regular file.
    NotRegular {
        /// What it is, such as "a directory".
        kind: &'static str,
    },
    /// The path ends with no file name.
    NoName,
    /// The system refuses an operation.
    Io(io::Error),
}

impl fmt::Display for OutputPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link => f.write_str("it is a symbolic link"),
            Self::LinkInUntrusted { link } => {
                write!(f, "its directory {link:?} is a symbolic link")
            }
            Self::SeveralNames => f.write_str("it is a file with several names (hard links)"),
            Self::NotRegular { kind } => write!(f, "it is {kind}, not a regular file"),
            Self::NoName => f.write_str("the path has no file name"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OutputPathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for OutputPathError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(unix)]
impl From<rustix::io::Errno> for OutputPathError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

impl From<OutputPathError> for io::Error {
    fn from(error: OutputPathError) -> Self {
        match error {
            OutputPathError::Io(error) => error,
            OutputPathError::NotRegular { kind: "a directory" } => {
                Self::new(io::ErrorKind::IsADirectory, error)
            }
            other => Self::new(io::ErrorKind::InvalidInput, other),
        }
    }
}
