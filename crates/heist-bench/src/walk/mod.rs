//! Walks of whole directory trees, each contender in a process of its own.
//!
//! `trees` makes the trees, `contender` lists the walkers, `stopwatch` runs and measures them,
//! `answer` and `reference` decide whether their output is right, and `table` shows the results.
//! `floor` is the yardstick. `libraries` and `heist_walk` hold the contenders that are libraries
//! and need a program around them.

pub(crate) mod answer;
pub(crate) mod contender;
pub(crate) mod floor;
pub(crate) mod heist_walk;
pub(crate) mod libraries;
pub(crate) mod reference;
pub(crate) mod stopwatch;
pub(crate) mod table;
pub(crate) mod trees;
