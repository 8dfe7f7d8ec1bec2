//! The tasks of a sweep.
//!
//! ```text
//!   OnDevice ──▶ Pack ──▶ Roots(range) ──▶ Children(node, range) ──▶ Children(node, range) ...
//!              │    ▲                  │
//!     a tree   ▼    │ permit           ▼ no memory left
//!            Tree ──┘                PutOff ── all of the trees' memory ──▶ Children
//!   Loose(range)
//! ```
//!
//! A worker's own queue gives back what was pushed last, so a worker goes down into the child that
//! it has just decoded, and holds few buffers. Other workers take what was pushed first: the rest
//! of the roots, and large subtrees. Wide ranges are halved before they are worked on.

use super::memory::Reserved;
use super::plan::PackPlan;
use heist::{AcquireError, BytePermit, ReadPermit};
use heist_device::{DeviceSlotPermit, DeviceTurn};
use std::ops::Range;
use std::sync::Arc;

/// A piece of work.
pub(super) enum Task<S> {
    /// Take a pack from the lane of its disk.
    OnDevice(Box<DeviceTurn<u32>>),
    /// Read all headers of a pack, with a slot of its disk.
    Pack(Box<(u32, DeviceSlotPermit)>),
    /// Decode roots, given by their places among the roots.
    Roots(Arc<PackPlan>, Range<u32>),
    /// Decode the first root of a range, for which there is memory now, and then the others.
    Tree(Box<TreeTask>),
    /// Decode objects that are based on the node, given by their places among the children.
    Children(Arc<Node<S>>, Range<u32>),
    /// Decode an entry from the root of its chain, and all that is based on it.
    PutOff(Box<PutOffTask>),
    /// Read loose objects.
    Loose(Range<u32>),
    /// Read loose objects; for the first one there is memory now.
    LargeLoose(Box<LargeLooseTask>),
    /// Do what waited for a read token.
    Granted(Box<GrantedTask<S>>),
}

// Queues move tasks; those that are many hold nothing but a reference and a range.
const _: () = assert!(size_of::<Task<()>>() <= 24);

/// A range of loose objects whose first one has its memory.
pub(super) struct LargeLooseTask {
    pub objects: Range<u32>,
    pub permit: Result<BytePermit, AcquireError>,
}

/// A task that has waited for a read token.
pub(super) struct GrantedTask<S> {
    pub task: Task<S>,
    pub token: Result<ReadPermit, AcquireError>,
}

/// A range of roots whose first one has its memory.
pub(super) struct TreeTask {
    pub plan: Arc<PackPlan>,
    pub roots: Range<u32>,
    pub permit: Result<BytePermit, AcquireError>,
}

/// An entry that was put off, and now has all the memory for trees.
pub(super) struct PutOffTask {
    pub plan: Arc<PackPlan>,
    pub entry: u32,
    pub permit: Result<BytePermit, AcquireError>,
}

/// A tree of deltas that is being decoded. It ends with its last node.
pub(super) struct Tree {
    pub plan: Arc<PackPlan>,
    /// Held until the tree ends.
    pub _permit: BytePermit,
}

/// A decoded object that others are based on. It ends with the last of them.
pub(super) struct Node<S> {
    pub content: Vec<u8>,
    pub state: Option<S>,
    /// Held as long as the content.
    pub _reserved: Reserved,
    pub tree: Arc<Tree>,
}
