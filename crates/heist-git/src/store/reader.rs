//! Reads single objects: finds an object, follows its deltas to a whole one, and applies them.

use super::base_cache::{Base, BaseCache};
use super::{ObjectStore, Place};
use crate::delta::{self, DeltaOp, DeltaSizes};
use crate::id::ObjectId;
use crate::inflate::{Inflater, can_inflate_to};
use crate::loose::{self, LooseObject};
use crate::object::{Object, ObjectKind};
use crate::pack::{EntryHeader, EntryKind};
use crate::problem::{FileProblem, ObjectError};
use std::sync::Arc;

/// The sizes at the start of a delta take at most this many bytes.
const DELTA_SIZES_MAX: usize = 20;

/// Reads objects from an [`ObjectStore`], one after the other. It keeps buffers and recent bases,
/// so neighbours of an object are cheap.
pub struct ObjectReader<'s> {
    store: &'s ObjectStore,
    inflater: Inflater,
    cache: BaseCache,
    piece: Vec<u8>,
    delta: Vec<u8>,
    ops: Vec<DeltaOp>,
    chain: Vec<Link>,
}

/// A delta on the way from an object to a whole one.
#[derive(Clone, Copy)]
struct Link {
    pack: usize,
    offset: u64,
    header: EntryHeader,
}

/// What a chain of deltas ends at.
enum End {
    /// An object with content, in a pack.
    Whole(Link, ObjectKind),
    /// A base that was decoded before.
    Cached(Base),
    /// A loose object.
    Loose { dir: usize, id: ObjectId },
}

impl std::fmt::Debug for ObjectReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectReader").finish_non_exhaustive()
    }
}

