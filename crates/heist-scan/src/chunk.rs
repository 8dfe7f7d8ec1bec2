//! [`Chunk`]: a piece of an object, with enough around it that a match never depends on where the cut was.
//!
//! Invariant: every position of an object is owned by exactly one chunk, and a chunk's bytes reach at least the
//! detector's [`Overlap`](crate::Overlap) before and after what it owns, or to the object's end. A detector reports
//! what begins at a position that the chunk owns, looks no further than its overlap, and so finds the same whatever
//! the cuts.

use crate::encoding::Encoding;
use std::ops::Range;
use std::path::Path;

/// A piece of an object.
#[derive(Clone, Debug)]
pub struct Chunk<'a> {
    /// What the detector may look at: the owned positions and what is around them.
    pub bytes: &'a [u8],
    /// The positions in `bytes` that are this chunk's.
    pub owned: Range<usize>,
    /// The object's offset of `bytes[0]`.
    pub offset: u64,
    /// Whether `bytes` ends where the object ends. (It begins there if `offset` is 0.)
    pub is_end: bool,
    /// How the object is written, by its first bytes ([`utf16_guess`](crate::decode::utf16_guess)): UTF-16 of either
    /// order, or [`Encoding::Plain`] for all else. The same for every chunk of an object: what its beginning says holds
    /// to its end, and most chunks do not have it.
    pub encoding: Encoding,
    /// Where the object is: what rules about paths look at. In a tree that was given by a relative path, that path and
    /// what is below, without a `.` or `..` at the beginning; by an absolute one, only what is below.
    pub path: &'a Path,
}
