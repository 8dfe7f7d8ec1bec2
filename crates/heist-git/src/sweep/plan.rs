//! What is known of a pack before anything is inflated: its entries in the order of the disk, the
//! headers, and the forest of deltas.

use super::forest::{Forest, NO_BASE, NO_KIND};
use super::owners::Positions;
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;
use crate::pack::index::PackIndex;
use crate::pack::{ENTRY_HEADER_MAX, EntryHeader, EntryKind, PackFile};
use crate::problem::{FileError, FileProblem, ObjectError};
use std::collections::HashMap;

/// Headers that are close together are read with this many bytes at a time.
const NEAR: usize = 256 << 10;

/// Headers that are far apart, too.
const FAR: usize = 4 << 10;

/// How many entries ahead the end of a read is guessed.
const AHEAD: usize = 8;

/// A pack whose entries can be decoded.
#[derive(Debug)]
pub(super) struct PackPlan {
    pub pack: PackFile,
    pub forest: Forest,
    /// In memory; only for the ids.
    index: PackIndex,
    /// Where each entry begins, and where the last one ends.
    offsets: Vec<u64>,
    /// The place of each entry's id.
    id_places: Vec<u32>,
    /// The inflated sizes; the largest number stands for all that are larger.
    sizes: Vec<u32>,
    header_lens: Vec<u8>,
    /// Entries without a base in the pack, which can be decoded. In the order of the pack.
    pub roots: Vec<u32>,
    /// Deltas whose bases are not in this pack.
    external: HashMap<u32, ObjectId>,
    /// Entries that cannot be decoded, whatever their base is.
    broken: HashMap<u32, ObjectError>,
    /// Places of ids that an earlier pack has, too.
    duplicates: Positions,
    /// Places of ids whose entry belongs to another id as well.
    doubtful: Vec<u32>,
    /// Entries that are wanted themselves or as a base. Empty if all are.
    needed: Positions,
}

impl PackPlan {
    /// Reads the headers of a pack. The index is in memory and was [checked](Self::check).
    /// `kind_of` finds the kind of an object in another pack.
    pub(super) fn new(
        pack: PackFile,
        mut index: PackIndex,
        duplicates: Positions,
        kind_of: impl FnMut(&ObjectId) -> Option<ObjectKind>,
    ) -> Self {
        let mut builder = Builder::new(pack, &index);
        index.drop_offsets();
        builder.read_headers();
        builder.find_external_bases(&index, kind_of);
        builder.finish(index, duplicates)
    }

    /// Checks that an index has no more objects than its pack has room for, and than can be sorted.
    pub(super) fn check(pack: &PackFile, index: &PackIndex) -> Result<(), FileError> {
        let end = pack.entries_end();
        // An entry has at least a header of one byte, and a zlib stream of eight.
        if index.count() > end / 9 || end.leading_zeros() < place_bits(index) {
            let what = "it has more objects than its pack has room for";
            return Err(FileError::new(index.path(), FileProblem::Malformed(what)));
        }
        Ok(())
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.id_places.len()
    }

    /// Returns the id of an entry.
    pub(super) fn id(&self, entry: u32) -> ObjectId {
        self.id_at(self.id_places[entry as usize])
    }

    fn id_at(&self, place: u32) -> ObjectId {
        // It is in memory, so every place of it can be read.
        let nothing = |_| ObjectId::from_slice(self.pack.hash, &[]);
        self.index.id_at(place).unwrap_or_else(nothing)
    }

    /// Returns where the compressed data of an entry is.
    pub(super) fn extent(&self, entry: u32) -> std::ops::Range<u64> {
        let entry = entry as usize;
        let start = self.offsets[entry] + u64::from(self.header_lens[entry]);
        start..self.offsets[entry + 1].max(start)
    }

    /// Returns the inflated size: of a delta, that of its instructions.
    pub(super) fn size(&self, entry: u32) -> u32 {
        self.sizes[entry as usize]
    }

    /// Returns the base of an entry that lies in another pack or loose.
    pub(super) fn external_base(&self, entry: u32) -> Option<&ObjectId> {
        self.external.get(&entry)
    }

