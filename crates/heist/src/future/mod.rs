//! Futures on an executor, beside its typed tasks.
//!
//! | file | what it has |
//! |---|---|
//! | `raw` | a future, its state and its two owners in one allocation: the crate `async-task`, or a model of it |
//! | `counted` | the future as it is spawned: counted from spawn to end, its panics contained |
//! | `queues` | the queues of futures, as far as other workers can reach them |
//! | `seat` | the worker's own end of its queue, where a wake-up finds it |
//! | `live` | the futures that wait for something, so that a stop can reach them |
//! | `large` | which futures are boxed before they are passed on |
//! | `join` | the handle that awaits a future |
//! | `abort` | ending a future by its handle, or from elsewhere |
//! | `coop` | the budget of a poll, and yielding |
//!
//! A future is **counted** from its spawn until it completes or is dropped. Its polls are not
//! counted. So the pool is not done while a future lives, and a wake-up is never refused, not even
//! after the intake was closed. `PROTOCOL.md` beside this file has the rules and their proofs.
//!
//! Not guaranteed: the end of a future that is never woken. It lives until the pool is stopped.

mod abort;
pub(crate) mod coop;
pub(crate) mod counted;
mod join;
pub(crate) mod large;
pub(crate) mod live;
pub(crate) mod queues;
pub(crate) mod raw;
// Unit tests compare the model with the real raw task.
#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
#[allow(unreachable_pub, reason = "in the checkers' builds it is what `raw` exports")]
mod raw_model;
#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod raw_model_tests;
pub(crate) mod seat;

pub use abort::AbortHandle;
pub use coop::yield_now;
pub use join::{JoinError, JoinHandle, PanicPayload};
