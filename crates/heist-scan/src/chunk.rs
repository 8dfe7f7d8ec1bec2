//! [`Chunk`]: a piece of an object, with enough bytes around it that the position of a cut never
//! changes what is found.
//!
//! Invariant: exactly one chunk owns each position of an object. A chunk's bytes reach at least the
//! detector's [`Overlap`](crate::Overlap) before and after the positions it owns, or to the end of
//! the object. A detector reports the matches that begin at owned positions and looks no further
//! than its overlap, so it finds the same matches wherever the object is cut.

use crate::detector::Overlap;
use crate::encoding::Encoding;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// A piece of an object, as a [`Detector`](crate::Detector) gets it.
///
/// Scans make chunks. To call a detector yourself, start from [`Chunk::whole`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Chunk<'a> {
    /// The bytes the detector may look at: the owned positions and their surroundings.
    pub bytes: &'a [u8],
    /// The positions in `bytes` that this chunk owns.
    pub owned: Range<usize>,
    /// The offset of `bytes[0]` in the object.
    pub offset: u64,
    /// Whether `bytes` ends where the object ends. (It starts where the object starts if `offset`
    /// is 0.)
    pub is_end: bool,
    /// The encoding of the object, guessed from its first bytes
    /// ([`utf16_guess`](crate::decode::utf16_guess)): UTF-16 of either byte order, or
    /// [`Encoding::Plain`]. Every chunk of an object has the same value, because most chunks do not
    /// contain the beginning that decides it.
    pub encoding: Encoding,
    /// The path of the object, for rules that look at paths. In a tree whose root was given as a
    /// relative path, this is the root and the path below it, without a leading `.` or `..`; in a
    /// tree whose root was given as an absolute path, only the path below the root.
    pub path: &'a Path,
    /// Whether the search must end early.
    pub(crate) stop: StopCheck<'a>,
}

/// Says whether a search must end early, because the scan was cancelled or is out of time. What it
/// found until then is not complete.
#[derive(Clone, Copy, Default)]
pub(crate) struct StopCheck<'a>(pub(crate) Option<&'a (dyn Fn() -> bool + Sync)>);

impl StopCheck<'_> {
    pub(crate) fn is_stopped(self) -> bool {
        self.0.is_some_and(|is_stopped| is_stopped())
    }
}

impl fmt::Debug for StopCheck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopCheck").field(&self.0.is_some()).finish()
    }
}

impl<'a> Chunk<'a> {
    /// Creates the only chunk of an object that is completely in memory and is not UTF-16.
    ///
    /// # Examples
    /// ```
    /// use heist_scan::rules::RuleSet;
    /// use heist_scan::{Chunk, Detector, DetectorOptions, SecretDetector};
    ///
    /// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    /// let mut matches = Vec::new();
    /// let chunk = Chunk::whole(b"nothing here", "notes.txt".as_ref());
    /// detector.scan(&chunk, &mut detector.scratch(), &mut matches);
    /// assert!(matches.is_empty());
    /// ```
    #[must_use]
    pub fn whole(bytes: &'a [u8], path: &'a Path) -> Self {
        Self::part(bytes, 0..bytes.len(), Overlap::default(), path)
    }

    /// Creates the chunk that owns the positions `owned` of an object that is completely in memory
    /// and is not UTF-16, with `overlap` around them.
    ///
    /// # Panics
    /// Panics if `owned` is not within `object`.
    #[must_use]
    pub fn part(object: &'a [u8], owned: Range<usize>, overlap: Overlap, path: &'a Path) -> Self {
        let begin = owned.start.saturating_sub(overlap.before);
        let end = owned.end.saturating_add(overlap.after).min(object.len());
        Self {
            bytes: &object[begin..end],
            owned: owned.start - begin..owned.end - begin,
            offset: begin as u64,
            is_end: end == object.len(),
            encoding: Encoding::Plain,
            path,
            stop: StopCheck::default(),
        }
    }

    /// Sets the encoding of the object.
    #[must_use]
    pub fn with_encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }
}
