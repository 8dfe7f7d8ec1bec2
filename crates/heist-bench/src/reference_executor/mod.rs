//! A small executor of the classic single-counter design, as a yardstick.
//!
//! It is what a careful programmer builds first on `crossbeam-deque`, and it is sound:
//!
//! - One word holds the accepting bit and the number of tasks in flight, so every task costs two
//!   read-modify-writes on a cache line that all workers share.
//! - Each worker has a LIFO deque; outsiders push to a shared injector.
//! - A wake-up goes to the next worker in round-robin order, asleep or not. A worker that spawns
//!   locally sends one at every 32nd spawn.
//! - An idle worker spins, then parks with a timeout of 200 µs, which makes up for wake-ups that
//!   went to the wrong worker.
//!
//! Within that design it is meant to be fast: shared words have their own cache lines, nothing is
//! boxed, and a thief takes half of what it finds. Unlike heist, it keeps no metrics.

mod executor;
mod in_flight;
mod worker;

pub(crate) use executor::{Config, Executor};
pub(crate) use worker::WorkerContext;
