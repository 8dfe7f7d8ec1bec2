//! A small executor of the classic single-counter design, as a yardstick.
//!
//! It is what a careful programmer builds first on `crossbeam-deque`, and it is sound:
//!
//! - one word holds the accepting bit and the number of tasks in flight, so every task costs two
//!   read-modify-writes on a cache line that all workers share;
//! - each worker has a LIFO deque; outsiders push to a shared injector;
//! - a wake-up goes to the next worker round-robin, asleep or not; a worker that spawns locally
//!   sends one every 32nd time;
//! - an idle worker spins, then parks with a timeout of 200 µs, which makes up for wake-ups that
//!   went to the wrong worker.
//!
//! Within that design it is meant to be fast: shared words have cache lines of their own, nothing
//! is boxed, and thieves take half of what they find. It has no metrics, which heist does have.

mod executor;
mod in_flight;
mod worker;

pub(crate) use executor::{Config, Executor};
pub(crate) use worker::WorkerContext;
