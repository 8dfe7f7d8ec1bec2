//! [`Runtime`]: futures, and nothing but futures, on the work-stealing core.
//!
//! It is an executor without typed tasks, plus what users of an async runtime expect: [`Runtime::block_on`], [`spawn`],
//! groups of futures ([`TaskGroup`]), threads for calls that block ([`spawn_blocking`]). Whoever has typed tasks *and*
//! futures needs no second pool: any [`heist::Executor`] takes futures, too ([`heist::ExecutorHandle::spawn_future`]).
//!
//! | file | idea |
//! |---|---|
//! | `pool`, `builder`, `handle` | `Runtime`, what is set, and the handle for other threads |
//! | `block_on` | a future on the calling thread |
//! | `blocking` | threads for calls that block |
//! | `group` | futures that belong together and end together |
//! | `error` | what had not ended in time |
//! | `current` | which runtime this code runs on |

#![forbid(unsafe_code)]

mod block_on;
mod blocking;
mod builder;
mod current;
mod error;
mod group;
mod handle;
mod pool;

// async-io is real threads and real sockets, of which the checkers' schedulers know nothing, with locks that
// ThreadSanitizer does not see wait.
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub mod net;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
mod operation;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
mod reactor;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub mod time;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

// Its example needs what only the tests depend on.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../../../docs/TOKIO.md")]
struct TokioExamples;

pub use block_on::block_on;
pub use builder::RuntimeBuilder;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub(crate) use current::current;
pub use current::{spawn, spawn_blocking};
pub use error::{RuntimeJoinTimeout, ShutdownTimeout};
pub use group::{GroupError, TaskGroup};
pub use handle::RuntimeHandle;
pub use pool::Runtime;
