//! The simulator (fault model to come).
#![cfg(heist_sim)]
#![allow(missing_debug_implementations, reason = "coroutines and drivers have none")]
pub mod driver;
pub mod explore;
pub mod failure;
pub mod machine;
pub mod plan;
pub mod play;
pub mod report;
pub mod scale;
pub mod scenario;
pub mod world;
