//! [`Index`]: reads an index file.

use super::cache_tree::CacheTree;
use super::entries::IndexEntries;
use crate::access::Access;
use crate::bytes::u32_at;
use crate::id::HashKind;
use crate::problem::{FileError, FileProblem};
use std::path::Path;

pub(super) const HEADER_BYTES: usize = 12;

/// Larger index files are not read: this is enough for more than two million files.
const INDEX_BYTES_MAX: u64 = 256 << 20;

/// An index: the content of the next commit, sorted by path.
///
/// Its checksum is not compared: git itself does not, and a hostile index would have a right one.
#[derive(Debug)]
pub struct Index {
    bytes: Vec<u8>,
    hash: HashKind,
    version: u32,
    count: u32,
    /// Without it, every directory is looked at.
    pub(super) cache_tree: Option<CacheTree>,
}

impl Index {
    /// Reads an index. Returns `None` if there is no file: nothing was ever staged.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is damaged, is larger than 256 MiB, or has a form that is
    /// not supported: a split index, or an extension that is not optional.
    pub fn read(
        path: impl AsRef<Path>,
        hash: HashKind,
        access: &Access,
    ) -> Result<Option<Self>, FileError> {
        let path = path.as_ref();
        let Some(bytes) = access.read(path, INDEX_BYTES_MAX)? else { return Ok(None) };
        Self::parse(bytes, hash).map(Some).map_err(|problem| FileError::new(path, problem))
    }

    /// Parses the content of an index file.
    ///
    /// # Errors
    /// Fails as [`Index::read`] does.
    pub fn parse(bytes: Vec<u8>, hash: HashKind) -> Result<Self, FileProblem> {
        let damaged = FileProblem::Malformed;
        let number = |at| u32_at(&bytes, at).ok_or(damaged("its header is cut"));
        if !bytes.starts_with(b"DIRC") {
            return Err(damaged("it is not an index"));
        }
        let (version, count) = (number(4)?, number(8)?);
        if !(2..=4).contains(&version) {
            return Err(FileProblem::Unsupported("an index of an unknown version"));
        }
        let end = bytes.len().checked_sub(hash.id_len()).ok_or(damaged("its checksum is cut"))?;
        let mut entries = IndexEntries::new(&bytes[..end], hash, version, count);
        while entries.parse().map_err(damaged)?.is_some() {}
        let (extensions_at, has_empty) = (entries.at, entries.has_empty);
        let cache_tree = extensions(&bytes[..end], extensions_at, hash, count)?;
        if has_empty {
            return Err(damaged("an entry has no path"));
        }
        Ok(Self { bytes, hash, version, count, cache_tree })
    }

    /// Returns the version of the file: 2, 3 or 4.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Returns `true` if nothing is staged: the next commit is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the hash function of the ids.
    #[must_use]
    pub fn hash_kind(&self) -> HashKind {
        self.hash
    }

    /// Iterates over the entries.
    #[must_use]
    pub fn entries(&self) -> IndexEntries<'_> {
        let end = self.bytes.len().saturating_sub(self.hash.id_len());
        IndexEntries::new(&self.bytes[..end], self.hash, self.version, self.count)
    }
}

/// Reads the extensions. Those whose names begin with a capital letter may be passed over.
fn extensions(
    bytes: &[u8],
    mut at: usize,
    hash: HashKind,
    entries: u32,
) -> Result<Option<CacheTree>, FileProblem> {
    const CUT: FileProblem = FileProblem::Malformed("an extension is cut");
    let mut cache_tree = None;
    while at < bytes.len() {
        let name = bytes.get(at..at + 4).ok_or(CUT)?;
        let size = u32_at(bytes, at + 4).ok_or(CUT)? as usize;
        let content = bytes.get(at + 8..at + 8 + size).ok_or(CUT)?;
        match name {
            b"TREE" => cache_tree = CacheTree::parse(content, hash, entries),
            b"link" => {
                return Err(FileProblem::Unsupported(
                    "a split index; `git update-index --no-split-index` makes it whole",
                ));
            }
            // Says only that entries may be directories, which the entries say themselves.
            b"sdir" => {}
            [b'A'..=b'Z', ..] => {}
            _ => return Err(FileProblem::Unsupported("an extension that is not optional")),
        }
        at += 8 + size;
    }
    Ok(cache_tree)
}
