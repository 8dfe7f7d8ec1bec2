//! Signals and gates: which of many queues have something to do, and who does it.

#[doc(hidden)]
pub mod flags;
pub(crate) mod queue;

pub use queue::{
    GatedQueue, PushError, PushErrorKind, QueueConfig, QueueConsumer, QueueStats, QueueTurn,
};
