//! What a sweep hands to its caller.

use crate::delta::DeltaOp;
use crate::id::ObjectId;
use crate::object::ObjectKind;
use crate::problem::ObjectError;

/// Looks at every object of a sweep. Each worker has a visitor of its own.
///
/// An object that git stores as a delta comes after its base, so the visitor can use what it found
/// in the base: what it returns for an object (its *state*) is there again when an object that is
/// based on it is visited, possibly by another worker's visitor. The state is dropped after the
/// last of them.
pub trait ObjectVisitor: Send + 'static {
    /// What a visitor keeps of an object for those that are based on it.
    type State: Send + Sync + 'static;

    /// Returns `true` if objects of this kind are visited. Others are counted, and not read. By
    /// default, blobs are visited. The answer must always be the same.
    fn wants(&self, kind: ObjectKind) -> bool {
        kind == ObjectKind::Blob
    }

    /// Visits an object. The state is needed only if [`Visit::is_base`] is `true`.
    fn visit(&mut self, visit: &Visit<'_, Self::State>) -> Option<Self::State>;

    /// Takes note of an object that could not be read.
    fn unreadable(&mut self, object: &Unreadable) {
        let _ = object;
    }
}

/// An object, as a visitor sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Visit<'a, S> {
    /// The id, according to the index of the pack. It is not compared with the content.
    pub id: ObjectId,
    /// What the object is.
    pub kind: ObjectKind,
    /// The whole content.
    pub content: &'a [u8],
    /// How it is made from its base. `None` if it is stored whole, and if the visitor kept no state
    /// of the base.
    pub delta: Option<Delta<'a, S>>,
    /// Other objects are based on this one.
    pub is_base: bool,
}

/// How an object is made from its base.
#[derive(Debug)]
#[non_exhaustive]
pub struct Delta<'a, S> {
    /// What a visitor kept of the base.
    pub base: &'a S,
    /// The length of the base.
    pub base_len: usize,
    /// The copies and insertions that make the object, in order. All copies lie in the base, and
    /// neighbours are joined, so they are as few and as long as possible.
    pub ops: &'a [DeltaOp],
}

/// A range of an object that is the same in its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopiedRange {
    /// Where the range begins in the base.
    pub from: u32,
    /// Where it begins in the object.
    pub to: u32,
    /// Its length in bytes.
    pub len: u32,
}

impl<S> Delta<'_, S> {
    /// Iterates over the ranges that are copied from the base, in the order of the object.
    pub fn copies(&self) -> impl Iterator<Item = CopiedRange> {
        let mut to = 0;
        self.ops.iter().filter_map(move |op| {
            let range = match *op {
                DeltaOp::Copy { offset, len } => Some(CopiedRange { from: offset, to, len }),
                DeltaOp::Insert { .. } => None,
            };
            to += op.len();
            range
        })
    }

    /// Returns the number of bytes that are not copied from the base.
    #[must_use]
    pub fn inserted_bytes(&self) -> u64 {
        let inserted = |op: &DeltaOp| match op {
            DeltaOp::Insert { len, .. } => u64::from(*len),
            DeltaOp::Copy { .. } => 0,
        };
        self.ops.iter().map(inserted).sum()
    }
}

/// An object that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// The id. `None` for an entry of a pack that has no index.
    pub id: Option<ObjectId>,
    /// What it is, if that is known.
    pub kind: Option<ObjectKind>,
    /// Why it could not be read.
    pub error: ObjectError,
}
