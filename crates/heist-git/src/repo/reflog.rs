//! Reflogs: where refs pointed before. They know commits that no ref reaches any more: dropped
//! stashes, deleted and rewritten branches.

use super::layout::Layout;
use crate::access::Access;
use crate::bytes::{lines, split_once};
use crate::id::ObjectId;
use crate::parse::Signature;
use crate::problem::FileError;
use std::path::PathBuf;

const LOG_MAX: u64 = 64 << 20;

/// The most reflogs that are read.
const LOGS_MAX: usize = 100_000;

/// One line of a reflog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflogEntry<'a> {
    /// Where the ref pointed; all zeros if it was new.
    pub old: ObjectId,
    /// Where it points from then on; all zeros if it was deleted.
    pub new: ObjectId,
    /// Who changed it, and when.
    pub by: Signature<'a>,
    /// Why.
    pub message: &'a [u8],
}

impl<'a> ReflogEntry<'a> {
    /// Parses a line. Returns `None` if it has no two ids.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (old, rest) = split_once(line, b' ')?;
        let (new, rest) = split_once(rest, b' ')?;
        let (by, message) = split_once(rest, b'\t').unwrap_or((rest, &[]));
        Some(Self {
            old: ObjectId::from_hex(old)?,
            new: ObjectId::from_hex(new)?,
            by: Signature::parse(by),
            message,
        })
    }
}

impl Layout {
    /// Calls `visit` with the name of the ref and each line of every reflog, including those of the
    /// linked work trees' `HEAD`s. Lines without two ids are passed over. Returns what could not be
    /// read.
    pub fn reflogs(
        &self,
        access: &Access,
        mut visit: impl FnMut(&[u8], ReflogEntry<'_>),
    ) -> Vec<FileError> {
        let mut problems = Vec::new();
        let mut places: Vec<(PathBuf, Vec<u8>)> = vec![(self.common_dir().join("logs"), vec![])];
        match self.linked_work_trees(access) {
            Ok(linked) => places.extend(linked.into_iter().map(|private| {
                let name = private.file_name().map(|name| name.as_encoded_bytes().to_vec());
                let name = [b"worktrees/".as_slice(), &name.unwrap_or_default()].concat();
                (private.join("logs"), name)
            })),
            Err(error) => problems.push(error),
        }
        let mut left = LOGS_MAX;
        while let Some((place, name)) = places.pop() {
            let entries = match access.list(&place, left) {
                Ok(entries) => entries,
                Err(error) => {
                    problems.push(error);
                    continue;
                }
            };
            left = left.saturating_sub(entries.len());
            for entry in entries {
                let mut full = name.clone();
                if !full.is_empty() {
                    full.push(b'/');
                }
                full.extend_from_slice(entry.name());
                if entry.is_dir {
                    places.push((entry.path, full));
                    continue;
                }
                match access.read(&entry.path, LOG_MAX) {
                    Ok(text) => lines(&text.unwrap_or_default())
                        .filter_map(ReflogEntry::parse)
                        .for_each(|line| visit(&full, line)),
                    Err(error) => problems.push(error),
                }
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_two_ids() {
        let zeros = "0".repeat(40);
        let ones = "1".repeat(40);
        let line = format!("{zeros} {ones} A <a@b> 12 +0100\tcommit: x");
        let entry = ReflogEntry::parse(line.as_bytes()).unwrap();
        assert!(entry.old.is_null() && !entry.new.is_null());
        assert_eq!((entry.by.seconds, entry.message), (12, &b"commit: x"[..]));
        assert_eq!(ReflogEntry::parse(format!("{zeros} {zeros}").as_bytes()), None);
        assert_eq!(ReflogEntry::parse(b"x y z"), None);
    }
}
