//! A worker's own queue. Its owner takes the newest task first, or the oldest; thieves always take
//! the oldest.
//!
//! The shipping build wraps crossbeam's deque. Model checkers cannot see into that, so a Chase-Lev
//! deque with the same publication order replaces it under loom, under shuttle and in the
//! simulator.

#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#[path = "local_crossbeam.rs"]
mod implementation;
#[cfg(any(heist_loom, heist_shuttle, heist_sim))]
#[path = "local_model.rs"]
mod implementation;

pub use crossbeam_deque::Steal;
pub use implementation::{LocalQueue, Stealer};
