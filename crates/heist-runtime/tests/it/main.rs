//! Behaviour of the runtime on real threads: futures, task groups, blocking calls, timers, sockets.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

// Not inside this directory, because the tests with a process of their own use it too.
#[path = "../support/mod.rs"]
mod support;

mod blocking;
mod blocking_ends;
mod config;
mod errors;
mod future_fairness;
mod future_order;
mod future_panics;
mod futures;
mod giving_way;
#[cfg(target_os = "linux")]
mod idle;
mod in_flight;
#[cfg(all(feature = "io", not(heist_tsan)))]
mod io;
mod join_handle;
mod large_futures;
mod own_worker;
mod task_group;
