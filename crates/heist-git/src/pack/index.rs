//! The index of a pack, versions 1 and 2: which object is where.

use super::window::{FanOut, IdTable, IndexBytes, find_id};
use crate::access::Access;
use crate::id::{HashKind, ObjectId};
use crate::problem::{FileError, FileProblem};
use std::io;
use std::path::{Path, PathBuf};

const MAGIC: u32 = 0xff74_4f63;

/// An open index. Random access reads a few kilobytes each; [`PackIndex::into_memory`] is for those
/// who need all of it.
#[derive(Debug)]
pub(crate) struct PackIndex {
    path: PathBuf,
    bytes: IndexBytes,
    hash: HashKind,
    fan_out: FanOut,
    version: u32,
    large_offsets: u64,
    is_made: bool,
}

impl PackIndex {
    /// Opens an index and checks that it is as long as its number of objects requires.
    pub(crate) fn open(access: &Access, path: &Path, hash: HashKind) -> Result<Self, FileError> {
        Self::new(IndexBytes::File(access.open(path)?), path, hash)
    }

    pub(crate) fn new(bytes: IndexBytes, path: &Path, hash: HashKind) -> Result<Self, FileError> {
        let failed = |problem| Err(FileError::new(path, problem));
        let Ok(magic) = bytes.u32_at(0) else {
            return failed(FileProblem::Malformed("it is cut"));
        };
        let version = if magic == MAGIC { bytes.u32_at(4).unwrap_or(0) } else { 1 };
        if !matches!(version, 1 | 2) {
            return failed(FileProblem::Unsupported("this version of indexes"));
        }
        let fan_out = FanOut::read(&bytes, if version == 1 { 0 } else { 8 }, path)?;
        let mut index = Self {
            path: path.to_owned(),
            bytes,
            hash,
            fan_out,
            version,
            large_offsets: 0,
            is_made: false,
        };
        let record = index.hash.id_len() as u64 + if version == 1 { 4 } else { 8 };
        let tables = index.ids().at + index.count() * record;
        let trailer = 2 * index.hash.id_len() as u64;
        match index.bytes.len().checked_sub(tables + trailer) {
            Some(rest) if version == 2 => index.large_offsets = (rest / 8).min(index.count()),
            Some(_) => {}
            None => return failed(FileProblem::Malformed("it is shorter than its table")),
        }
        Ok(index)
    }

    /// Makes an index in memory. `entries` are ids and offsets, sorted, each id once.
    pub(crate) fn from_entries(
        entries: &[(ObjectId, u64)],
        path: &Path,
        hash: HashKind,
    ) -> Result<Self, FileError> {
        let mut bytes = Vec::with_capacity(1072 + entries.len() * (hash.id_len() + 8));
        bytes.extend_from_slice(&MAGIC.to_be_bytes());
        bytes.extend_from_slice(&2_u32.to_be_bytes());
        for byte in 0..=u8::MAX {
            let count = entries.partition_point(|(id, _)| id.as_bytes()[0] <= byte) as u32;
            bytes.extend_from_slice(&count.to_be_bytes());
        }
        entries.iter().for_each(|(id, _)| bytes.extend_from_slice(id.as_bytes()));
        // In place of checksums.
        bytes.resize(bytes.len() + 4 * entries.len(), 0);
        let mut large = Vec::new();
        for &(_, offset) in entries {
            let small = u32::try_from(offset).ok().filter(|offset| offset & 0x8000_0000 == 0);
            let small = small.unwrap_or_else(|| {
                large.extend_from_slice(&offset.to_be_bytes());
                0x8000_0000 | (large.len() / 8 - 1) as u32
            });
            bytes.extend_from_slice(&small.to_be_bytes());
        }
        bytes.append(&mut large);
        bytes.resize(bytes.len() + 2 * hash.id_len(), 0);
        let mut index = Self::new(IndexBytes::Memory(bytes), path, hash)?;
        index.is_made = true;
        Ok(index)
    }

