//! [`GitleaksIgnore`]: the places that a `.gitleaksignore` names, one in a line: `path:rule:line`.
//!
//! Reading never fails: a line that says nothing which can be used becomes a note. Lines with a commit before the path
//! (`commit:path:rule:line`) are about a history and not about files; they become notes, too. A path may have colons in
//! it, and any bytes.
//!
//! Not covered: a line that has moved is another place. A [`Baseline`](super::Baseline) knows the secret instead.

use crate::rules::our_names;
use std::collections::HashSet;

/// The characters of a commit's name: SHA-1 or SHA-256.
const COMMIT_LENGTHS: [usize; 2] = [40, 64];

/// The places that a `.gitleaksignore` names. A rule of gitleaks means those that this library has for it, too.
///
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
    places: HashSet<Place>,
}

/// A path, a rule's name, and a line.
type Place = (Box<[u8]>, Box<str>, u64);

/// A line that is not used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreNote {
    /// Which line, counted from 1.
    pub line: usize,
    /// Why it is not used.
    pub reason: &'static str,
}

impl GitleaksIgnore {
    /// Reads the content of such a file.
    #[must_use]
    pub fn parse(content: &[u8]) -> (Self, Vec<IgnoreNote>) {
        let mut ignored = Self::default();
        let mut notes = Vec::new();
        for (number, line) in (1..).zip(content.split(|&byte| byte == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match place(line) {
                Ok(place) => ignored.insert(place),
                Err(reason) => notes.push(IgnoreNote { line: number, reason }),
            }
        }
        (ignored, notes)
    }

    fn insert(&mut self, (path, rule, line): Place) {
        for &rule in our_names(&rule) {
            self.places.insert((path.clone(), rule.into(), line));
        }
        self.places.insert((path, rule, line));
    }

    /// Whether a finding is at one of the places. `path` is relative to the directory of the file, with `/` between
    /// names.
    #[must_use]
    pub fn contains(&self, path: &[u8], rule: &str, line: u64) -> bool {
        !self.places.is_empty() && self.places.contains(&(path.into(), rule.into(), line))
    }

    /// How many places there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn place(line: &[u8]) -> Result<Place, &'static str> {
    const FORM: &str = "not of the form path:rule:line";
    // From the end: a path may have colons in it, a rule and a number may not.
    let mut parts = line.rsplitn(3, |&byte| byte == b':');
    let (Some(number), Some(rule), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(FORM);
    };
    let number = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok()).ok_or(FORM)?;
    let rule = std::str::from_utf8(rule).ok().filter(|rule| !rule.is_empty()).ok_or(FORM)?;
    if let Some(colon) = path.iter().position(|&byte| byte == b':')
        && COMMIT_LENGTHS.contains(&colon)
        && path[..colon].iter().all(u8::is_ascii_hexdigit)
    {
        return Err("a line with a commit is for git histories; for files, write path:rule:line");
    }
    let path = path.strip_prefix(b"./").unwrap_or(path);
    if path.is_empty() {
        return Err(FORM);
    }
    Ok((path.into(), rule.into(), number))
}

#[cfg(test)]
mod tests {
    use super::GitleaksIgnore;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_a_line_is_known() {
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
        let lines: Vec<usize> = notes.iter().map(|note| note.line).collect();
        assert_eq!(lines, [6, 7, 8, 9, 10, 11]);
        assert!(notes[0].reason.contains("commit"));
    }

    #[test]
    fn a_rule_of_gitleaks_means_ours_for_it() {
        let (ignored, _) = GitleaksIgnore::parse(b"a:generic-api-key:1");
        for rule in ["generic-api-key", "generic-secret", "password"] {
            assert!(ignored.contains(b"a", rule, 1), "{rule}");
        }
        assert!(!ignored.contains(b"a", "jwt", 1));
    }

    #[test]
    fn a_path_is_bytes() {
        let (ignored, _) = GitleaksIgnore::parse(b"a\xff:rule:1");
        assert!(ignored.contains(b"a\xff", "rule", 1));
        assert!(!ignored.contains(b"a\xfe", "rule", 1));
    }

    proptest! {
        #[test]
        fn anything_can_be_read(content in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (_, notes) = GitleaksIgnore::parse(&content);
            let lines = content.split(|&byte| byte == b'\n').count();
            prop_assert!(notes.len() <= lines);
        }
    }
}
