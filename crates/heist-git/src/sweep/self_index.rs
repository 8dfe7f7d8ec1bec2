//! Makes the index of a pack that has none: finds its entries one after the other, and hashes their
//! objects.
//!
//! One thread does this before a sweep begins, and the sweep then decodes the pack a second time.
//! Git itself does not read such packs at all; they are left by a fetch or a repack that was
//! interrupted, or put there to be overlooked.

use super::decoder::delta_bytes_max;
use crate::delta::{self, DeltaOp};
use crate::id::ObjectId;
use crate::inflate::{Inflater, StreamScanner, can_inflate_to};
use crate::loose::PIECE;
use crate::object::ObjectKind;
use crate::pack::index::PackIndex;
use crate::pack::{EntryHeader, EntryKind, PACK_HEADER, PackFile};
use crate::problem::{FileError, FileProblem, ObjectError};
use crate::store::{Base, BaseCache, ObjectStore};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

const CACHE_BYTES: usize = 32 << 20;

/// An index that was made.
pub(super) struct MadeIndex {
    pub index: PackIndex,
    /// Why entries have no id.
    pub nameless: Vec<ObjectError>,
    /// Why no more entries were found.
    pub problem: Option<FileError>,
}

/// Makes the index of the pack at `path`, decoding at most `decoded_max` bytes.
pub(super) fn index(
    store: &ObjectStore,
    path: &Path,
    decoded_max: u64,
) -> Result<MadeIndex, FileError> {
    let pack = PackFile::open(store.access(), path, store.hash_kind())?;
    let (entries, problem) = entries(&pack);
    let mut namer = Namer {
        store,
        pack: &pack,
        names: vec![None; entries.len()],
        entries,
        by_id: HashMap::new(),
        inflater: Inflater::new(),
        piece: vec![0; PIECE],
        delta: Vec::new(),
        ops: Vec::new(),
        cache: BaseCache::new(CACHE_BYTES),
        left: decoded_max,
    };
    let nameless = namer.name_all();
    let mut named: Vec<_> =
        namer.by_id.iter().map(|(id, entry)| (*id, namer.entries[*entry].offset)).collect();
    named.sort_unstable();
    let index = PackIndex::from_entries(&named, &path.with_extension("idx"), pack.hash)?;
    let problem = problem.map(|problem| FileError::new(path, problem));
    Ok(MadeIndex { index, nameless, problem })
}

/// An entry of the pack.
#[derive(Clone, Copy)]
struct Entry {
    offset: u64,
    header: EntryHeader,
}

/// Finds the entries: each begins where the compressed data of the one before ends.
fn entries(pack: &PackFile) -> (Vec<Entry>, Option<FileProblem>) {
    const DAMAGED: FileProblem =
        FileProblem::Malformed("an entry has no valid end, so those behind it cannot be found");
    let mut found = Vec::new();
    let mut scanner = StreamScanner::new();
    let mut piece = vec![0; PIECE];
    let mut offset = PACK_HEADER;
    while (found.len() as u64) < u64::from(pack.count) {
        let Ok(header) = pack.header_at(offset) else { return (found, Some(DAMAGED)) };
        let mut at = offset + header.len as u64;
        scanner.begin();
        loop {
            let filled = match pack.read_entry(at, &mut piece) {
                Ok(filled) => filled,
                Err(error) => return (found, Some(error.into())),
            };
            match scanner.scan(&piece[..filled], filled == 0) {
                Ok(None) => at += filled as u64,
                Ok(Some(used)) => {
                    at += used as u64;
                    break;
                }
                Err(_) => return (found, Some(DAMAGED)),
            }
        }
        found.push(Entry { offset, header });
        offset = at;
    }
    (found, None)
}

/// Finds the ids.
struct Namer<'a> {
    store: &'a ObjectStore,
    pack: &'a PackFile,
    entries: Vec<Entry>,
    /// The id and the kind of each entry, and its base.
    names: Vec<Option<(ObjectKind, Source)>>,
    by_id: HashMap<ObjectId, usize>,
    inflater: Inflater,
    piece: Vec<u8>,
    delta: Vec<u8>,
    ops: Vec<DeltaOp>,
    cache: BaseCache,
    /// How many bytes may still be decoded.
    left: u64,
}

/// Where the base of an entry is.
#[derive(Clone, Copy)]
enum Source {
    Whole,
    Entry(usize),
    /// In another pack, or loose.
    Store(ObjectId),
}