    /// Returns why an entry cannot be decoded, if the headers tell.
    pub(super) fn broken(&self, entry: u32) -> Option<&ObjectError> {
        self.broken.get(&entry)
    }

    /// Returns `true` if an earlier pack has the object, too.
    pub(super) fn is_duplicate(&self, entry: u32) -> bool {
        self.duplicates.contains(self.id_places[entry as usize])
    }

    /// Iterates over the objects that have no entry of their own.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = ObjectId> {
        let own = self.doubtful.iter().filter(|place| !self.duplicates.contains(**place));
        own.map(|place| self.id_at(*place))
    }

    /// Returns `true` if an entry has to be decoded: for itself, or as a base.
    pub(super) fn is_needed(&self, entry: u32) -> bool {
        self.duplicates.len() == 0 || self.needed.contains(entry)
    }

    /// Returns the entries from the root of a chain down to `entry`, excluding `entry`.
    pub(super) fn chain_above(&self, entry: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut at = entry;
        while let Some(base) = self.forest.base(at) {
            chain.push(base);
            at = base;
        }
        chain.reverse();
        chain
    }

    fn set_needed(&mut self) {
        if self.duplicates.len() == 0 {
            return;
        }
        for entry in 0..self.len() as u32 {
            if self.is_duplicate(entry) {
                continue;
            }
            let mut at = Some(entry);
            // Stops at the first base that another entry has marked before.
            while let Some(entry) = at.filter(|entry| !self.needed.contains(*entry)) {
                self.needed.insert(entry);
                at = self.forest.base(entry);
            }
        }
    }
}

/// Returns the offset of each entry, and the place of its id, in the order of the pack.
fn entries_in_order(pack: &PackFile, index: &PackIndex) -> (Vec<u64>, Vec<u32>) {
    let end = pack.entries_end();
    let count = index.count() as u32;
    // Both in one number, so that sorting takes eight bytes per entry.
    let place_bits = place_bits(index);
    let mut offsets = Vec::with_capacity(count as usize + 1);
    for place in 0..count {
        // An offset that leads out of the index or the pack is an entry without bytes.
        let offset = index.offset_at(place).map_or(end, |offset| offset.min(end));
        offsets.push(offset << place_bits | u64::from(place));
    }
    offsets.sort_unstable();
    let place_of = |packed: &u64| (*packed & ((1 << place_bits) - 1)) as u32;
    let places = offsets.iter().map(place_of).collect();
    offsets.iter_mut().for_each(|packed| *packed >>= place_bits);
    (offsets, places)
}

/// Returns the number of bits that hold the place of any id.
fn place_bits(index: &PackIndex) -> u32 {
    u64::BITS - index.count().leading_zeros()
}

struct Builder {
    pack: PackFile,
    hash: HashKind,
    offsets: Vec<u64>,
    id_places: Vec<u32>,
    sizes: Vec<u32>,
    header_lens: Vec<u8>,
    kinds: Vec<u8>,
    bases: Vec<u32>,
    broken: HashMap<u32, ObjectError>,
    doubtful: Vec<u32>,
    /// Bases that are stated by their ids.
    external: HashMap<u32, ObjectId>,
}

impl Builder {
    fn new(pack: PackFile, index: &PackIndex) -> Self {
        let (mut offsets, mut id_places) = entries_in_order(&pack, index);
        let mut doubtful = Vec::new();
        if offsets.windows(2).any(|pair| pair[0] == pair[1]) {
            let mut last = None;
            let mut own = 0;
            for at in 0..offsets.len() {
                if last == Some(offsets[at]) {
                    doubtful.push(id_places[at]);
                    continue;
                }
                last = Some(offsets[at]);
                (offsets[own], id_places[own]) = (offsets[at], id_places[at]);
                own += 1;
            }
            offsets.truncate(own);
            id_places.truncate(own);
        }
        let len = offsets.len();
        offsets.push(pack.entries_end());
        Self {
            hash: pack.hash,
            pack,
            offsets,
            id_places,
            sizes: vec![0; len],
            header_lens: vec![0; len],
            kinds: vec![NO_KIND; len],
            bases: vec![NO_BASE; len],
            broken: HashMap::new(),
            doubtful,
            external: HashMap::new(),
        }
    }

