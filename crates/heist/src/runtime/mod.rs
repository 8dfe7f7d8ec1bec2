//! [`Runtime`]: futures, and nothing but futures, on the work-stealing core.
//!
//! It is an executor without typed tasks, plus what users of an async runtime expect: [`Runtime::block_on`], [`spawn`],
//! groups of futures ([`TaskGroup`]), threads for calls that block ([`spawn_blocking`]). Whoever has typed tasks *and*
//! futures needs no second pool: any [`crate::Executor`] takes futures, too ([`crate::ExecutorHandle::spawn_future`]).
//!
//! | file | idea |
//! |---|---|
//! | `pool`, `builder`, `handle` | `Runtime`, what is set, and the handle for other threads |
//! | `block_on` | a future on the calling thread |
//! | `blocking` | threads for calls that block |
//! | `group` | futures that belong together and end together |
//! | `error` | what had not ended in time |
//! | `current` | which runtime this code runs on |

mod block_on;
mod blocking;
mod builder;
mod current;
mod error;
mod group;
mod handle;
mod pool;

pub use block_on::block_on;
pub use builder::RuntimeBuilder;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub(crate) use current::current;
pub use current::{spawn, spawn_blocking};
pub use error::{RuntimeJoinTimeout, ShutdownTimeout};
pub use group::{GroupError, SpawnedMember, TaskGroup};
pub use handle::RuntimeHandle;
pub use pool::Runtime;
