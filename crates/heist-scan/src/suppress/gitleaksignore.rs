//! [`GitleaksIgnore`]: the findings that a `.gitleaksignore` file lists, one per line:
//! `path:rule:line`.
//!
//! Parsing never fails: a line that cannot be used becomes an [`IgnoreNote`]. Lines with a commit
//! before the path (`commit:path:rule:line`) refer to a git history and not to files, so there is a
//! note about them, too. A path may contain colons and any bytes.
//!
//! Not guaranteed: when a secret moves to another line, its entry no longer applies. A
//! [`Baseline`](super::Baseline) identifies the secret itself instead.

use crate::rules::our_names;
use std::collections::HashSet;
use std::fmt;

/// The lengths of a commit's name: SHA-1 or SHA-256.
const COMMIT_LENGTHS: [usize; 2] = [40, 64];

/// The findings that a `.gitleaksignore` file lists.
///
/// The name of a gitleaks rule also stands for heist's rules for the same secrets.
///
/// # Examples
/// ```
/// use heist_scan::suppress::GitleaksIgnore;
///
/// let (ignored, notes) = GitleaksIgnore::parse(b"# known\nconfig/test.env:generic-secret:12\n");
/// assert!(ignored.contains(b"config/test.env", "generic-secret", 12));
/// assert!(!ignored.contains(b"config/test.env", "generic-secret", 13));
/// assert!(notes.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitleaksIgnore {
    findings: HashSet<IgnoredFinding>,
    /// The findings in commits, by the commit's id.
    in_commits: HashSet<(Box<[u8]>, IgnoredFinding)>,
}

/// A path, the name of a rule, and a line number.
type IgnoredFinding = (Box<[u8]>, Box<str>, u64);

/// A line of the file that is not used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IgnoreNote {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// Why it is not used.
    pub reason: UnusedReason,
}

/// Why a line of a `.gitleaksignore` file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnusedReason {
    /// It does not have the form `path:rule:line`.
    Malformed,
    /// It names a commit, so it refers to a git history.
    Commit,
}

impl fmt::Display for UnusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Malformed => "not of the form path:rule:line",
            Self::Commit => {
                "a line with a commit is for git histories; for files, write path:rule:line"
            }
        })
    }
}

impl GitleaksIgnore {
    /// Parses the content of a `.gitleaksignore` file.
    #[must_use]
    pub fn parse(content: &[u8]) -> (Self, Vec<IgnoreNote>) {
        let mut ignored = Self::default();
        let mut notes = Vec::new();
        for (number, line) in (1..).zip(content.split(|&byte| byte == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match parse_line(line) {
                Ok((None, finding)) => ignored.insert(finding),
                Ok((Some(commit), finding)) => {
                    ignored.insert_in_commit(&commit, finding);
                    notes.push(IgnoreNote { line: number, reason: UnusedReason::Commit });
                }
                Err(reason) => notes.push(IgnoreNote { line: number, reason }),
            }
        }
        (ignored, notes)
    }

    fn insert(&mut self, (path, rule, line): IgnoredFinding) {
        for &rule in our_names(&rule) {
            self.findings.insert((path.clone(), rule.into(), line));
        }
        self.findings.insert((path, rule, line));
    }

    fn insert_in_commit(&mut self, commit: &[u8], (path, rule, line): IgnoredFinding) {
        let commit: Box<[u8]> = commit.to_ascii_lowercase().into();
        for &rule in our_names(&rule) {
            self.in_commits.insert((commit.clone(), (path.clone(), rule.into(), line)));
        }
        self.in_commits.insert((commit, (path, rule, line)));
    }

    /// Returns `true` if the file lists the finding together with the commit that introduced it.
    /// `commit` is its id in lower-case hexadecimal digits, and `path` the path in the repository.
    #[must_use]
    pub fn contains_in_commit(&self, commit: &str, path: &[u8], rule: &str, line: u64) -> bool {
        let finding = || (path.into(), rule.into(), line);
        !self.in_commits.is_empty()
            && self.in_commits.contains(&(commit.as_bytes().into(), finding()))
    }

    /// Returns `true` if the file lists the finding. `path` is relative to the directory of the
    /// file, with `/` as the separator.
    #[must_use]
    pub fn contains(&self, path: &[u8], rule: &str, line: u64) -> bool {
        !self.findings.is_empty() && self.findings.contains(&(path.into(), rule.into(), line))
    }

    /// Returns the number of findings listed without a commit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Returns `true` if the file lists no findings, with a commit or without.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.in_commits.is_empty()
    }
}

