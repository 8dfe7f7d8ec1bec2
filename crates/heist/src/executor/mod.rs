//! [`Executor<T>`]: typed tasks on the work-stealing core, with a scratch value per worker.
//!
//! | file | what it has |
//! |---|---|
//! | `config`, `setters`, `builder`, `error` | the settings, and the errors |
//! | `shared` | the state that all workers and handles share; closing, stopping and finishing a pool |
//! | `worker` | one worker: the real [`crate::policy::Context`], the loop, parking |
//! | `spin`, `pace` | how long to search before parking; when to check the injector and time a task |
//! | `waiting` | tasks that wait for a permit, outside of every queue |
//! | `futures`, `polling` | spawning, waking and ending futures; how a worker finds and polls them |
//! | `attached` | other things that live and end with a pool |
//! | `any` | an executor as queues and budgets see it, whatever its task type is |
//! | `context` | a running task's view of its worker |
//! | `task` | running one task: dropping it, containing its panic, rebuilding the scratch |
//! | `pool`, `handle`, `thread` | `Executor`, `ExecutorHandle`, and a worker's thread |
//! | `run` | one run over borrowed data |
//! | `rejected` | what planted bugs do instead, in builds with `--cfg heist_plant` |

pub(crate) mod any;
pub(crate) mod attached;
mod builder;
mod config;
mod context;
mod error;
pub(crate) mod futures;
mod handle;
mod pace;
mod polling;
mod pool;
#[cfg(heist_plant)]
mod rejected;
mod run;
mod setters;
pub(crate) mod shared;
mod spin;
pub(crate) mod task;
mod thread;
mod waiting;
pub(crate) mod worker;
#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod worker_tests;

pub use builder::ExecutorBuilder;
pub use config::{ExecutorConfig, OnPanic};
pub use context::{Spawner, WorkerCtx};
pub(crate) use error::panic_message;
pub use error::{
    ConfigError, JoinTimeout, RunError, SpawnError, SpawnErrorKind, StartError, TaskPanic,
};
pub use handle::ExecutorHandle;
pub use pool::Executor;
pub use run::{RunOutput, run};
