//! [`Reducer`]: trees without the entries that do not matter.
//!
//! Attribution asks where a few blobs are. So each tree is read once and reduced to the entries
//! that are, or contain, one of these blobs; for most trees nothing is left. Comparing reduced
//! trees is cheap, and prunes whatever is the same object on both sides.
//!
//! Trees come from the repository, so they are doubted: a tree may contain itself (an index can be
//! forged), contain the same subtree a million times, be nested ten thousand deep, or be missing.
//! No function here calls itself, and a tree deeper than [`DEPTH_MAX`] counts as unreadable.

use super::graph::UnreadableObjects;
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;
use crate::parse::Tree;
use crate::problem::ObjectError;
use crate::store::ObjectReader;
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Weak};

/// The deepest nesting of trees; git reads no more by default.
const DEPTH_MAX: usize = 2048;

/// The blobs that matter, each with a number.
#[derive(Clone, Debug)]
pub struct BlobSet {
    numbers: HashMap<ObjectId, u32>,
    /// One bit per possible beginning of an id: most entries of trees end here.
    filter: Box<[u64]>,
}

const FILTER_BITS: u32 = 18;

impl BlobSet {
    /// Creates a set. The numbers are those of the iteration; of equal ids, the first counts.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = ObjectId>) -> Self {
        let mut set =
            Self { numbers: HashMap::new(), filter: vec![0; 1 << (FILTER_BITS - 6)].into() };
        for (number, id) in (0..).zip(ids) {
            set.numbers.entry(id).or_insert(number);
            let bit = Self::bit(id.as_bytes());
            set.filter[bit >> 6] |= 1 << (bit & 63);
        }
        set
    }

    fn bit(id: &[u8]) -> usize {
        let word = u32::from_be_bytes([id[0], id[1], id[2], id[3]]);
        (word >> (32 - FILTER_BITS)) as usize
    }

    /// Returns `false` for the bytes of most ids that do not matter.
    fn may_contain(&self, id: &[u8]) -> bool {
        let bit = Self::bit(id);
        self.filter[bit >> 6] & 1 << (bit & 63) != 0
    }

    /// Returns the number of a blob, if it matters.
    #[must_use]
    pub fn number(&self, id: &ObjectId) -> Option<u32> {
        if !self.may_contain(id.as_bytes()) {
            return None;
        }
        self.numbers.get(id).copied()
    }

    /// Returns the number of blobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns `true` if no blob matters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// A subtree and its name.
pub(crate) type NamedTree = (Box<[u8]>, Arc<Reduced>);

/// What is left of a tree.
#[derive(Debug)]
pub(crate) struct Reduced {
    /// The tree. Equal ids are equal trees.
    pub(crate) id: ObjectId,
    /// The blobs that matter, by name and number.
    pub(crate) blobs: Box<[(Box<[u8]>, u32)]>,
    /// The subtrees that contain one, by name.
    pub(crate) trees: Box<[NamedTree]>,
}

impl Reduced {
    /// Returns the blobs with this name: one, unless the tree is malformed.
    pub(crate) fn blobs_named(&self, name: &[u8]) -> &[(Box<[u8]>, u32)] {
        let from = self.blobs.partition_point(|(other, _)| &**other < name);
        let len = self.blobs[from..].iter().take_while(|(other, _)| &**other == name).count();
        &self.blobs[from..from + len]
    }

    /// Returns the subtrees with this name: one, unless the tree is malformed.
    pub(crate) fn trees_named(&self, name: &[u8]) -> &[NamedTree] {
        let from = self.trees.partition_point(|(other, _)| &**other < name);
        let len = self.trees[from..].iter().take_while(|(other, _)| &**other == name).count();
        &self.trees[from..from + len]
    }
}

/// Forgets dropped trees when there are this many, and whenever their number has doubled.
const FERTILE_MIN: usize = 1 << 16;

/// What is known of trees.
#[derive(Debug)]
struct Known {
    /// Trees in which nothing matters, and those that cannot be read: 128 bits of a keyed hash of
    /// each id. A history has millions, so ids themselves would take too much room.
    barren: HashSet<u128, TakeLow>,
    /// Trees in which something matters. They are dropped when the last commit that needs them is
    /// done; if another needs one later, it is reduced again.
    fertile: HashMap<ObjectId, Weak<Reduced>, IdHashers>,
    fertile_max: usize,
    hashers: [IdHashers; 2],
}

