//! The roots and the filter of a walk, from the command line and from the files that it names.

use super::arguments::{DuArguments, DuFormat, DuSelectionArguments};
use super::error::DuError;
use crate::error::CliError;
use crate::scan::origin::{Origin, SettingName};
use crate::scan::stdin;
use heist_walk::{Filter, Symlinks};
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Returns which symbolic links are followed.
pub(crate) fn symlinks(selection: &DuSelectionArguments) -> Symlinks {
    if selection.dereference {
        Symlinks::Always
    } else if selection.dereference_args {
        Symlinks::Roots
    } else {
        Symlinks::Never
    }
}

/// Returns the roots of the walk, without those that `--exclude` matches: the shell may have
/// expanded a pattern such as `/*` to them.
///
/// # Errors
/// The file of `--files0-from` cannot be used, or the format cannot show these roots.
pub(crate) fn roots(arguments: &DuArguments, filter: &Filter) -> Result<Vec<PathBuf>, CliError> {
    let mut roots = match &arguments.selection.files0_from {
        None => arguments.paths.clone(),
        Some(file) => paths_in(file)?,
    };
    let mut too_many = None;
    roots.retain(|root| {
        let excluded = filter.excludes_root(root).map_err(|error| too_many = Some(error));
        !excluded.unwrap_or_default()
    });
    if let Some(error) = too_many {
        return Err(CliError::TooManyGlobs(error));
    }
    if arguments.format == DuFormat::Ncdu {
        return Ok(ncdu_root(&roots, symlinks(&arguments.selection))?);
    }
    Ok(roots)
}

/// Reads the paths of `--files0-from`.
fn paths_in(file: &Path) -> Result<Vec<PathBuf>, CliError> {
    let bytes = contents(file)?;
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Err(DuError::NoPaths { file: file.to_owned() }.into());
    }
    let mut paths = Vec::new();
    for (number, path) in (1..).zip(bytes.split(|byte| *byte == 0)) {
        if path.is_empty() {
            return Err(DuError::EmptyPath { file: file.to_owned(), number }.into());
        }
        let path =
            os_str(path).ok_or_else(|| DuError::PathNotText { file: file.to_owned(), number })?;
        paths.push(PathBuf::from(path));
    }
    Ok(paths)
}

/// Returns the one directory that ncdu has at its top, as an absolute path, because ncdu shows it.
fn ncdu_root(roots: &[PathBuf], symlinks: Symlinks) -> Result<Vec<PathBuf>, DuError> {
    let [root] = roots else {
        return Err(DuError::NcduNeedsOnePath);
    };
    let unreadable = |source: io::Error| DuError::NcduRead { path: root.clone(), source };
    let is_symlink = root.symlink_metadata().map_err(unreadable)?.is_symlink();
    if is_symlink && symlinks == Symlinks::Never {
        return Err(DuError::NcduSymlink { path: root.clone() });
    }
    let path = root.canonicalize().map_err(unreadable)?;
    if !path.is_dir() {
        return Err(DuError::NcduNotADirectory { path: root.clone() });
    }
    Ok(vec![path])
}

/// Returns the filter that decides what the walk skips.
///
/// # Errors
/// A glob is not valid, or a file of globs cannot be read.
pub(crate) fn filter(selection: &DuSelectionArguments) -> Result<Filter, CliError> {
    let mut filter = Filter::new()
        .skip_hidden(selection.no_hidden)
        .ignore_files(selection.gitignore)
        .git_ignore(selection.gitignore)
        .git_exclude(selection.gitignore)
        .git_global(selection.gitignore);
    for glob in &selection.exclude {
        filter = filter.exclude(glob).map_err(|source| CliError::Glob {
            setting: SettingName { origin: Origin::CommandLine, key: "exclude" },
            source,
        })?;
    }
    for file in &selection.exclude_from {
        let bytes = contents(file)?;
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // Comments, as in a `.gitignore`.
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let file = || file.clone();
            let glob = std::str::from_utf8(line)
                .map_err(|_| DuError::ExcludeLineNotUtf8 { file: file(), line: number })?;
            filter = filter.exclude(glob).map_err(|source| DuError::ExcludeLine {
                file: file(),
                line: number,
                source,
            })?;
        }
    }
    Ok(filter)
}

/// Reads a whole file; `-` is stdin.
fn contents(file: &Path) -> Result<Vec<u8>, CliError> {
    let read = if file.as_os_str() == "-" {
        if stdin::is_closed() {
            return Err(CliError::StdinClosed);
        }
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|source| CliError::ReadFile { what: "the file", path: file.to_owned(), source })
}

#[cfg(unix)]
fn os_str(bytes: &[u8]) -> Option<&OsStr> {
    Some(std::os::unix::ffi::OsStrExt::from_bytes(bytes))
}

#[cfg(not(unix))]
fn os_str(bytes: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}
