//! A future, its state and its two ends in one allocation.
//!
//! The shipping build uses the crate `async-task`. Model checkers cannot see into that, so under loom and shuttle and
//! in the simulator a model with the same states and the same orderings stands in for it.

#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#[path = "raw_async_task.rs"]
mod implementation;
#[cfg(any(heist_loom, heist_shuttle, heist_sim))]
#[path = "raw_model.rs"]
mod implementation;

pub use implementation::{Runnable, Task, spawn};