/// A finding, and the commit before it, if there is one.
type ParsedLine = (Option<Box<[u8]>>, IgnoredFinding);

fn parse_line(line: &[u8]) -> Result<ParsedLine, UnusedReason> {
    use UnusedReason::Malformed;
    // Split from the end: a path may contain colons, a rule and a number may not.
    let mut parts = line.rsplitn(3, |&byte| byte == b':');
    let (Some(number), Some(rule), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(Malformed);
    };
    let number = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
    let rule = std::str::from_utf8(rule).ok().filter(|rule| !rule.is_empty());
    let (Some(number), Some(rule)) = (number, rule) else {
        return Err(Malformed);
    };
    let mut parts = (None, path);
    if let Some(colon) = path.iter().position(|&byte| byte == b':')
        && COMMIT_LENGTHS.contains(&colon)
        && path[..colon].iter().all(u8::is_ascii_hexdigit)
    {
        parts = (Some(path[..colon].into()), &path[colon + 1..]);
    }
    let (commit, path) = parts;
    let path = path.strip_prefix(b"./").unwrap_or(path);
    if path.is_empty() {
        return Err(Malformed);
    }
    Ok((commit, (path.into(), rule.into(), number)))
}

#[cfg(test)]
mod tests {
    use super::{GitleaksIgnore, UnusedReason};
    use proptest::prelude::*;

    #[test]
    fn every_form_of_a_line_is_parsed() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let content = format!(
            "# a comment\r\n\n  a/b.txt:rule-1:3  \r\n./c:rule:4\nwith:colon:rule:5\n{commit}:d:rule:6\n\
             no place\na:b\n:rule:1\nx:rule:-1\nx::1\n"
        );
        let (ignored, notes) = GitleaksIgnore::parse(content.as_bytes());
        assert_eq!(ignored.len(), 3);
        assert!(ignored.contains(b"a/b.txt", "rule-1", 3));
        assert!(ignored.contains(b"c", "rule", 4));
        assert!(ignored.contains(b"with:colon", "rule", 5));
        assert!(!ignored.contains(b"d", "rule", 6));
        assert!(ignored.contains_in_commit(commit, b"d", "rule", 6));
        assert!(!ignored.contains_in_commit(commit, b"d", "rule", 7));
        let lines: Vec<usize> = notes.iter().map(|note| note.line).collect();
        assert_eq!(lines, [6, 7, 8, 9, 10, 11]);
        assert_eq!(notes[0].reason, UnusedReason::Commit);
        assert!(notes[1..].iter().all(|note| note.reason == UnusedReason::Malformed));
    }

    #[test]
    fn a_gitleaks_rule_stands_for_the_rules_of_heist() {
        let (ignored, _) = GitleaksIgnore::parse(b"a:generic-api-key:1");
        for rule in ["generic-api-key", "generic-secret", "password"] {
            assert!(ignored.contains(b"a", rule, 1), "{rule}");
        }
        assert!(!ignored.contains(b"a", "jwt", 1));
    }

    #[test]
    fn a_path_may_contain_any_bytes() {
        let (ignored, _) = GitleaksIgnore::parse(b"a\xff:rule:1");
        assert!(ignored.contains(b"a\xff", "rule", 1));
        assert!(!ignored.contains(b"a\xfe", "rule", 1));
    }

    proptest! {
        #[test]
        fn no_content_makes_the_parser_panic(
            content in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let (_, notes) = GitleaksIgnore::parse(&content);
            let lines = content.split(|&byte| byte == b'\n').count();
            prop_assert!(notes.len() <= lines);
        }
    }
}
