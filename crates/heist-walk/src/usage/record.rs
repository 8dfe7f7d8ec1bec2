//! What a tree keeps of an entry, and where.
//!
//! Each worker fills [`Chunk`]s of its own, and takes a number for each from a counter that all share. So the id of
//! an entry (its chunk's number, and its place there) is final as soon as the entry is seen, needs no lock, and fits
//! into 32 bits; and no memory is ever moved or doubled.
//!
//! A record has 40 bytes, a name what it is long.

use super::Size;
use super::names::Names;
use crate::metadata::{FileIdentity, FileKind, Metadata};
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// No record has this id.
pub(super) const NONE: u32 = u32::MAX;

/// Records in a chunk: as a power of two.
const CHUNK_BITS: u32 = 10;
const CHUNK_RECORDS: usize = 1 << CHUNK_BITS;

/// One less than fit into the ids, so that [`NONE`] is no id.
const CHUNKS_MAX: u32 = (1 << (u32::BITS - CHUNK_BITS)) - 1;

/// What is true of a record. Bits of one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const NOTHING: Self = Self(0);
    /// The walk may come to it under other names: only the first one counts.
    pub(super) const MAY_REPEAT: Self = Self(1);
    /// A directory that was not entered here, because it is entered elsewhere.
    pub(super) const ENTERED_ELSEWHERE: Self = Self(1 << 1);
    /// It could not be read, or not completely.
    pub(super) const ERRORS: Self = Self(1 << 2);
    /// It is counted under another name.
    pub(super) const NOT_COUNTED: Self = Self(1 << 3);
    /// What is in this directory has its place in the tree.
    pub(super) const PLACED: Self = Self(1 << 4);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What is kept of one entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) len: u64,
    pub(super) allocated: u64,
    /// 0 if its identity is not known.
    pub(super) inode: u64,
    /// The directory that it is in; [`NONE`] for a root.
    pub(super) parent: u32,
    /// Where its name ends, in its chunk.
    name_end: u32,
    /// How many names a file has (or the largest number, if they are more); for a directory, which one it is, once the
    /// tree is built.
    pub(super) links_or_directory: u32,
    /// Index into the tree's devices.
    device: u16,
    pub(super) kind: FileKind,
    pub(super) marks: Marks,
}

const _: () = assert!(size_of::<Record>() == 40, "the budget is 120 bytes per entry in all");

impl Record {
    pub(super) const fn own_size(&self) -> Size {
        Size { len: self.len, allocated: self.allocated, inodes: 1 }
    }

    /// Its place among the tree's directories.
    pub(super) const fn directory(&self) -> usize {
        self.links_or_directory as usize
    }
}

/// Some records and their names.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    records: Vec<Record>,
    names: Names,
}

/// What the workers share to make records.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    chunks: AtomicU32,
    devices: Mutex<Vec<u64>>,
}

/// More file systems than this are not told apart: what is on the others has no identity.
const UNKNOWN_DEVICE: u16 = u16::MAX;

