//! A worker's own queue: last in, first out for its owner, first in, first out for thieves.
//!
//! The shipping build wraps crossbeam's deque. Loom and shuttle cannot see into that, so under them a bounded
//! Chase-Lev deque with the same publication order stands in for it.

#[cfg(not(any(heist_loom, heist_shuttle)))]
#[path = "local_crossbeam.rs"]
mod implementation;
#[cfg(any(heist_loom, heist_shuttle))]
#[path = "local_loom.rs"]
mod implementation;

pub use crossbeam_deque::Steal;
pub use implementation::{LocalQueue, Stealer};
