//! [`HookError`]: why a hook cannot be installed or removed.

use crate::error::{CliError, reason};
use crate::escape;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a hook cannot be installed or removed.
#[derive(Debug)]
pub(crate) enum HookError {
    /// There is a hook that heist did not write, in the place of the one to install.
    Foreign(PathBuf),
    /// The hook to remove was not written by heist.
    NotOurs(PathBuf),
    /// The repository belongs to another user, who chose its configuration.
    NotOwn(PathBuf),
    /// The hook, or the configuration that says where it is, cannot be read.
    Unreadable { path: PathBuf, source: io::Error },
    /// The hook cannot be written or removed.
    Unwritable { path: PathBuf, source: io::Error },
    /// The system does not say where heist is.
    OwnPath(io::Error),
}

impl HookError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> String {
        let text = match self {
            Self::Foreign(_) => {
                "add the line `heist scan --staged || exit 1` to that hook; if a tool such as \
                 pre-commit or husky wrote it, add heist to the configuration of the tool"
            }
            Self::NotOurs(_) => "remove the line of heist from it by hand",
            Self::NotOwn(_) => "install the hook as the owner of the repository",
            Self::Unreadable { .. } | Self::Unwritable { .. } => {
                "check the permissions of the repository"
            }
            Self::OwnPath(_) => "start heist by its absolute path",
        };
        text.to_owned()
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| escape::for_terminal(path.as_os_str()).into_owned();
        match self {
            Self::Foreign(path) => {
                write!(f, "'{}' is a hook that heist did not write; it stays", shown(path))
            }
            Self::NotOurs(path) => {
                write!(f, "heist did not write the hook '{}', so it stays", shown(path))
            }
            Self::NotOwn(path) => {
                write!(f, "the repository '{}' belongs to another user", shown(path))
            }
            Self::Unreadable { path, source } => {
                write!(f, "cannot read '{}': {}", shown(path), reason(source))
            }
            Self::Unwritable { path, source } => {
                write!(f, "cannot change '{}': {}", shown(path), reason(source))
            }
            Self::OwnPath(source) => {
                write!(f, "cannot find the path of heist: {}", reason(source))
            }
        }
    }
}

impl std::error::Error for HookError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. }
            | Self::Unwritable { source, .. }
            | Self::OwnPath(source) => Some(source),
            Self::Foreign(_) | Self::NotOurs(_) | Self::NotOwn(_) => None,
        }
    }
}

impl From<HookError> for CliError {
    fn from(error: HookError) -> Self {
        Self::Hook(error)
    }
}
