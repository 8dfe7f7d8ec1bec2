//! The raw task: a future and its state in one allocation, reached from two ends. The `Runnable`
//! polls it, the `Task` awaits it.
//!
//! The shipping build uses the crate `async-task`. Model checkers cannot see into that, so a model
//! with the same states and the same orderings replaces it under loom, under shuttle and in the
//! simulator.

#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#[path = "raw_async_task.rs"]
mod implementation;
#[cfg(any(heist_loom, heist_shuttle, heist_sim))]
#[path = "raw_model.rs"]
mod implementation;

pub use implementation::{Runnable, Task, spawn};
