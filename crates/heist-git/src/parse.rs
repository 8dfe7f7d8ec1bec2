//! Commits, trees and tags, parsed where they lie.
//!
//! Nothing is copied, and odd objects are read as far as possible: repositories of other tools, and
//! damaged ones, have commits without authors, times that are no numbers, and names in any
//! encoding.

use crate::bytes::{lines, split_once};
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;

const MALFORMED_TREE: &str = "a tree entry is cut or has no name";

/// A commit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Commit<'a> {
    /// The tree of the commit.
    pub tree: ObjectId,
    parents: &'a [u8],
    /// Who wrote the change, if the commit says so.
    pub author: Option<Signature<'a>>,
    /// Who committed it.
    pub committer: Option<Signature<'a>>,
    /// The encoding of the texts; UTF-8 if nothing is stated.
    pub encoding: Option<&'a [u8]>,
    /// The message: all after the first empty line.
    pub message: &'a [u8],
}

impl<'a> Commit<'a> {
    /// Parses the content of a commit. Returns `None` if it has no valid `tree` line.
    #[must_use]
    pub fn parse(hash: HashKind, content: &'a [u8]) -> Option<Self> {
        let (first, mut rest) = split_once(content, b'\n')?;
        let tree = id_after(hash, first, b"tree ")?;
        let from = rest;
        while let Some((line, after)) = split_once(rest, b'\n')
            && id_after(hash, line, b"parent ").is_some()
        {
            rest = after;
        }
        let parents = &from[..from.len() - rest.len()];
        let mut commit =
            Self { tree, parents, author: None, committer: None, encoding: None, message: &[] };
        let (headers, message) = split_headers(rest);
        commit.message = message;
        for line in lines(headers) {
            if let Some(value) = line.strip_prefix(b"author ") {
                commit.author = commit.author.or_else(|| Some(Signature::parse(value)));
            } else if let Some(value) = line.strip_prefix(b"committer ") {
                commit.committer = commit.committer.or_else(|| Some(Signature::parse(value)));
            } else if let Some(value) = line.strip_prefix(b"encoding ") {
                commit.encoding = commit.encoding.or(Some(value));
            }
        }
        Some(commit)
    }

    /// Iterates over the ids of the parents.
    pub fn parents(&self) -> impl Iterator<Item = ObjectId> + 'a {
        let hash = self.tree.hash_kind();
        lines(self.parents).filter_map(move |line| id_after(hash, line, b"parent "))
    }

    /// Returns the first line of the message.
    #[must_use]
    pub fn subject(&self) -> &'a [u8] {
        let start = self.message.iter().position(|byte| !byte.is_ascii_whitespace());
        lines(&self.message[start.unwrap_or(self.message.len())..]).next().unwrap_or_default()
    }
}

/// Who did something, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature<'a> {
    /// The name, in the commit's encoding.
    pub name: &'a [u8],
    /// The address between the angle brackets.
    pub email: &'a [u8],
    /// Seconds since 1970; 0 if the commit has no valid number there.
    pub seconds: i64,
    /// The offset of the local time from UTC, in minutes.
    pub offset_minutes: i32,
}

