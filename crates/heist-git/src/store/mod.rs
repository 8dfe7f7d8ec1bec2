//! An object store: all packs and loose objects of a repository and its alternates.

mod base_cache;
mod reader;

pub(crate) use base_cache::{Base, BaseCache};
pub use reader::ObjectReader;

use crate::access::Access;
use crate::id::{HashKind, ObjectId};
use crate::loose;
use crate::object::{Object, ObjectKind};
use crate::pack::PackFile;
use crate::pack::index::PackIndex;
use crate::pack::midx::MultiPackIndex;
use crate::problem::{FileError, ObjectError};
use crate::repo::alternates::ObjectDirs;
use crate::repo::layout::Layout;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most packs of one object directory.
const PACKS_MAX: usize = 100_000;

/// Smaller indexes are kept in memory, which saves a descriptor each.
const SMALL_INDEX: u64 = 64 << 10;

/// What reading objects may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest object that is read, in bytes. Larger ones are the outcome
    /// [`ObjectError::TooLarge`]. Default 64 MiB, at most 4 GiB.
    pub object_bytes: u64,
    /// The longest chain of deltas. Default 5,000; git makes no more than 4,095.
    pub chain: usize,
    /// How many bytes of bases an [`ObjectReader`] keeps for the next object. Default 16 MiB.
    pub cache_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { object_bytes: 64 << 20, chain: 5_000, cache_bytes: 16 << 20 }
    }
}

/// The objects of a repository, by their ids.
///
/// Opening it reads the names of the packs and a kilobyte of each index. A lookup reads about four
/// kilobytes of an index (of the multi-pack index, if there is one), and then the object and the
/// bases of its delta.
///
/// ```no_run
/// use heist_git::{Access, Layout, Limits, ObjectId, ObjectStore, Trust};
///
/// let access = Access::new(["/src/project"], Trust::RootsOnly)?;
/// let layout = Layout::open("/src/project", &access)?;
/// let store = ObjectStore::open(&layout, &access, Limits::default())?;
/// for problem in store.problems() {
///     eprintln!("{problem}"); // alternates outside the roots, damaged indexes
/// }
/// let id = ObjectId::from_hex(b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391").unwrap();
/// // For one object. For many, a reader per thread keeps bases and buffers.
/// let object = store.read(&id)?;
/// let mut reader = store.reader();
/// let same = reader.read(&id)?;
/// assert_eq!(object, same);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// - It may be shared between threads; each has a reader of its own.
/// - Contents are not compared with their ids ([`Object::is_intact`] does that).
/// - It reads the list of packs once. If git repacks meanwhile, objects may go missing until the
///   store is opened again.
#[derive(Debug)]
pub struct ObjectStore {
    hash: HashKind,
    access: Access,
    limits: Limits,
    /// The own directory first.
    dirs: Vec<PathBuf>,
    packs: Vec<StoredPack>,
    multi: Vec<Multi>,
    /// Packs that have no index.
    unindexed: Vec<PathBuf>,
    problems: Vec<FileError>,
    is_promisor: bool,
    /// The pack in which an object was found last: the next one is likely there, too.
    recent: AtomicUsize,
}

/// A pack with its index. The pack is opened when it is first read.
#[derive(Debug)]
pub(crate) struct StoredPack {
    pub index: PackIndex,
    path: PathBuf,
    pack: OnceLock<Result<PackFile, FileError>>,
}

impl StoredPack {
    /// Opens the pack, unless it is open.
    pub(crate) fn pack(&self, store: &ObjectStore) -> Result<&PackFile, &FileError> {
        let open = || PackFile::open(&store.access, &self.path, store.hash);
        self.pack.get_or_init(open).as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct Multi {
    index: MultiPackIndex,
    /// The packs by the numbers of the index, as far as they exist.
    packs: Vec<Option<usize>>,
}

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Packed { pack: usize, offset: u64 },
    Loose { dir: usize },
}

impl ObjectStore {
    /// Opens the objects of a repository and of its alternates.
    ///
    /// # Errors
    /// Fails if there is no directory of objects. Packs, indexes and alternates that cannot be read
    /// are among [`ObjectStore::problems`].
    pub fn open(layout: &Layout, access: &Access, limits: Limits) -> Result<Self, FileError> {
        let mut store =
            Self::open_objects(&layout.objects_dir(), layout.hash_kind(), access, limits)?;
        store.is_promisor |= layout.is_partial();
        Ok(store)
    }

    /// Opens a directory of objects that is not below a repository, such as the quarantine of a
    /// push, with its alternates.
    ///
    /// # Errors
    /// Fails as [`ObjectStore::open`] does.
    pub fn open_objects(
        objects: &Path,
        hash: HashKind,
        access: &Access,
        mut limits: Limits,
    ) -> Result<Self, FileError> {
        // The instructions of deltas have offsets of 32 bits.
        limits.object_bytes = limits.object_bytes.min(u32::MAX.into());
        let ObjectDirs { dirs, refused } = ObjectDirs::find(objects, access)?;
        let mut store = Self {
            hash,
            access: access.clone(),
            limits,
            dirs,
            packs: Vec::new(),
            multi: Vec::new(),
            unindexed: Vec::new(),
            problems: refused,
            is_promisor: false,
            recent: AtomicUsize::new(0),
        };
        for dir in store.dirs.clone() {
            store.add_packs(&dir.join("pack"));
        }
        Ok(store)
    }