impl<'s> ObjectReader<'s> {
    pub(super) fn new(store: &'s ObjectStore) -> Self {
        Self {
            store,
            inflater: Inflater::new(),
            cache: BaseCache::new(store.limits.cache_bytes),
            piece: vec![0; loose::PIECE],
            delta: Vec::new(),
            ops: Vec::new(),
            chain: Vec::new(),
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// Tells why the object cannot be read.
    pub fn read(&mut self, id: &ObjectId) -> Result<Object, ObjectError> {
        let mut content = Vec::new();
        let kind = self.read_into(id, &mut content)?;
        Ok(Object { id: *id, kind, content })
    }

    /// Reads an object into `content`, whose memory is used again, and returns its kind.
    ///
    /// # Errors
    /// Tells why the object cannot be read. `content` then holds anything.
    pub fn read_into(
        &mut self,
        id: &ObjectId,
        content: &mut Vec<u8>,
    ) -> Result<ObjectKind, ObjectError> {
        let place = self.store.find(id)?.ok_or(ObjectError::Missing)?;
        match self.follow(place, *id, true)? {
            End::Loose { dir, id } if self.chain.is_empty() => self.read_loose(dir, &id, content),
            End::Whole(link, kind) if self.chain.is_empty() => {
                self.inflate_entry(link, content)?;
                Ok(kind)
            }
            end => {
                let mut base = match end {
                    End::Cached(base) => base,
                    End::Loose { dir, id } => {
                        let mut content = Vec::new();
                        let kind = self.read_loose(dir, &id, &mut content).map_err(of_base)?;
                        Base { kind, content: Arc::new(content) }
                    }
                    End::Whole(link, kind) => {
                        let mut content = Vec::new();
                        self.inflate_entry(link, &mut content).map_err(of_base)?;
                        let base = Base { kind, content: Arc::new(content) };
                        self.cache.insert((link.pack, link.offset), &base);
                        base
                    }
                };
                while let Some(link) = self.chain.pop() {
                    if self.chain.is_empty() {
                        self.apply(link, &base.content, content)?;
                        return Ok(base.kind);
                    }
                    let mut next = Vec::new();
                    self.apply(link, &base.content, &mut next).map_err(of_base)?;
                    base = Base { kind: base.kind, content: Arc::new(next) };
                    self.cache.insert((link.pack, link.offset), &base);
                }
                // The object itself was decoded as another's base.
                content.clear();
                content.extend_from_slice(&base.content);
                Ok(base.kind)
            }
        }
    }

    /// Returns the kind and the size of an object. Of a delta, this reads the headers of all its
    /// bases, and none of their contents.
    ///
    /// # Errors
    /// Tells why the object cannot be read.
    pub fn header(&mut self, id: &ObjectId) -> Result<(ObjectKind, u64), ObjectError> {
        let place = self.store.find(id)?.ok_or(ObjectError::Missing)?;
        let (kind, size) = match self.follow(place, *id, false)? {
            End::Cached(base) => (base.kind, base.content.len() as u64),
            End::Whole(link, kind) => (kind, link.header.size),
            End::Loose { dir, id } => {
                let file = loose::open(&self.store.dirs[dir], &id, &self.store.access)?;
                let file = file.ok_or(ObjectError::Missing)?;
                let object = LooseObject::new(file, &mut self.inflater, &mut self.piece)?;
                (object.header.kind, object.header.size)
            }
        };
        match self.chain.first().copied() {
            Some(link) => Ok((kind, self.delta_sizes(link)?.result)),
            None => Ok((kind, size)),
        }
    }

    /// Follows the deltas from an object to the end of their chain. The deltas are in `self.chain`,
    /// the object first.
    fn follow(
        &mut self,
        mut place: Place,
        mut id: ObjectId,
        use_cache: bool,
    ) -> Result<End, ObjectError> {
        self.chain.clear();
        loop {
            let (pack, offset) = match place {
                Place::Loose { dir } => return Ok(End::Loose { dir, id }),
                Place::Packed { pack, offset } => (pack, offset),
            };
            if use_cache && let Some(base) = self.cache.get(&(pack, offset)) {
                return Ok(End::Cached(base));
            }
            let file =
                self.store.packs[pack].pack(self.store).map_err(|error| match error.problem() {
                    FileProblem::Io(kind) => ObjectError::Io(*kind),
                    _ => ObjectError::Corrupt("its pack cannot be read"),
                })?;
            let header = file.header_at(offset)?;
            let link = Link { pack, offset, header };
            place = match header.kind {
                EntryKind::Whole(kind) => return Ok(End::Whole(link, kind)),
                EntryKind::OfsDelta(offset) => Place::Packed { pack, offset },
                EntryKind::RefDelta(base) => {
                    id = base;
                    let place = match self.store.find_in_pack(pack, &base)? {
                        None => self.store.find(&base)?,
                        place => place,
                    };
                    place.ok_or(ObjectError::MissingBase(Some(base)))?
                }
            };
            self.chain.push(link);
            if self.chain.len() > self.store.limits.chain {
                return Err(ObjectError::EndlessChain);
            }
        }
    }

    fn read_loose(
        &mut self,
        dir: usize,
        id: &ObjectId,
        content: &mut Vec<u8>,
    ) -> Result<ObjectKind, ObjectError> {
        let file = loose::open(&self.store.dirs[dir], id, &self.store.access)?;
        let file = file.ok_or(ObjectError::Missing)?;
        let most = self.store.limits.object_bytes;
        let object = LooseObject::new(file, &mut self.inflater, &mut self.piece)?;
        object.read(&mut self.inflater, &mut self.piece, most, content)
    }

    /// Inflates an entry of a pack: an object, or the instructions of a delta.
    fn inflate_entry(&mut self, link: Link, out: &mut Vec<u8>) -> Result<(), ObjectError> {
        let Ok(pack) = self.store.packs[link.pack].pack(self.store) else {
            return Err(ObjectError::Corrupt("its pack cannot be read"));
        };
        let size = link.header.size;
        if size > self.store.limits.object_bytes {
            return Err(ObjectError::TooLarge { size });
        }
        let mut offset = link.offset + link.header.len as u64;
        if !can_inflate_to(pack.entries_end().saturating_sub(offset), size) {
            return Err(ObjectError::Corrupt("its inflated size is not what its header states"));
        }
        let size = size as usize;
        out.clear();
        out.resize(size, 0);
        let piece = (size / 2 + 256).min(self.piece.len());
        let read = |buffer: &mut [u8]| {
            let read = pack.read_entry(offset, buffer)?;
            offset += read as u64;
            Ok(read)
        };
        self.inflater.pieces(&mut self.piece[..piece], read, out).map(|_| ())
    }

    fn apply(&mut self, link: Link, base: &[u8], out: &mut Vec<u8>) -> Result<(), ObjectError> {
        let mut delta = std::mem::take(&mut self.delta);
        let applied = self.inflate_entry(link, &mut delta).and_then(|()| {
            let most = self.store.limits.object_bytes;
            let len = delta::parse(&delta, base.len(), most, &mut self.ops)?;
            delta::apply(&self.ops, &delta, base, len, out)
        });
        self.delta = delta;
        applied
    }

    fn delta_sizes(&mut self, link: Link) -> Result<DeltaSizes, ObjectError> {
        let Ok(pack) = self.store.packs[link.pack].pack(self.store) else {
            return Err(ObjectError::Corrupt("its pack cannot be read"));
        };
        let filled = pack.read_entry(link.offset + link.header.len as u64, &mut self.piece)?;
        let mut start = [0; DELTA_SIZES_MAX];
        let inflated = self.inflater.beginning(&self.piece[..filled], &mut start)?;
        DeltaSizes::parse(&start[..inflated]).ok_or(ObjectError::Corrupt("its delta is invalid"))
    }
}

/// What an object's error is, if reading its base failed with `error`.
fn of_base(error: ObjectError) -> ObjectError {
    match error {
        ObjectError::Io(_) | ObjectError::Cut => error,
        _ => ObjectError::UnreadableBase,
    }
}