impl Numbers {
    /// The next chunk's number; `None` if a tree cannot have more.
    fn next_chunk(&self) -> Option<u32> {
        // Relaxed: only that numbers differ matters.
        let next = |chunks: u32| (chunks < CHUNKS_MAX).then(|| chunks + 1);
        self.chunks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    fn device(&self, device: u64) -> u16 {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let known = devices.iter().position(|known| *known == device);
        let index = known.unwrap_or(devices.len());
        match u16::try_from(index) {
            Ok(index) if index != UNKNOWN_DEVICE => {
                if known.is_none() {
                    devices.push(device);
                }
                index
            }
            _ => UNKNOWN_DEVICE,
        }
    }

    /// The devices, by index.
    pub(super) fn devices(&self) -> Vec<u64> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One worker's records.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: Vec<(u32, Chunk)>,
    /// The device of the last record: nearly always that of the next one.
    device: Option<(u64, u16)>,
}

impl Arena {
    /// Keeps an entry: its id; `None` if a tree cannot have more (there are four billion).
    #[inline]
    pub(super) fn push(
        &mut self,
        numbers: &Numbers,
        name: &OsStr,
        metadata: &Metadata,
        parent: u32,
        marks: Marks,
    ) -> Option<u32> {
        let device = match self.device {
            Some((device, index)) if device == metadata.device => index,
            _ => {
                let index = numbers.device(metadata.device);
                self.device = Some((metadata.device, index));
                index
            }
        };
        let (number, chunk) = match self.chunks.last_mut() {
            Some((number, chunk)) if chunk.records.len() < CHUNK_RECORDS => (*number, chunk),
            _ => self.add_chunk(numbers)?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most `CHUNK_RECORDS`")]
        let id = number << CHUNK_BITS | chunk.records.len() as u32;
        chunk.records.push(Record {
            len: metadata.len,
            allocated: metadata.allocated,
            inode: metadata.inode,
            parent,
            name_end: chunk.names.push(name),
            links_or_directory: u32::try_from(metadata.links).unwrap_or(u32::MAX),
            device,
            kind: metadata.kind,
            marks,
        });
        Some(id)
    }

    #[cold]
    fn add_chunk(&mut self, numbers: &Numbers) -> Option<(u32, &mut Chunk)> {
        let number = numbers.next_chunk()?;
        if let Some((_, full)) = self.chunks.last_mut() {
            full.names.shrink();
        }
        let chunk = Chunk { records: Vec::with_capacity(CHUNK_RECORDS), names: Names::default() };
        self.chunks.push((number, chunk));
        self.chunks.last_mut().map(|(number, chunk)| (*number, chunk))
    }
}

/// All records of a walk, by id.
#[derive(Debug, Default)]
pub(super) struct Records {
    chunks: Vec<Chunk>,
    devices: Vec<u64>,
}

impl Records {
    /// Puts the workers' chunks together.
    pub(super) fn new(arenas: impl IntoIterator<Item = Arena>, numbers: &Numbers) -> Self {
        let mut chunks = Vec::new();
        chunks.resize_with(numbers.chunks.load(Ordering::Relaxed) as usize, Chunk::default);
        for (number, mut chunk) in arenas.into_iter().flat_map(|arena| arena.chunks) {
            // A worker's last one is seldom full.
            chunk.records.shrink_to_fit();
            chunk.names.shrink();
            chunks[number as usize] = chunk;
        }
        Self { chunks, devices: numbers.devices() }
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Record {
        &self.chunks[(id >> CHUNK_BITS) as usize].records[id as usize % CHUNK_RECORDS]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Record {
        &mut self.chunks[(id >> CHUNK_BITS) as usize].records[id as usize % CHUNK_RECORDS]
    }

    pub(super) fn name(&self, id: u32) -> &OsStr {
        let chunk = &self.chunks[(id >> CHUNK_BITS) as usize];
        let place = id as usize % CHUNK_RECORDS;
        let start = place.checked_sub(1).map_or(0, |before| chunk.records[before].name_end);
        chunk.names.get(start, chunk.records[place].name_end)
    }

    pub(super) fn device(&self, id: u32) -> u64 {
        self.devices.get(usize::from(self.get(id).device)).copied().unwrap_or_default()
    }

    /// Which file it is; `None` if nobody knows.
    pub(super) fn identity(&self, id: u32) -> Option<FileIdentity> {
        let record = self.get(id);
        let device = *self.devices.get(usize::from(record.device))?;
        (record.inode != 0).then_some(FileIdentity { device, inode: record.inode })
    }

    /// Every id, in no order that means anything.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + use<> {
        let lens: Vec<usize> = self.chunks.iter().map(|chunk| chunk.records.len()).collect();
        (0..).zip(lens).flat_map(|(number, len)| {
            (0..).take(len).map(move |place: u32| number << CHUNK_BITS | place)
        })
    }
}