    fn add_packs(&mut self, folder: &Path) {
        let entries = match self.access.list(folder, PACKS_MAX) {
            Ok(entries) => entries,
            Err(error) => return self.problems.push(error),
        };
        let mut by_name = HashMap::new();
        for entry in &entries {
            let path = &entry.path;
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("promisor") => self.is_promisor = true,
                Some("pack") => {
                    match PackIndex::open(&self.access, &path.with_extension("idx"), self.hash) {
                        Ok(index) => match self.add_pack(index, path) {
                            Ok(pack) => {
                                let stem = path.file_stem().and_then(|stem| stem.to_str());
                                by_name.extend(stem.map(|stem| (stem.to_owned(), pack)));
                            }
                            Err(error) => {
                                self.problems.push(error);
                                self.unindexed.push(path.clone());
                            }
                        },
                        Err(error) => {
                            if !error.is_not_found() {
                                self.problems.push(error);
                            }
                            self.unindexed.push(path.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        let path = folder.join("multi-pack-index");
        match MultiPackIndex::open(&self.access, &path, self.hash) {
            Ok(Some(index)) => {
                let packs = index.pack_names().iter().map(|name| by_name.get(name).copied());
                self.multi.push(Multi { packs: packs.collect(), index });
            }
            Ok(None) => {}
            Err(error) => self.problems.push(error),
        }
    }

    fn add_pack(&mut self, mut index: PackIndex, path: &Path) -> Result<usize, FileError> {
        if index.file_len() <= SMALL_INDEX {
            index = index.into_memory()?;
        }
        self.packs.push(StoredPack { index, path: path.to_owned(), pack: OnceLock::new() });
        Ok(self.packs.len() - 1)
    }

    /// Returns the hash function of the ids.
    #[must_use]
    pub const fn hash_kind(&self) -> HashKind {
        self.hash
    }

    /// Returns the limits.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the directories of objects, this repository's own first, then its alternates.
    #[must_use]
    pub fn object_dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Returns what could not be read or was refused when the store was opened.
    #[must_use]
    pub fn problems(&self) -> &[FileError] {
        &self.problems
    }

    /// Returns `true` for a partial clone: missing objects were never fetched.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.is_promisor
    }

    /// Returns the packs that have no usable index. [`ObjectStore::read`] does not find their
    /// objects.
    #[must_use]
    pub fn unindexed_packs(&self) -> &[PathBuf] {
        &self.unindexed
    }

    pub(crate) fn packs(&self) -> &[StoredPack] {
        &self.packs
    }

    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// Returns a reader, for one thread.
    #[must_use]
    pub fn reader(&self) -> ObjectReader<'_> {
        ObjectReader::new(self)
    }

    /// Reads one object. For many, [`ObjectStore::reader`] is faster.
    ///
    /// # Errors
    /// Tells why the object cannot be read.
    pub fn read(&self, id: &ObjectId) -> Result<Object, ObjectError> {
        self.reader().read(id)
    }

    /// Returns the kind and the size of an object without reading all of it.
    ///
    /// # Errors
    /// Tells why the object cannot be read.
    pub fn header(&self, id: &ObjectId) -> Result<(ObjectKind, u64), ObjectError> {
        self.reader().header(id)
    }

    /// Returns `true` if the store has an object with this id, readable or not.
    ///
    /// # Errors
    /// Fails if the system refuses to read an index.
    pub fn contains(&self, id: &ObjectId) -> Result<bool, ObjectError> {
        Ok(self.find(id)?.is_some())
    }

    /// Finds an object. What a multi-pack index does not know is looked up in the packs' own.
    pub(crate) fn find(&self, id: &ObjectId) -> Result<Option<Place>, ObjectError> {
        let recent = self.recent.load(Ordering::Relaxed);
        if self.multi.is_empty()
            && let Some(place) = self.find_in_pack(recent, id)?
        {
            return Ok(Some(place));
        }
        for multi in &self.multi {
            if let Some((number, offset)) = multi.index.find(id).map_err(|error| damaged(&error))?
                && let Some(Some(pack)) = multi.packs.get(number as usize)
            {
                return Ok(Some(Place::Packed { pack: *pack, offset }));
            }
        }
        for pack in 0..self.packs.len() {
            if let Some(place) = self.find_in_pack(pack, id)? {
                self.recent.store(pack, Ordering::Relaxed);
                return Ok(Some(place));
            }
        }
        for (dir, objects) in self.dirs.iter().enumerate() {
            if loose::open(objects, id, &self.access)?.is_some() {
                return Ok(Some(Place::Loose { dir }));
            }
        }
        Ok(None)
    }

    /// Finds an object in one pack.
    pub(crate) fn find_in_pack(
        &self,
        pack: usize,
        id: &ObjectId,
    ) -> Result<Option<Place>, ObjectError> {
        let Some(stored) = self.packs.get(pack) else { return Ok(None) };
        let Some(position) = stored.index.find(id).map_err(|error| damaged(&error))? else {
            return Ok(None);
        };
        let offset = stored.index.offset_at(position).map_err(|error| damaged(&error))?;
        Ok(Some(Place::Packed { pack, offset }))
    }
}

fn damaged(error: &std::io::Error) -> ObjectError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidData => {
            ObjectError::Corrupt("the index leads out of itself")
        }
        kind => ObjectError::Io(kind),
    }
}
