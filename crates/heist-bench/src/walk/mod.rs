//! Walks of whole directory trees, each contender a process of its own.
//!
//! `trees` makes what is walked, `contender` lists who walks, `stopwatch` runs and measures them, `answer` says whether
//! what they print is right, and `table` shows it. `floor` is the yardstick. `libraries` and `heist_walk` are the
//! contenders that are libraries and need a program around them.

pub(crate) mod answer;
pub(crate) mod contender;
pub(crate) mod floor;
pub(crate) mod heist_walk;
pub(crate) mod libraries;
pub(crate) mod reference;
pub(crate) mod stopwatch;
pub(crate) mod table;
pub(crate) mod trees;