    /// Loads the tables into memory, and nothing behind them. Memory grows as valid entries arrive:
    /// ids must rise.
    pub(crate) fn into_memory(mut self) -> Result<Self, FileError> {
        let IndexBytes::File(file) = &self.bytes else { return Ok(self) };
        const PIECE: u64 = 1 << 20;
        let ids = self.ids();
        let per_object = self.hash.id_len() as u64 + if self.version == 1 { 4 } else { 8 };
        let tables = ids.at + self.count() * per_object + 8 * self.large_offsets;
        let end = tables.min(file.len());
        let mut content = Vec::new();
        let mut checked = 0;
        while (content.len() as u64) < end {
            let start = content.len();
            let more = PIECE.min(end - start as u64);
            if content.capacity() < start + more as usize {
                // As much again as is there and valid.
                content.reserve_exact((end - start as u64).min(PIECE.max(start as u64)) as usize);
            }
            content.resize(start + more as usize, 0);
            file.read_exact_at(start as u64, &mut content[start..])
                .map_err(|error| FileError::new(&self.path, error))?;
            checked = self.check_ids(&content, ids, checked)?;
        }
        self.bytes = IndexBytes::Memory(content);
        Ok(self)
    }

    /// Drops what [`PackIndex::offset_at`] reads, from an index in memory. Ids are found as before.
    pub(crate) fn drop_offsets(&mut self) {
        let ids = self.ids();
        let end = ids.at + self.count() * ids.record as u64;
        if let IndexBytes::Memory(bytes) = &mut self.bytes {
            bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
            bytes.shrink_to_fit();
        }
    }

    /// Checks that the ids in `content` rise and belong where the fan-out table says, from position
    /// `checked` on. Returns the number of ids that are there.
    fn check_ids(&self, content: &[u8], ids: IdTable, checked: u64) -> Result<u64, FileError> {
        let there = (content.len() as u64).saturating_sub(ids.at) / ids.record as u64;
        let there = there.min(self.count());
        let id = |position: u64| {
            let at = (ids.at + position * ids.record as u64) as usize + ids.id_at;
            &content[at..at + self.hash.id_len()]
        };
        for position in checked..there {
            let rises = position == 0 || id(position - 1) < id(position);
            let range = self.fan_out.range(id(position)[0]);
            let belongs = (u64::from(range.start)..u64::from(range.end)).contains(&position);
            if !rises || !belongs {
                let problem = FileProblem::Malformed("its ids are not sorted");
                return Err(FileError::new(&self.path, problem));
            }
        }
        Ok(there)
    }

    /// Returns `true` if this is the content of a file, and was not made here.
    pub(crate) fn is_file(&self) -> bool {
        !self.is_made
    }

    pub(crate) fn file_len(&self) -> u64 {
        self.bytes.len()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of objects.
    pub(crate) fn count(&self) -> u64 {
        u64::from(self.fan_out.count())
    }

    fn ids(&self) -> IdTable {
        let hash = self.hash.id_len();
        match self.version {
            1 => IdTable { at: FanOut::LEN, record: hash + 4, id_at: 4 },
            _ => IdTable { at: 8 + FanOut::LEN, record: hash, id_at: 0 },
        }
    }

    /// Returns the position of an id.
    pub(crate) fn find(&self, id: &ObjectId) -> io::Result<Option<u32>> {
        if id.hash_kind() != self.hash {
            return Ok(None);
        }
        let ids = self.ids();
        find_id(&self.bytes, &self.fan_out, ids, id.as_bytes())
    }

    /// Returns the id at a position.
    pub(crate) fn id_at(&self, position: u32) -> io::Result<ObjectId> {
        let ids = self.ids();
        let mut id = [0; 32];
        let id = &mut id[..self.hash.id_len()];
        let at = ids.at + u64::from(position) * ids.record as u64 + ids.id_at as u64;
        self.bytes.read_exact_at(at, id)?;
        Ok(ObjectId::from_slice(self.hash, id))
    }

    /// Returns where in the pack the object at a position is.
    pub(crate) fn offset_at(&self, position: u32) -> io::Result<u64> {
        let ids = self.ids();
        let position = u64::from(position);
        if self.version == 1 {
            return Ok(self.bytes.u32_at(ids.at + position * ids.record as u64)?.into());
        }
        let offsets = ids.at + self.count() * (self.hash.id_len() as u64 + 4);
        let small = self.bytes.u32_at(offsets + 4 * position)?;
        if small & 0x8000_0000 == 0 {
            return Ok(small.into());
        }
        let large = u64::from(small & 0x7fff_ffff);
        if large >= self.large_offsets {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.bytes.u64_at(offsets + 4 * self.count() + 8 * large)
    }
}