impl<'a> Signature<'a> {
    /// Parses `name <address> seconds offset`. Parts that are missing are empty or 0.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Self {
        let (name, rest) = split_once(line, b'<').unwrap_or((line, &[]));
        // Addresses with `>` inside exist; no number has one.
        let end = memchr::memrchr(b'>', rest).unwrap_or(rest.len());
        let time = rest.get(end + 1..).unwrap_or_default().trim_ascii();
        let (seconds, offset) = split_once(time, b' ').unwrap_or((time, &[]));
        Self {
            name: name.trim_ascii(),
            email: &rest[..end],
            seconds: number(seconds).unwrap_or(0),
            offset_minutes: offset_minutes(offset.trim_ascii()).unwrap_or(0),
        }
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Parses `+hhmm` or `-hhmm`.
fn offset_minutes(text: &[u8]) -> Option<i32> {
    let value = i32::try_from(number(text)?).ok()?;
    (value.abs() < 10_000).then_some(value / 100 * 60 + value % 100)
}

/// A directory: its entries in git's order.
///
/// ```
/// use heist_git::{HashKind, Tree};
///
/// let mut content = b"100644 a name\0".to_vec();
/// content.extend([7; 20]);
/// let entries: Vec<_> = Tree::new(HashKind::Sha1, &content).collect();
/// let entry = entries[0].as_ref().unwrap();
/// assert_eq!((entry.name, entry.mode, entries.len()), (&b"a name"[..], 0o100_644, 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    hash: HashKind,
    rest: &'a [u8],
}

impl<'a> Tree<'a> {
    /// Iterates over the entries of a tree's content. After an error there are no more.
    #[must_use]
    pub const fn new(hash: HashKind, content: &'a [u8]) -> Self {
        Self { hash, rest: content }
    }

    /// Returns the number of bytes that were not iterated over yet.
    pub(crate) const fn rest_len(&self) -> usize {
        self.rest.len()
    }

    fn next_entry(&mut self) -> Option<TreeEntry<'a>> {
        let (mode, rest) = split_once(self.rest, b' ')?;
        let (name, rest) = split_once(rest, 0)?;
        let id = rest.get(..self.hash.id_len())?;
        if mode.is_empty() || mode.len() > 7 || name.is_empty() {
            return None;
        }
        let mode = mode.iter().try_fold(0, |mode, digit| {
            (b'0'..=b'7').contains(digit).then(|| mode << 3 | u32::from(digit - b'0'))
        })?;
        self.rest = &rest[self.hash.id_len()..];
        Some(TreeEntry { mode, name, id: ObjectId::from_slice(self.hash, id) })
    }
}

impl<'a> Iterator for Tree<'a> {
    type Item = Result<TreeEntry<'a>, crate::ObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.next_entry();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry.ok_or(crate::ObjectError::Corrupt(MALFORMED_TREE)))
    }
}

/// An entry of a tree.
///
/// The name is what the repository says: it may be `..`, contain a slash or be any bytes. Never
/// make a path of the file system from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeEntry<'a> {
    /// The mode, as in `stat`.
    pub mode: u32,
    /// The name, without slashes unless the tree is hostile.
    pub name: &'a [u8],
    /// The object.
    pub id: ObjectId,
}

impl TreeEntry<'_> {
    /// Returns what the mode says that the entry is, or `None` for a commit of a submodule, which
    /// this repository does not have.
    #[must_use]
    pub const fn kind(&self) -> Option<ObjectKind> {
        match self.mode & 0o170_000 {
            0o040_000 => Some(ObjectKind::Tree),
            0o160_000 => None,
            _ => Some(ObjectKind::Blob),
        }
    }

    /// Returns `true` for a symbolic link: its blob is the target.
    #[must_use]
    pub const fn is_symlink(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }
}

/// An annotated tag.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tag<'a> {
    /// The tagged object.
    pub target: ObjectId,
    /// What the tagged object is.
    pub target_kind: Option<ObjectKind>,
    /// The name of the tag.
    pub name: &'a [u8],
    /// Who tagged it.
    pub tagger: Option<Signature<'a>>,
    /// The message.
    pub message: &'a [u8],
}

impl<'a> Tag<'a> {
    /// Parses the content of a tag. Returns `None` if it has no valid `object` line.
    #[must_use]
    pub fn parse(hash: HashKind, content: &'a [u8]) -> Option<Self> {
        let (first, rest) = split_once(content, b'\n')?;
        let target = id_after(hash, first, b"object ")?;
        let (headers, message) = split_headers(rest);
        let mut tag = Self { target, target_kind: None, name: &[], tagger: None, message };
        for line in lines(headers) {
            if let Some(value) = line.strip_prefix(b"type ") {
                tag.target_kind = ObjectKind::from_name(value);
            } else if let Some(value) = line.strip_prefix(b"tag ") {
                tag.name = value;
            } else if let Some(value) = line.strip_prefix(b"tagger ") {
                tag.tagger = Some(Signature::parse(value));
            }
        }
        Some(tag)
    }
}

