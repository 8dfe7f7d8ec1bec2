//! The headers of files and hunks, and names in quotes.

use std::path::PathBuf;

/// The prefixes that git puts before the names of the two sides: `a/` and `b/`, or those of
/// `diff.mnemonicPrefix`.
const PREFIXES: &[u8] = b"abciwo12";

/// The most parents of a combined diff. Git merges no more than 16 branches by itself.
const PARENTS_MAX: usize = 64;

/// The header of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HunkHeader {
    /// The number of lines of each parent.
    pub(super) old_lines: Vec<u64>,
    /// The line of the new file where the hunk begins, and the number of its lines.
    pub(super) new_start: u64,
    pub(super) new_lines: u64,
}

/// Parses `@@ -1,2 +3,4 @@ ...`, or the header of a combined diff, which has an `@` more for each
/// further parent.
pub(super) fn hunk_header(line: &[u8]) -> Option<HunkHeader> {
    let marks = line.iter().take_while(|&&byte| byte == b'@').count();
    if !(2..=PARENTS_MAX + 1).contains(&marks) {
        return None;
    }
    let mut rest = &line[marks..];
    let mut old_lines = Vec::with_capacity(marks - 1);
    for _ in 1..marks {
        let (_, lines, after) = range(rest.strip_prefix(b" -")?)?;
        old_lines.push(lines);
        rest = after;
    }
    let (new_start, new_lines, after) = range(rest.strip_prefix(b" +")?)?;
    let after = after.strip_prefix(b" ")?.strip_prefix(&line[..marks])?;
    let is_end = after.first().is_none_or(|&next| next == b' ');
    is_end.then_some(HunkHeader { old_lines, new_start, new_lines })
}

/// Parses `1` or `1,2`.
fn range(text: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(lines) => number(lines).map(|(lines, rest)| (start, lines, rest)),
        None => Some((start, 1, rest)),
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((value, &text[digits..]))
}

/// The names in the header of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// What follows `diff --git `.
    pub(super) git: Option<Vec<u8>>,
    /// The name in `diff --cc`, or in `rename to` and `copy to`. It has no prefix.
    pub(super) bare: Option<Vec<u8>>,
    /// The names after `---` and `+++`.
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
}

const NULL: &[u8] = b"/dev/null";

impl Names {
    /// Returns the path of the new file, or of the old one if there is no new one.
    pub(super) fn path(&self) -> PathBuf {
        if let Some(bare) = &self.bare {
            return path_of(bare);
        }
        let name = if self.new == NULL { &self.old } else { &self.new };
        let strips = match &self.git {
            Some(git) => !is_same_twice(git),
            None => {
                let is_side = |name: &[u8], prefix: &[u8]| name == NULL || name.starts_with(prefix);
                is_side(&self.old, b"a/") && is_side(&self.new, b"b/")
            }
        };
        path_of(if strips { without_prefix(name) } else { name })
    }

    /// Returns `true` if the file did not exist before under this name.
    pub(super) fn is_new(&self) -> bool {
        self.old == NULL || (self.git.is_some() && self.bare.is_some())
    }
}

fn without_prefix(name: &[u8]) -> &[u8] {
    match name {
        [prefix, b'/', rest @ ..] if PREFIXES.contains(prefix) && !rest.is_empty() => rest,
        _ => name,
    }
}

/// Returns `true` for `x x`: git was asked for names without prefixes.
fn is_same_twice(names: &[u8]) -> bool {
    let middle = names.len() / 2;
    names.len() % 2 == 1 && names[middle] == b' ' && names[..middle] == names[middle + 1..]
}

/// Parses a name: in quotes with escapes, or up to a tab, behind which some programs write a date.
/// Returns `None` if there is none.
pub(super) fn name(text: &[u8]) -> Option<Vec<u8>> {
    let name = match text.strip_prefix(b"\"") {
        Some(quoted) => unquoted(quoted)?,
        None => text.split(|&byte| byte == b'\t').next()?.to_vec(),
    };
    (!name.is_empty()).then_some(name)
}

/// Resolves the escapes of a name up to its closing quote.
fn unquoted(text: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    loop {
        let byte = match *bytes.next()? {
            b'"' => return Some(name),
            b'\\' => match *bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                quoted @ (b'"' | b'\\') => quoted,
                first @ b'0'..=b'3' => {
                    let mut digit = || match *bytes.next()? {
                        digit @ b'0'..=b'7' => Some(digit - b'0'),
                        _ => None,
                    };
                    ((first - b'0') << 6) | (digit()? << 3) | digit()?
                }
                _ => return None,
            },
            byte => byte,
        };
        name.push(byte);
    }
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(name).into()
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> PathBuf {
    String::from_utf8_lossy(name).into_owned().into()
}

