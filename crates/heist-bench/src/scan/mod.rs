//! Scans of whole trees for secrets, each contender in a process of its own, and how accurate they
//! are.
//!
//! `contender` lists the scanners and `findings` reads their reports. `corpus` plants secrets and
//! look-alikes, `planted` lets the scanners search it, and `score` compares their reports with the
//! truth. `trees` makes the other trees to scan. `library` holds the contenders that are a library
//! and need a program around them, the yardstick among them: it reads the same files into the same
//! buffers without searching them. `hostile` searches for texts that cost the most. The stopwatch
//! is the one of `walk`.

pub(crate) mod contender;
pub(crate) mod corpus;
pub(crate) mod findings;
pub(crate) mod hostile;
pub(crate) mod library;
pub(crate) mod planted;
pub(crate) mod prose;
pub(crate) mod score;
pub(crate) mod table;
pub(crate) mod trees;
