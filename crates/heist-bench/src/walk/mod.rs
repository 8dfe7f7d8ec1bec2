//! Walks of whole directory trees, each contender a process of its own.

pub(crate) mod floor;
pub(crate) mod trees;
