//! [`IndexEntries`]: the entries of an index, one after the other.

use crate::bytes::{u16_at, u32_at};
use crate::id::{HashKind, ObjectId};
use memchr::memchr;

/// The longest path. Git itself cannot check out longer ones on any system.
pub(super) const PATH_MAX: usize = 4096;

/// The bytes of an entry before the id: times, device, inode, mode, owner and size.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;

/// The flags of an entry, and those that follow them in version 3.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexEntry<'a> {
    /// The path from the root of the work tree, with slashes. A hostile index may have any bytes.
    pub path: &'a [u8],
    /// The blob; of a submodule, its commit; of a directory outside a sparse checkout, its tree.
    pub id: ObjectId,
    /// The mode, as in a tree.
    pub mode: u32,
    /// 0, or of a conflict 1 for the common ancestor, 2 for ours, and 3 for theirs.
    pub stage: u8,
    /// Whether the file is not in the work tree on purpose.
    pub is_skipped: bool,
    /// Whether `git add -N` made the entry, so that it has no content yet.
    pub is_intent_to_add: bool,
}

impl IndexEntry<'_> {
    /// Returns `true` for a submodule: its commit is in another repository.
    #[must_use]
    pub const fn is_submodule(&self) -> bool {
        self.mode & 0o170_000 == 0o160_000
    }

    /// Returns `true` for a directory, which only the index of a sparse checkout has.
    #[must_use]
    pub const fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

/// The entries of an index, sorted by path and stage.
#[derive(Clone, Debug)]
pub struct IndexEntries<'a> {
    bytes: &'a [u8],
    hash: HashKind,
    version: u32,
    /// The number of entries that follow.
    left: u32,
    /// Where the next entry begins.
    pub(super) at: usize,
    /// The path of the last entry.
    path: Vec<u8>,
    stage: u8,
    is_first: bool,
    /// Whether an entry has no path, as those of a split index that replace others.
    pub(super) has_empty: bool,
}

impl<'a> IndexEntries<'a> {
    pub(super) fn new(bytes: &'a [u8], hash: HashKind, version: u32, count: u32) -> Self {
        let (at, path) = (super::file::HEADER_BYTES, Vec::new());
        Self {
            bytes,
            hash,
            version,
            left: count,
            at,
            path,
            stage: 0,
            is_first: true,
            has_empty: false,
        }
    }

    /// Returns the number of entries that follow.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Returns the next entry, or `None` at the end. It borrows the path from the iterator.
    #[allow(clippy::should_implement_trait, reason = "an entry borrows from the iterator")]
    pub fn next(&mut self) -> Option<IndexEntry<'_>> {
        // The entries were checked when the index was read.
        self.parse().ok().flatten()
    }

    /// Returns the next entry, or `None` at the end.
    ///
    /// # Errors
    /// The entry is cut, has no valid path, or does not belong behind the one before it.
    pub(super) fn parse(&mut self) -> Result<Option<IndexEntry<'_>>, &'static str> {
        const CUT: &str = "an entry is cut";
        if self.left == 0 {
            return Ok(None);
        }
        let begin = self.at;
        let flags_at = begin + STAT_BYTES + self.hash.id_len();
        let id = self.bytes.get(begin + STAT_BYTES..flags_at).ok_or(CUT)?;
        let id = ObjectId::from_slice(self.hash, id);
        let mode = u32_at(self.bytes, begin + MODE_AT).ok_or(CUT)?;
        let flags = u16_at(self.bytes, flags_at).ok_or(CUT)?;
        let mut at = flags_at + 2;
        let mut extended = 0;
        if flags & EXTENDED != 0 {
            if self.version < 3 {
                return Err("an entry of version 2 has flags of version 3");
            }
            extended = u16_at(self.bytes, at).ok_or(CUT)?;
            at += 2;
        }
        let kept = match self.version {
            4 => {
                let (removed, after) = offset_at(self.bytes, at).ok_or(CUT)?;
                at = after;
                self.path.len().checked_sub(removed).ok_or("a path is too short to be shortened")?
            }
            _ => 0,
        };
        let rest = self.bytes.get(at..).ok_or(CUT)?;
        let rest = &rest[..rest.len().min(PATH_MAX + 1)];
        let len = memchr(0, rest).ok_or("a path is not ended, or longer than 4,096 bytes")?;
        let name = &rest[..len];
        let stage = (flags >> 12 & 3) as u8;
        if kept == 0 && name.is_empty() {
            self.has_empty = true;
        } else {
            self.check_order(kept, name, stage)?;
        }
        self.path.truncate(kept);
        self.path.extend_from_slice(name);
        if self.path.len() > PATH_MAX {
            return Err("a path is longer than 4,096 bytes");
        }
        let stated = usize::from(flags & NAME_LENGTH);
        if stated != self.path.len().min(usize::from(NAME_LENGTH)) {
            return Err("a path does not have the length that its flags state");
        }
        self.at = match self.version {
            4 => at + len + 1,
            // One to eight zeros, up to a multiple of eight bytes.
            _ => begin + ((at + len - begin) / 8 + 1) * 8,
        };
        self.left -= 1;
        self.stage = stage;
        self.is_first = false;
        Ok(Some(IndexEntry {
            path: &self.path,
            id,
            mode,
            stage,
            is_skipped: extended & SKIP_WORKTREE != 0,
            is_intent_to_add: extended & INTENT_TO_ADD != 0,
        }))
    }

    /// Checks that a path, made of the first `kept` bytes of the last one and `name`, comes behind
    /// the last one. So no entry is there twice, and those of a directory are together.
    fn check_order(&self, kept: usize, name: &[u8], stage: u8) -> Result<(), &'static str> {
        let last = self.path.get(kept..).unwrap_or_default();
        let is_next = match self.version {
            4 => name.cmp(last),
            _ => name.cmp(&self.path),
        };
        let is_sorted = is_next.is_gt() || (is_next.is_eq() && stage > self.stage);
        if self.is_first || is_sorted { Ok(()) } else { Err("its entries are not sorted") }
    }

    /// Passes over entries.
    pub(super) fn skip(&mut self, count: u32) {
        for _ in 0..count {
            if self.next().is_none() {
                return;
            }
        }
    }
}

/// Parses the number of variable length that says how much of the last path is removed, and returns
/// where it ends.
fn offset_at(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if value > PATH_MAX {
            return None;
        }
    }
    Some((value, at + 1))
}
