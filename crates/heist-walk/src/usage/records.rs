//! The records that a tree keeps of its entries.
//!
//! Each worker fills its own [`RecordBlock`]s, and takes the number of each from a shared counter.
//! The id of an entry consists of the number of its block and its index there. So an id is final as
//! soon as the entry is seen, takes no lock and fits into 32 bits, and records never move in
//! memory.
//!
//! A record takes 40 bytes, and its name as many bytes as it has.

use super::Size;
use super::packed_names::PackedNames;
use crate::metadata::{FileIdentity, FileKind, Metadata};
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Not the id of any record.
pub(super) const NONE: u32 = u32::MAX;

/// The number of records in a block, as a power of two.
const BLOCK_BITS: u32 = 10;
const BLOCK_RECORDS: usize = 1 << BLOCK_BITS;

/// One block less than ids can address, so that [`NONE`] is never an id.
const BLOCKS_MAX: u32 = (1 << (u32::BITS - BLOCK_BITS)) - 1;

/// Flags of a record, as bits of one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const NOTHING: Self = Self(0);
    /// The walk may reach it under other names, of which only the first counts.
    pub(super) const MAY_REPEAT: Self = Self(1);
    /// A directory that was not entered here because it is entered elsewhere.
    pub(super) const ENTERED_ELSEWHERE: Self = Self(1 << 1);
    /// A directory that could not be read, or only in part.
    pub(super) const ERRORS: Self = Self(1 << 2);
    /// It counts under another name.
    pub(super) const NOT_COUNTED: Self = Self(1 << 3);
    /// The contents of this directory are placed in the tree.
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
    /// 0 if the identity is unknown.
    pub(super) inode: u64,
    /// The directory that contains it, or [`NONE`] for a root.
    pub(super) parent: u32,
    /// Where the name ends in the names of the block.
    name_end: u32,
    /// For a file, the number of its names, or `u32::MAX` if there are more. For a directory, its
    /// index among the tree's directories once the tree is built.
    pub(super) links_or_directory: u32,
    /// An index into the tree's devices.
    device: u16,
    pub(super) kind: FileKind,
    pub(super) marks: Marks,
}

const _: () = assert!(size_of::<Record>() == 40, "an entry may cost at most 120 bytes in all");

impl Record {
    pub(super) const fn own_size(&self) -> Size {
        Size { len: self.len, allocated: self.allocated, inodes: 1 }
    }

    /// Returns the index among the tree's directories.
    pub(super) const fn directory(&self) -> usize {
        self.links_or_directory as usize
    }
}

/// A number of records and their names.
#[derive(Debug, Default)]
pub(super) struct RecordBlock {
    records: Vec<Record>,
    names: PackedNames,
}

/// The counters from which all workers number their records.
#[derive(Debug, Default)]
pub(super) struct SharedNumbering {
    blocks: AtomicU32,
    devices: Mutex<Vec<u64>>,
}

/// The index for all devices beyond the first 65,535. Files on these have no identity.
const UNKNOWN_DEVICE: u16 = u16::MAX;

impl SharedNumbering {
    /// Returns the number of the next block, or `None` if the tree is full.
    fn next_block(&self) -> Option<u32> {
        // Relaxed: it matters only that the numbers differ.
        let next = |blocks: u32| (blocks < BLOCKS_MAX).then(|| blocks + 1);
        self.blocks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
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

    /// Returns the devices by index.
    pub(super) fn devices(&self) -> Vec<u64> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The records of one worker.
#[derive(Debug, Default)]
pub(super) struct RecordArena {
    blocks: Vec<(u32, RecordBlock)>,
    /// The device of the last record, which is nearly always that of the next one as well.
    device: Option<(u64, u16)>,
}

impl RecordArena {
    /// Adds a record and returns its id, or `None` if the tree is full (at four billion records).
    #[inline]
    pub(super) fn push(
        &mut self,
        numbering: &SharedNumbering,
        name: &OsStr,
        metadata: &Metadata,
        parent: u32,
        marks: Marks,
    ) -> Option<u32> {
        let device = match self.device {
            Some((device, index)) if device == metadata.device => index,
            _ => {
                let index = numbering.device(metadata.device);
                self.device = Some((metadata.device, index));
                index
            }
        };
        let (number, block) = match self.blocks.last_mut() {
            Some((number, block)) if block.records.len() < BLOCK_RECORDS => (*number, block),
            _ => self.add_block(numbering)?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most `BLOCK_RECORDS`")]
        let id = number << BLOCK_BITS | block.records.len() as u32;
        block.records.push(Record {
            len: metadata.len,
            allocated: metadata.allocated,
            inode: metadata.inode,
            parent,
            name_end: block.names.push(name),
            links_or_directory: u32::try_from(metadata.links).unwrap_or(u32::MAX),
            device,
            kind: metadata.kind,
            marks,
        });
        Some(id)
    }

    #[cold]
    fn add_block(&mut self, numbering: &SharedNumbering) -> Option<(u32, &mut RecordBlock)> {
        let number = numbering.next_block()?;
        if let Some((_, full)) = self.blocks.last_mut() {
            full.names.shrink();
        }
        let block = RecordBlock {
            records: Vec::with_capacity(BLOCK_RECORDS),
            names: PackedNames::default(),
        };
        self.blocks.push((number, block));
        self.blocks.last_mut().map(|(number, block)| (*number, block))
    }
}

/// All records of a walk by id.
#[derive(Debug, Default)]
pub(super) struct Records {
    blocks: Vec<RecordBlock>,
    devices: Vec<u64>,
}

impl Records {
    /// Combines the blocks of all workers.
    pub(super) fn new(
        arenas: impl IntoIterator<Item = RecordArena>,
        numbering: &SharedNumbering,
    ) -> Self {
        let mut blocks = Vec::new();
        blocks.resize_with(numbering.blocks.load(Ordering::Relaxed) as usize, RecordBlock::default);
        for (number, mut block) in arenas.into_iter().flat_map(|arena| arena.blocks) {
            // The last block of a worker is rarely full.
            block.records.shrink_to_fit();
            block.names.shrink();
            blocks[number as usize] = block;
        }
        Self { blocks, devices: numbering.devices() }
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Record {
        &self.blocks[(id >> BLOCK_BITS) as usize].records[id as usize % BLOCK_RECORDS]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Record {
        &mut self.blocks[(id >> BLOCK_BITS) as usize].records[id as usize % BLOCK_RECORDS]
    }

    pub(super) fn name(&self, id: u32) -> &OsStr {
        let block = &self.blocks[(id >> BLOCK_BITS) as usize];
        let place = id as usize % BLOCK_RECORDS;
        let start = place.checked_sub(1).map_or(0, |before| block.records[before].name_end);
        block.names.get(start, block.records[place].name_end)
    }

    pub(super) fn device(&self, id: u32) -> u64 {
        self.devices.get(usize::from(self.get(id).device)).copied().unwrap_or_default()
    }

    /// Returns the identity of the file, or `None` if it is unknown.
    pub(super) fn identity(&self, id: u32) -> Option<FileIdentity> {
        let record = self.get(id);
        let device = *self.devices.get(usize::from(record.device))?;
        (record.inode != 0).then_some(FileIdentity { device, inode: record.inode })
    }

    /// Iterates over all ids, in no meaningful order.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + use<> {
        let lens: Vec<usize> = self.blocks.iter().map(|block| block.records.len()).collect();
        (0..).zip(lens).flat_map(|(number, len)| {
            (0..).take(len).map(move |place: u32| number << BLOCK_BITS | place)
        })
    }
}