impl Known {
    fn new() -> Self {
        Self {
            barren: HashSet::default(),
            fertile: HashMap::default(),
            fertile_max: FERTILE_MIN,
            hashers: [IdHashers::default(), IdHashers::default()],
        }
    }

    fn key(&self, id: &ObjectId) -> u128 {
        let [high, low] = [0, 1].map(|at| u128::from(self.hashers[at].hash_one(id)));
        high << 64 | low
    }

    /// Returns what is known of a tree; `None` if nothing is.
    fn get(&self, id: &ObjectId) -> Option<Option<Arc<Reduced>>> {
        if let Some(reduced) = self.fertile.get(id) {
            return reduced.upgrade().map(Some);
        }
        self.barren.contains(&self.key(id)).then_some(None)
    }

    fn set_barren(&mut self, id: &ObjectId) {
        let key = self.key(id);
        self.barren.insert(key);
    }

    fn set_fertile(&mut self, reduced: &Arc<Reduced>) {
        if self.fertile.len() >= self.fertile_max {
            self.fertile.retain(|_, reduced| reduced.strong_count() > 0);
            self.fertile_max = FERTILE_MIN.max(2 * self.fertile.len());
        }
        let key = self.key(&reduced.id);
        self.barren.remove(&key);
        self.fertile.insert(reduced.id, Arc::downgrade(reduced));
    }
}

/// Reduces trees, each once.
pub(crate) struct Reducer<'b, 'r, 's> {
    blobs: &'b BlobSet,
    hash: HashKind,
    reader: &'r mut ObjectReader<'s>,
    known: Known,
    /// Buffers for contents, to be used again.
    spare: Vec<Vec<u8>>,
    pub(crate) unreadable: UnreadableObjects,
    /// The number of trees read.
    pub(crate) trees_read: u64,
}

/// A tree that is being reduced.
struct Open {
    id: ObjectId,
    content: Vec<u8>,
    /// How much of the content is done.
    at: usize,
    blobs: Vec<(Box<[u8]>, u32)>,
    trees: Vec<NamedTree>,
    /// The name of the subtree that is being reduced.
    name: Box<[u8]>,
}

impl<'b, 'r, 's> Reducer<'b, 'r, 's> {
    pub(crate) fn new(
        blobs: &'b BlobSet,
        hash: HashKind,
        reader: &'r mut ObjectReader<'s>,
    ) -> Self {
        Self {
            blobs,
            hash,
            reader,
            known: Known::new(),
            spare: Vec::new(),
            unreadable: UnreadableObjects::default(),
            trees_read: 0,
        }
    }

    /// Returns what is left of a tree, or `None` if nothing in it matters.
    pub(crate) fn reduce(&mut self, root: ObjectId) -> Option<Arc<Reduced>> {
        if let Some(known) = self.known.get(&root) {
            return known;
        }
        let mut open = vec![self.open(root)?];
        // A loop and not a recursion: hostile trees are deep.
        loop {
            let top = open.last_mut()?;
            let next = Self::advance(top, self.blobs, self.hash, &self.known);
            match next {
                Next::Subtree(id) => {
                    // Marked as barren while it is open, a tree that contains itself ends here.
                    if open.len() < DEPTH_MAX {
                        open.extend(self.open(id));
                    } else {
                        self.unreadable.add(id, ObjectError::Corrupt("trees nested too deep"));
                    }
                }
                Next::Malformed => {
                    let id = top.id;
                    self.unreadable.add(id, ObjectError::Corrupt("a tree entry is cut"));
                }
                Next::End => {
                    let done = open.pop()?;
                    let reduced = self.close(done);
                    match open.last_mut() {
                        None => return reduced,
                        Some(parent) => {
                            let name = std::mem::take(&mut parent.name);
                            parent.trees.extend(reduced.map(|reduced| (name, reduced)));
                        }
                    }
                }
            }
        }
    }

    fn open(&mut self, id: ObjectId) -> Option<Open> {
        self.known.set_barren(&id);
        let mut content = self.spare.pop().unwrap_or_default();
        self.trees_read += 1;
        match self.reader.read_into(&id, &mut content) {
            Ok(ObjectKind::Tree) => {}
            Ok(_) => {
                self.unreadable.add(id, ObjectError::Corrupt("it is not a tree"));
                return None;
            }
            // The empty tree need not be stored.
            Err(ObjectError::Missing) if id == self.hash.hash_object(ObjectKind::Tree, b"") => {
                return None;
            }
            Err(error) => {
                self.unreadable.add(id, error);
                return None;
            }
        }
        Some(Open { id, content, at: 0, blobs: vec![], trees: vec![], name: Box::default() })
    }

