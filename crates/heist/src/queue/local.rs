//! A worker's own queue: last in, first out for its owner, or first in, first out; always that for thieves.
//!
//! The shipping build wraps crossbeam's deque. Model checkers cannot see into that, so under loom and shuttle and in
//! the simulator a Chase-Lev deque with the same publication order stands in for it.

#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#[path = "local_crossbeam.rs"]
mod implementation;
#[cfg(any(heist_loom, heist_shuttle, heist_sim))]
#[path = "local_model.rs"]
mod implementation;

pub use crossbeam_deque::Steal;
pub use implementation::{LocalQueue, Stealer};
