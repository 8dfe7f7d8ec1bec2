//! Rule files: where they are and what they contain.
//!
//! A line that is not a glob is reported with its number, and the other lines apply. A file that
//! cannot be read is reported. A file that does not exist or is not a regular file has no rules.
//! Nothing here blocks on a named pipe.

use super::RuleError;
use crate::metadata::FileKind;
use crate::sys::{self, Dir};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// A directory that may have rule files.
pub(super) enum RuleDirectory<'a> {
    /// A directory of the walk.
    Open { dir: &'a Dir, path: &'a dyn Fn() -> PathBuf },
    /// A directory above a root. It is not opened, because the process may have the right to pass
    /// through it but not to read it.
    AboveRoot(&'a Path),
}

/// A kind of rule file.
#[derive(Clone, Copy)]
pub(super) enum RuleFile<'a> {
    Custom(&'a [OsString]),
    Ignore,
    GitIgnore,
    /// `.git/info/exclude`, with the kind of `.git`.
    GitExclude(FileKind),
}

impl RuleDirectory<'_> {
    pub(super) fn is_above_root(&self) -> bool {
        matches!(self, Self::AboveRoot(_))
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Open { path, .. } => path(),
            Self::AboveRoot(path) => path.to_path_buf(),
        }
    }

    /// Returns the kind of an entry in this directory, following links, or `None` if it does not
    /// exist.
    pub(super) fn kind_of(&self, name: &OsStr) -> Option<FileKind> {
        let metadata = match self {
            Self::Open { dir, .. } => dir.metadata_of(&sys::boxed_name(name)?, true),
            Self::AboveRoot(path) => sys::metadata_of_root(&path.join(name), true),
        };
        metadata.ok().map(|metadata| metadata.kind)
    }

    /// Reads a file in this directory. Returns `None` if it does not exist.
    fn read(&self, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
        let Self::Open { dir, .. } = self else { return read_path(&self.path().join(name)) };
        let Some(boxed) = sys::boxed_name(name) else { return Ok(None) };
        match dir.read_file(&boxed) {
            // In a directory that may be listed but not searched, even the existence of the file is
            // unknown.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                if self.kind_of(name).is_some() { Err(error) } else { Ok(None) }
            }
            other => other,
        }
    }

    /// Reads the rules of one kind in this directory.
    pub(super) fn rules(&self, file: RuleFile<'_>, errors: &mut Vec<RuleError>) -> Gitignore {
        let mut rules = RuleFileParser { directory: self, builder: None, errors };
        match file {
            RuleFile::Custom(names) => names.iter().for_each(|name| rules.add(name)),
            RuleFile::Ignore => rules.add(OsStr::new(".ignore")),
            RuleFile::GitIgnore => rules.add(OsStr::new(".gitignore")),
            RuleFile::GitExclude(FileKind::File) => rules.add_exclude_of_linked_worktree(),
            RuleFile::GitExclude(_) => rules.add(OsStr::new(".git/info/exclude")),
        }
        rules.build()
    }
}

/// Reads a small file. Returns `None` if it does not exist or is not a regular file.
fn read_path(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match sys::metadata_of_root(path, true) {
        Ok(metadata) if metadata.kind.is_file() => std::fs::read(path).map(Some),
        _ => Ok(None),
    }
}

/// Collects the rules of one kind in one directory.
struct RuleFileParser<'a> {
    directory: &'a RuleDirectory<'a>,
    /// `None` until the first file exists.
    builder: Option<(PathBuf, GitignoreBuilder)>,
    errors: &'a mut Vec<RuleError>,
}

impl RuleFileParser<'_> {
    fn add(&mut self, name: &OsStr) {
        let contents = self.directory.read(name);
        self.add_contents(contents, |directory| directory.join(name));
    }

    /// Adds the exclude file of a linked worktree.
    ///
    /// There, `.git` is a file that names the directory with the worktree's state, and a file in
    /// that directory names the repository.
    fn add_exclude_of_linked_worktree(&mut self) {
        let Some(repository) = self.repository_of_linked_worktree() else { return };
        let path = repository.join("info/exclude");
        self.add_contents(read_path(&path), |_| path.clone());
    }

    fn repository_of_linked_worktree(&self) -> Option<PathBuf> {
        let contents = self.directory.read(OsStr::new(".git")).ok()??;
        let state = path_from(first_line(&contents).strip_prefix(b"gitdir: ")?)?;
        let state = self.directory.path().join(state);
        // A submodule does not have this file. Its exclude file is not read.
        let contents = read_path(&state.join("commondir")).ok()??;
        Some(state.join(path_from(first_line(&contents))?))
    }

    fn add_contents(
        &mut self,
        contents: io::Result<Option<Vec<u8>>>,
        path_in: impl Fn(&Path) -> PathBuf,
    ) {
        let contents = match contents {
            Ok(None) => return,
            Ok(Some(contents)) => contents,
            Err(error) => return self.errors.push((path_in(&self.directory.path()), error)),
        };
        let (directory, builder) = self.builder.get_or_insert_with(|| {
            let directory = self.directory.path();
            let builder = GitignoreBuilder::new(&directory);
            (directory, builder)
        });
        let contents = contents.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&contents);
        for (number, line) in contents.split(|&byte| byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let added = match std::str::from_utf8(line) {
                Ok(line) => {
                    builder.add_line(None, line).map(|_| ()).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            if let Err(reason) = added {
                self.errors.push((path_in(directory), line_error(number + 1, &reason)));
            }
        }
    }

    fn build(self) -> Gitignore {
        let Some((directory, builder)) = self.builder else { return Gitignore::empty() };
        builder.build().unwrap_or_else(|error| {
            report(&directory, error, self.errors);
            Gitignore::empty()
        })
    }
}

fn line_error(number: usize, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {reason}"))
}

/// Adds an error of the `ignore` crate, split into its parts.
pub(super) fn report(path: &Path, error: ignore::Error, errors: &mut Vec<RuleError>) {
    match error {
        ignore::Error::Partial(parts) => {
            for part in parts {
                report(path, part, errors);
            }
        }
        ignore::Error::WithPath { path, err } => report(&path, *err, errors),
        ignore::Error::WithLineNumber { line, err } => {
            let number = usize::try_from(line).unwrap_or(usize::MAX);
            errors.push((path.to_path_buf(), line_error(number, &err.to_string())));
        }
        ignore::Error::Io(error) => errors.push((path.to_path_buf(), error)),
        other => errors.push((path.to_path_buf(), io::Error::other(other))),
    }
}

fn first_line(contents: &[u8]) -> &[u8] {
    let line = contents.split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the path that is written in a file.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not all bytes are a path")]
fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Returns the path that is written in a file.
#[cfg(not(unix))]
fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}
