//! The scan of an object of which only a part is new.

use super::owned_match::OwnedMatch;
use super::{Scratch, SecretDetector};
use crate::chunk::Chunk;
use crate::version::{Memory, PathFreeMatch, Version};
use std::path::Path;

/// What the detector keeps of a scanned object.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    matches: Box<[OwnedMatch]>,
}

impl Remembered {
    /// Returns how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.matches)
    }
}

/// Scans a version. See [`Detector::scan_changed`](crate::Detector::scan_changed).
pub(super) fn scan_changed(
    detector: &SecretDetector,
    version: &Version<'_>,
    scratch: &mut Scratch,
    matches: &mut Vec<PathFreeMatch>,
) -> Memory {
    let chunk = Chunk::whole(version.bytes, Path::new("")).with_encoding(version.encoding);
    let mut found = Vec::new();
    detector.scan_chunk(&Chunk { stop: version.stop, ..chunk }, scratch, &mut found);
    matches.extend(found.into_iter().map(|one| one.found));
    Memory::default()
}
