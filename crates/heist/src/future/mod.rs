//! Futures on the executor: the raw task that is polled, and its modelled stand-in.

#[cfg(any(test, heist_loom, heist_shuttle, heist_sim))]
pub mod raw_model;
#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod raw_model_tests;
