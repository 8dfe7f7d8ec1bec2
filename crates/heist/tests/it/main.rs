//! Behaviour of the executor, its queues, budgets and signals, on real threads.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

// Not inside this directory, because the tests with a process of their own use it too, and so do
// heist-device and heist-runtime.
#[path = "../support/mod.rs"]
mod support;

mod acquire_then;
mod backstop;
#[cfg(not(heist_tsan))]
mod backtraces;
mod before_park;
mod budget;
mod budget_model;
mod cancel;
mod config;
mod corners;
mod determinism;
mod ending;
mod errors;
mod executor;
mod fairness;
mod gated_queue;
mod gated_queue_ends;
mod gated_queue_many;
#[cfg(target_os = "linux")]
mod idle;
mod in_flight;
mod metrics;
mod one_pool;
mod one_pool_fairness;
mod own_worker;
mod panics;
mod properties;
mod properties_values;
mod refusal;
mod run;
mod scratch_panics;
mod signal;
mod spawn_inside;
mod trace;
mod workers;
mod yielding;