/// Returns `true` for a line that git writes between `diff --git` and `---`, apart from names.
pub(super) fn is_extended_header(line: &[u8]) -> bool {
    let is_all =
        |text: &[u8], is: fn(u8) -> bool| !text.is_empty() && text.iter().all(|&byte| is(byte));
    let octal = |byte: u8| matches!(byte, b'0'..=b'7' | b',' | b'.');
    let id = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b',' | b'.' | b' ');
    let modes: [&[u8]; 5] =
        [b"old mode ", b"new mode ", b"deleted file mode ", b"new file mode ", b"mode "];
    let percents: [&[u8]; 2] = [b"similarity index ", b"dissimilarity index "];
    let after = |starts: &[&[u8]]| starts.iter().find_map(|start| line.strip_prefix(*start));
    if let Some(mode) = after(&modes) {
        return mode.len() <= 1024 && is_all(mode, octal);
    }
    if let Some(percent) = after(&percents) {
        return percent.len() <= 4
            && percent
                .strip_suffix(b"%")
                .is_some_and(|digits| is_all(digits, |d| d.is_ascii_digit()));
    }
    match line.strip_prefix(b"index ") {
        Some(ids) => is_all(ids, id),
        None => after(&[b"rename from ", b"rename to ", b"copy from ", b"copy to "]).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn hunks_have_a_range_for_each_side() {
        let parsed = |line: &str| {
            let header = hunk_header(line.as_bytes())?;
            Some((header.old_lines, header.new_start, header.new_lines))
        };
        assert_eq!(parsed("@@ -1,2 +3,4 @@ fn main() {"), Some((vec![2], 3, 4)));
        assert_eq!(parsed("@@ -0,0 +1 @@"), Some((vec![0], 1, 1)));
        assert_eq!(parsed("@@@ -1,2 -5 +3,4 @@@"), Some((vec![2, 1], 3, 4)));
        for wrong in [
            "@@ -1,2 +3,4",
            "@@ -1,2 +3,4 @@x",
            "@@ -1,2 -5 +3,4 @@",
            "@@@ -1,2 +3,4 @@@",
            "@@ -1,x +3,4 @@",
            "@@ -1 +99999999999999999999 @@",
            "@ -1 +1 @",
            "@@  -1 +1 @@",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        assert_eq!(hunk_header(&[b'@'; 70]), None);
    }

    #[test]
    fn prefixes_are_removed_where_git_adds_them() {
        let path = |git: Option<&str>, old: &str, new: &str| {
            let git = git.map(|names| names.as_bytes().to_vec());
            Names { git, bare: None, old: old.into(), new: new.into() }.path()
        };
        for (git, old, new, expected) in [
            (Some("a/x/y b/x/y"), "a/x/y", "b/x/y", "x/y"),
            (Some("i/x w/x"), "i/x", "w/x", "x"),
            (Some("a/x b/x"), "/dev/null", "b/x", "x"),
            (Some("a/x b/x"), "a/x", "/dev/null", "x"),
            (Some("b/x b/x"), "b/x", "b/x", "b/x"),
            (Some("src/x src/x"), "/dev/null", "src/x", "src/x"),
            (None, "a/x", "b/x", "x"),
            (None, "/dev/null", "b/x", "x"),
            (None, "x.orig", "b/x", "b/x"),
            (None, "old/x", "new/x", "new/x"),
        ] {
            assert_eq!(path(git, old, new), Path::new(expected), "{git:?} {old} {new}");
        }
    }

    #[test]
    fn names_may_be_quoted() {
        for (text, expected) in [
            (r#""b/\303\244\t\"x\\""#, Some("b/ä\t\"x\\".as_bytes())),
            ("b/with space\t2020-01-01", Some(b"b/with space")),
            ("b/x", Some(b"b/x")),
            (r#""b/open"#, None),
            (r#""b/\9""#, None),
            ("", None),
        ] {
            assert_eq!(name(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_what_git_writes_is_a_header() {
        for line in [
            "old mode 100644",
            "mode 100644,100644..100755",
            "similarity index 97%",
            "index 0123abc..4567def 100644",
            "index 0123abc,4567def..89ab012",
            "rename to x",
        ] {
            assert!(is_extended_header(line.as_bytes()), "{line}");
        }
        for line in ["old mode x", "similarity index 12345678%", "index token", "rename x", ""] {
            assert!(!is_extended_header(line.as_bytes()), "{line}");
        }
    }
}
