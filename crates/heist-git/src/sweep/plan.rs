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
    /// The ids, sorted, without gaps.
    ids: Vec<u8>,
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
    /// Reads the index and the headers of a pack. `kind_of` finds the kind of an object in another
    /// pack.
    pub(super) fn new(
        pack: PackFile,
        index: &PackIndex,
        duplicates: &Positions,
        kind_of: impl FnMut(&ObjectId) -> Option<ObjectKind>,
    ) -> Result<Self, FileError> {
        let order = entries_in_order(&pack, index)?;
        let mut builder = Builder::new(pack, index, order)?;
        builder.read_headers();
        let bases = builder.find_bases(index, kind_of);
        Ok(builder.finish(bases, duplicates.clone()))
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
        let len = self.pack.hash.len();
        let start = place as usize * len;
        ObjectId::from_slice(self.pack.hash, &self.ids[start..start + len])
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

    /// Returns the number of objects that are visited here and nowhere else.
    pub(super) fn own_objects(&self) -> u64 {
        (self.len() + self.doubtful.len()) as u64 - self.duplicates.len()
    }

    /// Iterates over the objects that have no entry of their own.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = ObjectId> {
        let own = self.doubtful.iter().filter(|place| !self.duplicates.contains(**place));
        own.map(|place| self.id_at(*place))
    }

    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates.len()
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

/// Returns the offset of each entry and the place of its id, in the order of the pack.
fn entries_in_order(pack: &PackFile, index: &PackIndex) -> Result<Vec<(u64, u32)>, FileError> {
    // An entry has at least a header of one byte, and a zlib stream of eight.
    if index.count() > pack.file.len() / 9 {
        let problem = FileProblem::Malformed("it has more objects than its pack has room for");
        return Err(FileError::new(index.path(), problem));
    }
    let count = index.count() as u32;
    let mut entries = Vec::with_capacity(count as usize);
    for place in 0..count {
        // An offset that leads out of the index is an entry that leads out of the pack.
        entries.push((index.offset_at(place).unwrap_or(u64::MAX >> 1), place));
    }
    entries.sort_unstable();
    Ok(entries)
}

struct Builder {
    pack: PackFile,
    hash: HashKind,
    ids: Vec<u8>,
    offsets: Vec<u64>,
    id_places: Vec<u32>,
    sizes: Vec<u32>,
    header_lens: Vec<u8>,
    kinds: Vec<u8>,
    /// Bases as the headers state them.
    stated: Vec<Stated>,
    broken: HashMap<u32, ObjectError>,
    doubtful: Vec<u32>,
    external: HashMap<u32, ObjectId>,
}

/// A base as a header states it.
#[derive(Clone, Copy)]
enum Stated {
    Nothing,
    /// The number of the base's entry.
    Entry(u32),
    /// The number of the base's id among those that were stated.
    Id(u32),
}

impl Builder {
    fn new(
        pack: PackFile,
        index: &PackIndex,
        mut order: Vec<(u64, u32)>,
    ) -> Result<Self, FileError> {
        let hash = pack.hash;
        let failed = |error| FileError::new(index.path(), error);
        let mut doubtful = Vec::new();
        let mut last = None;
        order.retain(|&(offset, place)| {
            let is_same = last == Some(offset);
            last = Some(offset);
            if is_same {
                doubtful.push(place);
            }
            !is_same
        });
        let mut ids = Vec::with_capacity(index.count() as usize * hash.len());
        for place in 0..index.count() as u32 {
            ids.extend_from_slice(index.id_at(place).map_err(failed)?.as_bytes());
        }
        let mut offsets = Vec::with_capacity(order.len() + 1);
        offsets.extend(order.iter().map(|(offset, _)| *offset));
        offsets.push(pack.entries_end());
        let len = order.len();
        Ok(Self {
            hash,
            pack,
            ids,
            offsets,
            id_places: order.into_iter().map(|(_, place)| place).collect(),
            sizes: vec![0; len],
            header_lens: vec![0; len],
            kinds: vec![NO_KIND; len],
            stated: vec![Stated::Nothing; len],
            broken: HashMap::new(),
            doubtful,
            external: HashMap::new(),
        })
    }

    /// Reads the headers of all entries, from the beginning of the pack to its end.
    fn read_headers(&mut self) {
        let mut window = vec![0; NEAR];
        let (mut start, mut filled) = (0_u64, 0_usize);
        let end = self.pack.entries_end();
        let mut bases = HashMap::new();
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
                Ok(header) => self.set_header(entry, &header, &mut bases),
                Err(error) => {
                    self.broken.insert(entry as u32, error);
                }
            }
        }
        self.external = bases;
    }

    fn set_header(
        &mut self,
        entry: usize,
        header: &EntryHeader,
        ref_bases: &mut HashMap<u32, ObjectId>,
    ) {
        self.sizes[entry] = u32::try_from(header.size).unwrap_or(u32::MAX);
        self.header_lens[entry] = header.len as u8;
        match header.kind {
            EntryKind::Whole(kind) => self.kinds[entry] = kind as u8,
            EntryKind::OfsDelta(offset) => match self.offsets[..entry].binary_search(&offset) {
                Ok(base) => self.stated[entry] = Stated::Entry(base as u32),
                Err(_) => {
                    self.broken.insert(entry as u32, ObjectError::MissingBase(None));
                }
            },
            EntryKind::RefDelta(id) => {
                self.stated[entry] = Stated::Id(entry as u32);
                ref_bases.insert(entry as u32, id);
            }
        }
    }

    /// Turns what the headers state into entries. What is not in this pack stays in `external`.
    fn find_bases(
        &mut self,
        index: &PackIndex,
        mut kind_of: impl FnMut(&ObjectId) -> Option<ObjectKind>,
    ) -> Vec<u32> {
        let mut entry_of_place = Vec::new();
        if !self.external.is_empty() {
            entry_of_place = vec![NO_BASE; index.count() as usize];
            for (entry, place) in self.id_places.iter().enumerate() {
                entry_of_place[*place as usize] = entry as u32;
            }
        }
        let mut bases = vec![NO_BASE; self.id_places.len()];
        for (entry, base) in bases.iter_mut().enumerate() {
            match self.stated[entry] {
                Stated::Nothing => {}
                Stated::Entry(found) => *base = found,
                Stated::Id(number) => {
                    let id = self.external[&number];
                    let place = index.find(&id).ok().flatten();
                    let found = place.map(|place| entry_of_place[place as usize]);
                    if let Some(found) = found.filter(|found| *found != NO_BASE) {
                        *base = found;
                        self.external.remove(&number);
                    } else if let Some(kind) = kind_of(&id) {
                        self.kinds[entry] = kind as u8;
                    } else {
                        let error = ObjectError::MissingBase(Some(id));
                        self.broken.insert(entry as u32, error);
                        self.external.remove(&number);
                    }
                }
            }
        }
        bases
    }

    fn finish(self, bases: Vec<u32>, duplicates: Positions) -> PackPlan {
        let forest = Forest::new(bases, self.kinds);
        let is_root = |entry: &u32| forest.base(*entry).is_none();
        let roots = (0..forest.len() as u32).filter(is_root).collect();
        let mut plan = PackPlan {
            pack: self.pack,
            forest,
            ids: self.ids,
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
