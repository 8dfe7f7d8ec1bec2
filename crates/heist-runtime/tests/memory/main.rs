//! What futures and runtimes allocate, and that nothing of it is left behind.
//!
//! A program of its own, because its allocator counts what the whole process allocates. The tests
//! run one at a time (`support::counting::alone`).
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

#[path = "../support/mod.rs"]
mod support;

mod allocations;
mod leaks;

use support::counting::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
