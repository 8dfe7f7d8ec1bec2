//! [`Executor<T>`]: typed tasks on the work-stealing core, with a scratch value per worker.
//!
//! | file | idea |
//! |---|---|
//! | `config`, `builder`, `error` | what the user sets, and what may be wrong with it |
//! | `shared` | what all workers and handles reach; closing, stopping, finishing |
//! | `worker` | one worker: the real [`crate::policy::Context`], parking, the loop |
//! | `pace` | when to look at the injector, when to sample a task's time |
//! | `context` | what a running task sees of its worker |
//! | `task` | running one task: dropping, containing panics, rebuilding scratch |
//! | `pool`, `handle` | `Executor` and `ExecutorHandle` |
//! | `run` | one run over borrowed data |

mod config;
mod context;
mod error;
mod pace;
pub mod shared;
pub mod task;
pub mod worker;

#[cfg(not(heist_loom))]
mod builder;
#[cfg(not(heist_loom))]
mod handle;
#[cfg(not(heist_loom))]
mod pool;
#[cfg(not(heist_loom))]
mod run;
#[cfg(not(heist_loom))]
mod spin;
#[cfg(not(heist_loom))]
mod thread;

pub use config::{ExecutorConfig, OnPanic};
pub use context::{Spawner, WorkerCtx};
#[cfg(not(heist_loom))]
pub use error::JoinTimeout;
pub use error::{ConfigError, RunError, SpawnError, SpawnErrorKind, StartError, TaskPanic};

#[cfg(not(heist_loom))]
pub use self::{
    builder::ExecutorBuilder,
    handle::ExecutorHandle,
    pool::Executor,
    run::{RunOutput, run},
};
