//! The multi-pack index: one table over the packs of an object store.
//!
//! It makes looking up an id independent of the number of packs. Nothing is lost without it, as
//! each pack has its own index as well, so a damaged one is told and ignored.

use super::window::{FanOut, IdTable, IndexBytes, find_id};
use crate::access::Access;
use crate::bytes::{u32_at, u64_at};
use crate::id::{HashKind, ObjectId};
use crate::problem::{FileError, FileProblem};
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// The chunks of a file that begins with a table of them.
#[derive(Debug, Default)]
pub(crate) struct Chunks(HashMap<[u8; 4], (u64, u64)>);

impl Chunks {
    /// Reads the table of `count` chunks at `at`. Each must lie within the file.
    pub(crate) fn read(bytes: &IndexBytes, at: u64, count: u8) -> Option<Self> {
        let mut table = vec![0; 12 * (usize::from(count) + 1)];
        bytes.read_exact_at(at, &mut table).ok()?;
        let mut chunks = HashMap::new();
        for entry in 0..usize::from(count) {
            let start = u64_at(&table, 12 * entry + 4)?;
            let end = u64_at(&table, 12 * entry + 16)?;
            if start > end || end > bytes.len() {
                return None;
            }
            chunks.insert(table[12 * entry..12 * entry + 4].try_into().ok()?, (start, end - start));
        }
        Some(Self(chunks))
    }

    /// Returns where a chunk begins, if it has at least `len` bytes.
    pub(crate) fn get(&self, id: &[u8; 4], len: u64) -> Option<u64> {
        self.0.get(id).filter(|(_, size)| *size >= len).map(|(start, _)| *start)
    }

    pub(crate) fn size(&self, id: &[u8; 4]) -> u64 {
        self.0.get(id).map_or(0, |(_, size)| *size)
    }
}

/// The longest list of pack names that is read.
const NAMES_MAX: u64 = 16 << 20;

/// An open multi-pack index.
#[derive(Debug)]
pub(crate) struct MultiPackIndex {
    bytes: IndexBytes,
    hash: HashKind,
    fan_out: FanOut,
    ids_at: u64,
    offsets_at: u64,
    large_at: Option<u64>,
    large_count: u64,
    /// The names of the packs, without an extension.
    names: Vec<String>,
}

impl MultiPackIndex {
    /// Opens the file, if there is one.
    pub(crate) fn open(
        access: &Access,
        path: &Path,
        hash: HashKind,
    ) -> Result<Option<Self>, FileError> {
        match access.open(path) {
            Ok(file) => Self::new(IndexBytes::File(file), path, hash).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn new(bytes: IndexBytes, path: &Path, hash: HashKind) -> Result<Self, FileError> {
        let malformed = |what| FileError::new(path, FileProblem::Malformed(what));
        let mut header = [0; 12];
        bytes.read_exact_at(0, &mut header).map_err(|_| malformed("it is cut"))?;
        let expected = if hash == HashKind::Sha1 { 1 } else { 2 };
        if &header[..4] != b"MIDX" || header[5] != expected {
            return Err(malformed("it does not begin like a multi-pack index of this repository"));
        }
        if !matches!(header[4], 1 | 2) {
            return Err(FileError::new(path, FileProblem::Unsupported("its version")));
        }
        let packs = u32_at(&header, 8).unwrap_or_default();
        let chunks = Chunks::read(&bytes, 12, header[6])
            .ok_or_else(|| malformed("its table of chunks leads out of it"))?;
        let missing = || malformed("one of its tables is missing or cut");
        let fan_out_at = chunks.get(b"OIDF", FanOut::LEN).ok_or_else(missing)?;
        let fan_out = FanOut::read(&bytes, fan_out_at, path)?;
        let count = u64::from(fan_out.count());
        let ids_at = chunks.get(b"OIDL", count * hash.id_len() as u64).ok_or_else(missing)?;
        let offsets_at = chunks.get(b"OOFF", count * 8).ok_or_else(missing)?;
        let names_at = chunks.get(b"PNAM", u64::from(packs)).ok_or_else(missing)?;
        let mut names = vec![0; chunks.size(b"PNAM").min(NAMES_MAX) as usize];
        bytes.read_exact_at(names_at, &mut names).map_err(|_| missing())?;
        let names: Vec<_> = names
            .split(|&byte| byte == 0)
            .take(packs as usize)
            .map_while(|name| pack_name(std::str::from_utf8(name).ok()?))
            .collect();
        if names.len() != packs as usize {
            return Err(malformed("the name of a pack is none"));
        }
        Ok(Self {
            hash,
            fan_out,
            ids_at,
            offsets_at,
            large_at: chunks.get(b"LOFF", 0),
            large_count: chunks.size(b"LOFF") / 8,
            names,
            bytes,
        })
    }

    /// Returns the names of the packs, without an extension.
    pub(crate) fn pack_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of the pack of an object, and where it is in that pack.
    pub(crate) fn find(&self, id: &ObjectId) -> io::Result<Option<(u32, u64)>> {
        if id.hash_kind() != self.hash {
            return Ok(None);
        }
        let table = IdTable { at: self.ids_at, record: self.hash.id_len(), id_at: 0 };
        match find_id(&self.bytes, &self.fan_out, table, id.as_bytes())? {
            Some(position) => self.place_at(position).map(Some),
            None => Ok(None),
        }
    }

    fn place_at(&self, position: u32) -> io::Result<(u32, u64)> {
        let at = self.offsets_at + 8 * u64::from(position);
        let pack = self.bytes.u32_at(at)?;
        let small = self.bytes.u32_at(at + 4)?;
        // The high bit says "large" only if there are large offsets at all.
        let offset = match self.large_at {
            Some(large_at) if small & 0x8000_0000 != 0 => {
                let large = u64::from(small & 0x7fff_ffff);
                if large >= self.large_count {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                self.bytes.u64_at(large_at + 8 * large)?
            }
            _ => small.into(),
        };
        Ok((pack, offset))
    }
}

/// Returns the name of an index without its extension, or `None` if it is not a plain file name.
fn pack_name(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".idx").or_else(|| name.strip_suffix(".pack"))?;
    let is_plain = !stem.is_empty() && !stem.contains(['/', '\\', ':']) && !stem.starts_with('.');
    is_plain.then(|| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packs_are_plain() {
        assert_eq!(pack_name("pack-1.idx").as_deref(), Some("pack-1"));
        for name in ["pack-1", "../pack-1.idx", "/etc/x.idx", "a/b.idx", "..idx", ".idx", "c:x.idx"]
        {
            assert_eq!(pack_name(name), None, "{name}");
        }
    }
}