fn id_after(hash: HashKind, line: &[u8], prefix: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(line.strip_prefix(prefix)?).filter(|id| id.hash_kind() == hash)
}

/// Splits the headers from the message: at the first empty line.
fn split_headers(text: &[u8]) -> (&[u8], &[u8]) {
    if let Some(message) = text.strip_prefix(b"\n") {
        return (&[], message);
    }
    match memchr::memmem::find(text, b"\n\n") {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

    #[test]
    fn a_commit_has_all_its_parts() {
        let text = format!(
            "tree {ID}\nparent {ID}\nparent {ID}\nauthor A U <a@b> 1700000000 -0130\n\
             committer C <c> 5 +0200\nencoding latin1\ngpgsig x\n author no\n\n\nSubject\n\nBody\n"
        );
        let commit = Commit::parse(HashKind::Sha1, text.as_bytes()).unwrap();
        assert_eq!(commit.parents().count(), 2);
        let author = commit.author.unwrap();
        assert_eq!((author.name, author.email), (&b"A U"[..], &b"a@b"[..]));
        assert_eq!((author.seconds, author.offset_minutes), (1_700_000_000, -90));
        assert_eq!(commit.committer.unwrap().offset_minutes, 120);
        assert_eq!(commit.encoding, Some(&b"latin1"[..]));
        assert_eq!(commit.subject(), b"Subject");
        assert_eq!(commit.message, b"\nSubject\n\nBody\n");
    }

    #[test]
    fn odd_commits_and_tags_are_read_as_far_as_possible() {
        let parse = |text: &str| Commit::parse(HashKind::Sha1, text.as_bytes()).map(|_| ());
        assert_eq!(parse(""), None);
        assert_eq!(parse("tree x\n"), None);
        assert_eq!(parse(&format!("tree {ID}\n")), Some(()));
        let text = format!("tree {ID}\nauthor nothing\n\nmessage");
        let commit = Commit::parse(HashKind::Sha1, text.as_bytes()).unwrap();
        let author = commit.author.unwrap();
        assert_eq!((author.name, author.email, author.seconds), (&b"nothing"[..], &b""[..], 0));
        assert_eq!(commit.message, b"message");
        let text = format!("object {ID}\ntype commit\ntag v1\ntagger T <t> 1 +0000\n\nnotes\n");
        let tag = Tag::parse(HashKind::Sha1, text.as_bytes()).unwrap();
        assert_eq!((tag.name, tag.message), (&b"v1"[..], &b"notes\n"[..]));
        assert_eq!(tag.target_kind, Some(ObjectKind::Commit));
    }

    #[test]
    fn a_tree_that_is_cut_ends_with_an_error() {
        let mut content = Vec::new();
        for name in ["a", "b/../c", ".."] {
            content.extend_from_slice(format!("40000 {name}\0").as_bytes());
            content.extend_from_slice(&[7; 20]);
        }
        let tree = Tree::new(HashKind::Sha1, &content);
        assert_eq!(tree.filter(Result::is_ok).count(), 3);
        for cut in 0..content.len() {
            let whole = Tree::new(HashKind::Sha1, &content[..cut]).filter(Result::is_ok).count();
            let all = Tree::new(HashKind::Sha1, &content[..cut]).count();
            assert!(all - whole <= 1 && whole < 3, "{cut}");
        }
        assert!(Tree::new(HashKind::Sha1, b"8 x\0").any(|entry| entry.is_err()));
    }
}