    /// Reads on in a tree, up to a subtree about which nothing is known.
    fn advance(open: &mut Open, blobs: &BlobSet, hash: HashKind, known: &Known) -> Next {
        let Open { content, at, blobs: found, trees, name, .. } = open;
        let len = content.len();
        while *at < len {
            let rest = &content[*at..];
            // Most entries of most trees are files that do not matter: pass over them fast.
            if let Some((id, entry_len)) = plain_file(rest, hash)
                && !blobs.may_contain(id)
            {
                *at += entry_len;
                continue;
            }
            let mut tree = Tree::new(hash, rest);
            let Some(Ok(entry)) = tree.next() else {
                *at = len;
                return Next::Malformed;
            };
            *at = len - tree.rest_len();
            match entry.kind() {
                Some(ObjectKind::Tree) => match known.get(&entry.id) {
                    Some(None) => {}
                    Some(Some(reduced)) => trees.push((entry.name.into(), reduced)),
                    None => {
                        *name = entry.name.into();
                        return Next::Subtree(entry.id);
                    }
                },
                Some(_) => {
                    if let Some(number) = blobs.number(&entry.id) {
                        found.push((entry.name.into(), number));
                    }
                }
                None => {}
            }
        }
        Next::End
    }

    fn close(&mut self, open: Open) -> Option<Arc<Reduced>> {
        let Open { id, content, mut blobs, mut trees, .. } = open;
        self.spare.push(content);
        if blobs.is_empty() && trees.is_empty() {
            return None;
        }
        blobs.sort_unstable();
        blobs.dedup();
        trees.sort_by(|a, b| (&a.0, a.1.id).cmp(&(&b.0, b.1.id)));
        trees.dedup_by(|b, a| a.0 == b.0 && a.1.id == b.1.id);
        let reduced =
            Arc::new(Reduced { id, blobs: blobs.into(), trees: trees.into_boxed_slice() });
        self.known.set_fertile(&reduced);
        Some(reduced)
    }
}

/// Returns the id in a tree's first entry and the length of that entry, if its mode is one that git
/// writes for files.
fn plain_file(rest: &[u8], hash: HashKind) -> Option<(&[u8], usize)> {
    // The name follows the mode and a space, and has at least a byte.
    const NAME: usize = 7;
    if !rest.starts_with(b"100644 ") && !rest.starts_with(b"100755 ") {
        return None;
    }
    let name_len = memchr::memchr(0, &rest[NAME..]).filter(|len| *len > 0)?;
    let from = NAME + name_len + 1;
    let id = rest.get(from..from + hash.id_len())?;
    Some((id, from + hash.id_len()))
}

/// What comes next in a tree.
enum Next {
    Subtree(ObjectId),
    Malformed,
    End,
}

/// Takes keys as their own hashes: they are hashes already.
#[derive(Clone, Debug, Default)]
struct TakeLow;

impl BuildHasher for TakeLow {
    type Hasher = Taken;

    fn build_hasher(&self) -> Taken {
        Taken(0)
    }
}

/// See [`TakeLow`].
#[derive(Clone, Debug)]
struct Taken(u64);

impl Hasher for Taken {
    fn write(&mut self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().take(8).enumerate() {
            self.0 |= u64::from(*byte) << (8 * at);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Hashes ids: they are hashes already, but of the repository's choice, so a key is mixed in.
#[derive(Clone, Debug)]
pub(crate) struct IdHashers([u64; 2]);

impl Default for IdHashers {
    fn default() -> Self {
        let random = RandomState::new();
        Self([random.hash_one(0), random.hash_one(1) | 1])
    }
}

impl BuildHasher for IdHashers {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher { keys: self.0, state: 0 }
    }
}

/// See [`IdHashers`].
#[derive(Clone, Debug)]
pub(crate) struct IdHasher {
    keys: [u64; 2],
    state: u64,
}

impl IdHasher {
    fn mix(&mut self, word: u64) {
        let product =
            u128::from(self.state.rotate_left(29) ^ word ^ self.keys[0]) * u128::from(self.keys[1]);
        self.state = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..word.len()].copy_from_slice(word);
            self.mix(u64::from_le_bytes(eight));
        }
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
