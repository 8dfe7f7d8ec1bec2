//! Futures on an executor, beside its typed tasks.
//!
//! | file | idea |
//! |---|---|
//! | `raw` | a future, its state and its two ends in one allocation: the crate `async-task`, or a model of it |
//! | `counted` | the future as it is spawned: counted from spawn to end, its panics contained |
//! | `queues` | where futures wait to be polled, as far as others can take them |
//! | `seat` | the worker's own end of its queue, where a wake-up finds it |
//! | `live` | the futures that wait for something, so that a stop can reach them |
//! | `large` | which futures are boxed before they are passed on |
//! | `join` | the handle that awaits a future |
//! | `abort` | ending a future by its handle, or from elsewhere |
//! | `coop` | the budget of a poll, and giving way |
//!
//! A future is **counted** from its spawn to its end, by completing or by being dropped; its polls are not counted. So
//! the pool is not done while a future lives, whoever is going to wake it, and a wake-up is never refused: also not
//! after the intake was closed. `PROTOCOL.md` beside this file has the rules and what proves them.
//!
//! Not guaranteed: that a future that nobody will ever wake ends. It lives until the pool is stopped.

mod abort;
pub mod coop;
pub(crate) mod counted;
mod join;
pub(crate) mod large;
pub(crate) mod live;
pub(crate) mod queues;
pub mod raw;
// The model is tested against the real one.
#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
pub mod raw_model;
#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod raw_model_tests;
pub(crate) mod seat;

pub use abort::AbortHandle;
pub use coop::yield_now;
pub use join::{JoinError, JoinHandle, PanicPayload};
