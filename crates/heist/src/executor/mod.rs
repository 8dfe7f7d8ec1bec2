//! [`Executor<T>`]: typed tasks on the work-stealing core, with a scratch value per worker.
//!
//! | file | idea |
//! |---|---|
//! | `config`, `builder`, `error` | what the user sets, and what may be wrong with it |
//! | `shared` | what all workers and handles reach; closing, stopping, finishing |
//! | `worker` | one worker: the real [`crate::policy::Context`], parking, the loop |
//! | `spin`, `pace` | how long to search before parking; when to look at the injector, when to sample a task's time |
//! | `waiting` | tasks that wait for a permit, in no queue |
//! | `futures`, `polling` | spawning, waking and ending futures; a worker's finding and polling them |
//! | `attached` | what else lives and ends with a pool |
//! | `any` | what queues and budgets ask of an executor, whatever its tasks are |
//! | `context` | what a running task sees of its worker |
//! | `task` | running one task: dropping, containing panics, rebuilding scratch |
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
pub mod shared;
mod spin;
pub mod task;
mod thread;
mod waiting;
pub mod worker;
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