impl Namer<'_> {
    /// Names all entries whose bases are found. Returns why the others have no name.
    fn name_all(&mut self) -> Vec<ObjectError> {
        let mut nameless = Vec::new();
        // Deltas whose bases are stated by an id, which may come later in the pack.
        let mut waiting = Vec::new();
        for entry in 0..self.entries.len() {
            match self.name(entry, false) {
                Ok(true) => {}
                Ok(false) => waiting.push(entry),
                Err(error) => nameless.push(error),
            }
        }
        loop {
            let before = waiting.len();
            waiting.retain(|&entry| match self.name(entry, false) {
                Ok(named) => !named,
                Err(error) => {
                    nameless.push(error);
                    false
                }
            });
            if waiting.len() == before {
                break;
            }
        }
        for entry in waiting {
            if let Err(error) = self.name(entry, true) {
                nameless.push(error);
            }
        }
        nameless
    }

    /// Names an entry. Returns `false` if its base has no name yet. `is_last` looks for the base
    /// elsewhere as well.
    fn name(&mut self, number: usize, is_last: bool) -> Result<bool, ObjectError> {
        let entry = self.entries[number];
        let (source, kind) = match entry.header.kind {
            EntryKind::Whole(kind) => (Source::Whole, kind),
            EntryKind::OfsDelta(offset) => {
                let base = self.entries[..number].binary_search_by_key(&offset, |one| one.offset);
                let base = base.map_err(|_| ObjectError::MissingBase(None))?;
                match self.names[base] {
                    Some((kind, _)) => (Source::Entry(base), kind),
                    None if is_last => return Err(ObjectError::UnreadableBase),
                    None => return Ok(false),
                }
            }
            EntryKind::RefDelta(id) => match self.by_id.get(&id) {
                Some(&base) => {
                    let kind = self.names[base].map(|(kind, _)| kind);
                    (Source::Entry(base), kind.ok_or(ObjectError::UnreadableBase)?)
                }
                None if is_last => {
                    let kind = self.store.header(&id).map(|(kind, _)| kind);
                    (Source::Store(id), kind.map_err(|_| ObjectError::MissingBase(Some(id)))?)
                }
                None => return Ok(false),
            },
        };
        self.names[number] = Some((kind, source));
        match self.content(number) {
            Ok(content) => {
                let id = self.pack.hash.hash_object(kind, &content);
                self.by_id.entry(id).or_insert(number);
                Ok(true)
            }
            Err(error) => {
                self.names[number] = None;
                Err(error)
            }
        }
    }

    /// Decodes an entry from the closest base in the cache.
    fn content(&mut self, number: usize) -> Result<Arc<Vec<u8>>, ObjectError> {
        let mut chain = Vec::new();
        let mut at = number;
        let mut content = loop {
            if let Some(base) = self.cache.get(&(0, at as u64)) {
                break base.content;
            }
            match self.names[at] {
                Some((kind, Source::Whole)) => {
                    let mut content = Vec::new();
                    self.inflate(at, self.store.limits().object_bytes, &mut content)?;
                    break self.keep(at, kind, content);
                }
                Some((_, Source::Store(id))) => {
                    chain.push(at);
                    break Arc::new(self.store.read(&id)?.content);
                }
                Some((_, Source::Entry(base))) => {
                    chain.push(at);
                    at = base;
                }
                None => return Err(ObjectError::UnreadableBase),
            }
            if chain.len() > self.store.limits().chain {
                return Err(ObjectError::EndlessChain);
            }
        };
        let most = self.store.limits().object_bytes;
        while let Some(link) = chain.pop() {
            let mut delta = std::mem::take(&mut self.delta);
            self.inflate(link, delta_bytes_max(most), &mut delta)?;
            let len = delta::parse(&delta, content.len(), most, &mut self.ops)?;
            self.left = self.left.checked_sub(len as u64).ok_or(ObjectError::Cut)?;
            let mut next = Vec::new();
            delta::apply(&self.ops, &delta, &content, len, &mut next)?;
            self.delta = delta;
            let kind = self.names[link].map_or(ObjectKind::Blob, |(kind, _)| kind);
            content = self.keep(link, kind, next);
        }
        Ok(content)
    }

    fn keep(&mut self, number: usize, kind: ObjectKind, content: Vec<u8>) -> Arc<Vec<u8>> {
        let base = Base { kind, content: Arc::new(content) };
        self.cache.insert((0, number as u64), &base);
        base.content
    }

    fn inflate(&mut self, number: usize, most: u64, out: &mut Vec<u8>) -> Result<(), ObjectError> {
        let Entry { offset, header } = self.entries[number];
        if header.size > most {
            return Err(ObjectError::TooLarge { size: header.size });
        }
        let mut at = offset + header.len as u64;
        if !can_inflate_to(self.pack.entries_end().saturating_sub(at), header.size) {
            return Err(ObjectError::Corrupt("its inflated size is not what its header states"));
        }
        self.left = self.left.checked_sub(header.size).ok_or(ObjectError::Cut)?;
        out.clear();
        out.resize(header.size as usize, 0);
        let read = |buffer: &mut [u8]| {
            let read = self.pack.read_entry(at, buffer)?;
            at += read as u64;
            Ok(read)
        };
        self.inflater.pieces(&mut self.piece, read, out).map(|_| ())
    }
}
