//! An async runtime on heist's work-stealing workers.
//!
//! A [`Runtime`] is a heist executor without typed tasks, plus what users of an async runtime
//! expect: [`Runtime::block_on`], [`spawn`], groups of futures ([`TaskGroup`]), threads for
//! blocking calls ([`spawn_blocking`]), and, with the feature `io`, timers (`time`) and sockets
//! (`net`). A program that has typed tasks *and* futures does not need a second pool: any
//! [`heist::Executor`] also runs futures ([`heist::ExecutorHandle::spawn_future`]).
//!
//! ```
//! let runtime = heist_runtime::Runtime::new()?;
//! let answer = runtime.block_on(async {
//!     let six = heist_runtime::spawn(async { 6 });
//!     let seven = heist_runtime::spawn_blocking(|| 7);
//!     Ok::<_, heist::JoinError>(six.await? * seven.await?)
//! })?;
//! assert_eq!(answer, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - **Exact end.** A future and a blocking call count from their spawn to their end, so
//!   [`Runtime::join`] returns when the last one has ended, and not before.
//! - **Panics are contained.** The panic of a future goes to the code that awaits its
//!   [`JoinHandle`](heist::JoinHandle), and to [`Runtime::panics`]. It never stops the runtime.
//! - **An idle runtime makes no system calls**, whether its futures wait or its threads for
//!   blocking calls have nothing to do.
//! - **Futures share the workers.** A poll has a budget of operations ([`heist::coop`]), so a
//!   future that is always ready gives way like any other.
//!
//! Not guaranteed: that a blocking call can be interrupted, or that it begins at once when all
//! threads for blocking calls are busy.
//!
//! # The knobs
//!
//! A [`RuntimeBuilder`] has the settings of [`heist::ExecutorConfig`], and two of its own:
//!
//! | knob | default | change it |
//! |---|---|---|
//! | `RuntimeBuilder::max_blocking_threads` | 512 | to fewer to save memory; to more when hundreds of calls block for long |
//! | `RuntimeBuilder::blocking_keep_alive` | 10 s | to longer when bursts of calls are further apart |
//!
//! # The files
//!
//! | file | idea |
//! |---|---|
//! | `pool`, `builder`, `handle` | `Runtime`, its settings, and the handle for other threads |
//! | `block_on` | runs a future on the calling thread |
//! | `blocking` | threads for blocking calls |
//! | `group` | futures that belong together and end together |
//! | `error` | what had not ended in time |
//! | `current` | which runtime the calling code runs on |
//! | `net`, `time`, `reactor`, `operation` | sockets and timers, on async-io |

#![forbid(unsafe_code)]

mod block_on;
mod blocking;
mod builder;
mod current;
mod error;
mod group;
mod handle;
mod pool;

// async-io uses real threads and sockets, which the checkers' schedulers do not control, and locks
// whose waiting ThreadSanitizer does not see.
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

// Its example needs crates that only the tests depend on.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../../../docs/TOKIO.md")]
struct TokioExamples;

pub use block_on::block_on;
pub use builder::RuntimeBuilder;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub(crate) use current::current;
pub use current::{spawn, spawn_blocking};
pub use error::{RuntimeJoinTimeout, ShutdownTimeout};
pub use group::{GroupError, SpawnedMember, TaskGroup};
pub use handle::RuntimeHandle;
pub use pool::Runtime;
