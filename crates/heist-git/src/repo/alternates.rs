//! Alternates: other object stores that this one builds upon.

use crate::access::Access;
use crate::bytes::{lines, to_path};
use crate::problem::{FileError, FileProblem};
use std::path::{Path, PathBuf};

/// How many alternates may refer to the next; git has the same limit.
const DEPTH_MAX: usize = 5;

/// The most object directories of one repository.
const DIRECTORIES_MAX: usize = 1000;

const FILE_MAX: u64 = 1 << 20;

/// The object directories of a repository, its own first, and what was refused.
#[derive(Debug, Default)]
pub(crate) struct ObjectDirs {
    /// Resolved, each once.
    pub dirs: Vec<PathBuf>,
    pub refused: Vec<FileError>,
}

impl ObjectDirs {
    /// Follows `objects/info/alternates` from `own` on. A directory that was seen is not followed
    /// again, so a cycle ends.
    pub(crate) fn find(own: &Path, access: &Access) -> Result<Self, FileError> {
        let own = access.resolve(own)?;
        let mut found = Self { dirs: vec![own], refused: Vec::new() };
        let mut next = 0;
        for depth in 0.. {
            let last = found.dirs.len();
            if next == last {
                break;
            }
            for dir in next..last {
                found.read(dir, depth, access);
            }
            next = last;
        }
        Ok(found)
    }

    fn read(&mut self, dir: usize, depth: usize, access: &Access) {
        let objects = self.dirs[dir].clone();
        let path = objects.join("info").join("alternates");
        let text = match access.read(&path, FILE_MAX) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return self.refused.push(error),
        };
        for line in lines(&text) {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if depth == DEPTH_MAX || self.dirs.len() == DIRECTORIES_MAX {
                let problem = FileProblem::Unsupported("alternates of that many alternates");
                return self.refused.push(FileError::new(path, problem));
            }
            let line = unquoted(line);
            match access.resolve(&objects.join(to_path(&line))) {
                Ok(resolved) if !resolved.is_dir() => {
                    self.refused.push(FileError::new(resolved, FileProblem::WrongType));
                }
                Ok(resolved) if self.dirs.contains(&resolved) => {}
                Ok(resolved) => self.dirs.push(resolved),
                Err(error) => self.refused.push(error),
            }
        }
    }
}

/// Removes the quotes that git puts around odd paths, and the escapes in them.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let Some(inner) = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return line.to_vec();
    };
    let mut out = Vec::new();
    let mut rest = inner.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next() {
            Some(&digit @ b'0'..=b'3') => {
                let mut value = digit - b'0';
                for _ in 0..2 {
                    let Some(&digit @ b'0'..=b'7') = rest.next() else { return line.to_vec() };
                    value = value << 3 | (digit - b'0');
                }
                out.push(value);
            }
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(&other) => out.push(other),
            None => return line.to_vec(),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_lose_their_quotes() {
        assert_eq!(unquoted(b"/a b"), b"/a b");
        assert_eq!(unquoted(br#""/a\"\\\303\244\tb""#), "/a\"\\ä\tb".as_bytes());
        assert_eq!(unquoted(br#""/a\30""#), br#""/a\30""#);
        assert_eq!(unquoted(b"\""), b"\"");
    }
}