    /// Reads the headers of all entries, from the beginning of the pack to its end.
    fn read_headers(&mut self) {
        let mut window = vec![0; NEAR];
        let (mut start, mut filled) = (0_u64, 0_usize);
        let end = self.pack.entries_end();
        for entry in 0..self.id_places.len() {
            let offset = self.offsets[entry];
            let inside = offset.checked_sub(start).filter(|at| {
                *at + ENTRY_HEADER_MAX as u64 <= filled as u64
                    || (start + filled as u64 == end && *at < filled as u64)
            });
            let at = match inside {
                Some(at) => at as usize,
                None => {
                    let ahead = self.offsets[(entry + AHEAD).min(self.id_places.len())];
                    let len = if ahead.saturating_sub(offset) < NEAR as u64 { NEAR } else { FAR };
                    start = offset;
                    filled = match read_full(&self.pack, offset, &mut window[..len]) {
                        Ok(filled) => filled,
                        Err(error) => {
                            filled = 0;
                            self.broken.insert(entry as u32, error);
                            continue;
                        }
                    };
                    0
                }
            };
            match EntryHeader::parse(&window[at..filled], offset, self.hash) {
                Ok(header) => self.set_header(entry, &header),
                Err(error) => {
                    self.broken.insert(entry as u32, error);
                }
            }
        }
    }

    fn set_header(&mut self, entry: usize, header: &EntryHeader) {
        self.sizes[entry] = u32::try_from(header.size).unwrap_or(u32::MAX);
        self.header_lens[entry] = header.len as u8;
        match header.kind {
            EntryKind::Whole(kind) => self.kinds[entry] = kind as u8,
            EntryKind::OfsDelta(offset) => match self.offsets[..entry].binary_search(&offset) {
                Ok(base) => self.bases[entry] = base as u32,
                Err(_) => {
                    self.broken.insert(entry as u32, ObjectError::MissingBase(None));
                }
            },
            EntryKind::RefDelta(id) => {
                self.external.insert(entry as u32, id);
            }
        }
    }

    /// Finds the bases that are stated by their ids. What is not in this pack stays in `external`.
    fn find_external_bases(
        &mut self,
        index: &PackIndex,
        mut kind_of: impl FnMut(&ObjectId) -> Option<ObjectKind>,
    ) {
        if self.external.is_empty() {
            return;
        }
        let mut entry_of_place = vec![NO_BASE; index.count() as usize];
        for (entry, place) in self.id_places.iter().enumerate() {
            entry_of_place[*place as usize] = entry as u32;
        }
        let (bases, kinds, broken) = (&mut self.bases, &mut self.kinds, &mut self.broken);
        self.external.retain(|&entry, id| {
            let place = index.find(id).ok().flatten();
            let found = place.map(|place| entry_of_place[place as usize]);
            if let Some(found) = found.filter(|found| *found != NO_BASE) {
                bases[entry as usize] = found;
                return false;
            }
            match kind_of(id) {
                Some(kind) => kinds[entry as usize] = kind as u8,
                None => {
                    broken.insert(entry, ObjectError::MissingBase(Some(*id)));
                    return false;
                }
            }
            true
        });
    }

    fn finish(self, index: PackIndex, duplicates: Positions) -> PackPlan {
        let forest = Forest::new(self.bases, self.kinds);
        let is_root = |entry: &u32| forest.base(*entry).is_none();
        let roots = (0..forest.len() as u32).filter(is_root).collect();
        let mut plan = PackPlan {
            pack: self.pack,
            forest,
            index,
            offsets: self.offsets,
            id_places: self.id_places,
            sizes: self.sizes,
            header_lens: self.header_lens,
            roots,
            external: self.external,
            broken: self.broken,
            duplicates,
            doubtful: self.doubtful,
            needed: Positions::default(),
        };
        plan.set_needed();
        plan
    }
}

/// Reads until the buffer is full or the entries end.
fn read_full(pack: &PackFile, offset: u64, buffer: &mut [u8]) -> Result<usize, ObjectError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match pack.read_entry(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
