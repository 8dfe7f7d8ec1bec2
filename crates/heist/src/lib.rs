//! A work-stealing executor for typed tasks.

#![forbid(unsafe_code)]

pub mod affinity;
mod cancel;
mod histogram;
pub mod metrics;
pub mod policy;
mod rng;
pub mod trace;
mod worker_id;
pub mod yielding;

// The protocols. Public for the model checkers and the simulator, which run this very code; no promise of
// stability is made for them.
#[doc(hidden)]
pub mod executor;
#[doc(hidden)]
pub mod idle;
#[doc(hidden)]
pub mod intake;
#[doc(hidden)]
pub mod queue;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod termination;

pub use cancel::CancelToken;
pub use executor::{
    ConfigError, ExecutorConfig, OnPanic, RunError, SpawnError, SpawnErrorKind, Spawner,
    StartError, TaskPanic, WorkerCtx,
};
#[cfg(not(heist_loom))]
pub use executor::{Executor, ExecutorBuilder, ExecutorHandle, JoinTimeout, RunOutput, run};
pub use histogram::Histogram;
pub use metrics::MetricsSnapshot;
pub use rng::XorShift64;
pub use worker_id::current_worker_id;
