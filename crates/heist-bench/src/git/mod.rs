//! Scans of git histories, each contender in a process of its own.
//!
//! `library` holds the contenders that are parts of heist: the floor, which decodes every blob and
//! looks at none, and the scans without the tool around them. `made` makes histories from a seed.
//! The stopwatch is the one of `walk`.

pub(crate) mod library;
pub(crate) mod made;
