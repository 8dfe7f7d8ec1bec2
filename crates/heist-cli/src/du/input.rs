//! What is walked: the roots and the filter, from the command line and from the files that it names.

use super::arguments::{DuArguments, Format, SelectionArguments};
use crate::escape;
use crate::messages::reason;
use heist_walk::{Filter, Symlinks};
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Which links are followed.
pub(crate) fn symlinks(selection: &SelectionArguments) -> Symlinks {
    if selection.dereference {
        Symlinks::Always
    } else if selection.dereference_args {
        Symlinks::Roots
    } else {
        Symlinks::Never
    }
}

/// Where the walk starts. What `--exclude` names is left out here, too: of `/*`, say.
///
/// # Errors
/// A file of paths cannot be read or has none, or the format cannot show what was asked for; the text says which.
pub(crate) fn roots(arguments: &DuArguments, filter: &Filter) -> Result<Vec<PathBuf>, String> {
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
        return Err(format!("--exclude: {error}"));
    }
    if arguments.format == Format::Ncdu {
        return ncdu_root(&roots, symlinks(&arguments.selection));
    }
    Ok(roots)
}

fn paths_in(file: &Path) -> Result<Vec<PathBuf>, String> {
    let bytes = contents(file)?;
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Err(format!("no paths in '{}'", shown(file)));
    }
    let mut paths = Vec::new();
    for (number, path) in (1..).zip(bytes.split(|byte| *byte == 0)) {
        if path.is_empty() {
            return Err(format!("path {number} in '{}' is empty; remove it", shown(file)));
        }
        paths.push(PathBuf::from(os_str(path).ok_or_else(|| {
            format!("path {number} in '{}' is not valid text on this system", shown(file))
        })?));
    }
    Ok(paths)
}

/// ncdu has one directory at its top, and shows its whole path.
fn ncdu_root(roots: &[PathBuf], symlinks: Symlinks) -> Result<Vec<PathBuf>, String> {
    let [root] = roots else {
        return Err("--format ncdu exports one directory; give one PATH".into());
    };
    let cannot = |why: &str| format!("cannot export '{}': {why}", shown(root));
    let is_link = root.symlink_metadata().map_err(|error| cannot(&reason(&error)))?.is_symlink();
    if is_link && symlinks == Symlinks::Never {
        return Err(cannot("it is a symbolic link; follow it with -D"));
    }
    let path = root.canonicalize().map_err(|error| cannot(&reason(&error)))?;
    if !path.is_dir() {
        return Err(cannot("it is not a directory; --format ncdu exports one directory"));
    }
    Ok(vec![path])
}

/// What is left out.
///
/// # Errors
/// A glob is not valid, or a file of globs cannot be read; the text says which.
pub(crate) fn filter(selection: &SelectionArguments) -> Result<Filter, String> {
    let mut filter = Filter::new()
        .skip_hidden(selection.no_hidden)
        .ignore_files(selection.gitignore)
        .git_ignore(selection.gitignore)
        .git_exclude(selection.gitignore)
        .git_global(selection.gitignore);
    for glob in &selection.exclude {
        filter = filter.exclude(glob).map_err(|error| format!("--exclude: {error}"))?;
    }
    for file in &selection.exclude_from {
        let bytes = contents(file)?;
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let at = |why: &str| format!("line {number} of '{}': {why}", shown(file));
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // As in a `.gitignore`.
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let glob = std::str::from_utf8(line).map_err(|_| at("not UTF-8; use `?` or `*`"))?;
            filter = filter.exclude(glob).map_err(|error| at(&error.to_string()))?;
        }
    }
    Ok(filter)
}

/// A file whole; `-` is stdin.
fn contents(file: &Path) -> Result<Vec<u8>, String> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| format!("cannot read '{}': {}", shown(file), reason(&error)))
}

fn shown(path: &Path) -> std::borrow::Cow<'_, str> {
    escape::for_terminal(path.as_os_str())
}

#[cfg(unix)]
fn os_str(bytes: &[u8]) -> Option<&OsStr> {
    Some(std::os::unix::ffi::OsStrExt::from_bytes(bytes))
}

#[cfg(not(unix))]
fn os_str(bytes: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}
