//! [`DuError`]: what can be wrong with the options and the input of `heist du`.

use super::arguments::DuFormat;
use crate::error::reason;
use crate::escape;
use heist_walk::FilterError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why `heist du` cannot do what its options ask for.
#[derive(Debug)]
pub(crate) enum DuError {
    /// The option does not work with the format, only with the `allowed` ones.
    OptionAndFormat { option: &'static str, format: DuFormat, allowed: Vec<DuFormat> },
    /// The file of `--files0-from` is empty.
    NoPaths { file: PathBuf },
    /// The file of `--files0-from` has an empty path. Paths are counted from 1.
    EmptyPath { file: PathBuf, number: usize },
    /// The file of `--files0-from` has a path that this system cannot represent.
    PathNotText { file: PathBuf, number: usize },
    /// A line of an `--exclude-from` file is not a valid glob.
    ExcludeLine { file: PathBuf, line: usize, source: FilterError },
    /// A line of an `--exclude-from` file is not UTF-8.
    ExcludeLineNotUtf8 { file: PathBuf, line: usize },
    /// `--format ncdu` exports one directory, and there is not exactly one PATH.
    NcduNeedsOnePath,
    /// The directory to export cannot be read.
    NcduRead { path: PathBuf, source: io::Error },
    /// The PATH to export is a symbolic link, and links are not followed.
    NcduSymlink { path: PathBuf },
    /// The PATH to export is not a directory.
    NcduNotADirectory { path: PathBuf },
}

impl DuError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> Option<String> {
        let text = match self {
            Self::OptionAndFormat { option, allowed, .. } => {
                let allowed: Vec<&str> = allowed.iter().map(|format| format.name()).collect();
                let allowed = allowed.join(" or ");
                return Some(format!("leave out {option}, or use --format {allowed}"));
            }
            Self::NoPaths { .. } => "write paths to it, and end each one with a NUL byte",
            Self::EmptyPath { .. } => "remove the extra NUL byte",
            Self::ExcludeLine { .. } => "write each line as in a `.gitignore`",
            Self::ExcludeLineNotUtf8 { .. } => "use `?` or `*` for the other bytes",
            Self::NcduNeedsOnePath | Self::NcduNotADirectory { .. } => "give one directory",
            Self::NcduSymlink { .. } => "follow it with -D",
            Self::PathNotText { .. } | Self::NcduRead { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl fmt::Display for DuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| escape::for_terminal(path.as_os_str()).into_owned();
        match self {
            Self::OptionAndFormat { option, format, .. } => {
                write!(f, "{option} cannot be used with --format {}", format.name())
            }
            Self::NoPaths { file } => write!(f, "there are no paths in '{}'", shown(file)),
            Self::EmptyPath { file, number } => {
                write!(f, "path {number} in '{}' is empty", shown(file))
            }
            Self::PathNotText { file, number } => {
                write!(f, "path {number} in '{}' is not valid text on this system", shown(file))
            }
            Self::ExcludeLine { file, line, source } => write!(
                f,
                "line {line} of '{}': {}",
                shown(file),
                escape::visible(&source.to_string())
            ),
            Self::ExcludeLineNotUtf8 { file, line } => {
                write!(f, "line {line} of '{}' is not UTF-8", shown(file))
            }
            Self::NcduNeedsOnePath => f.write_str("--format ncdu exports exactly one directory"),
            Self::NcduRead { path, source } => {
                write!(f, "cannot export '{}': {}", shown(path), reason(source))
            }
            Self::NcduSymlink { path } => {
                write!(f, "cannot export '{}': it is a symbolic link", shown(path))
            }
            Self::NcduNotADirectory { path } => {
                write!(f, "cannot export '{}': it is not a directory", shown(path))
            }
        }
    }
}

impl std::error::Error for DuError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::ExcludeLine { source, .. } => Some(source),
            Self::NcduRead { source, .. } => Some(source),
            _ => None,
        }
    }
}
