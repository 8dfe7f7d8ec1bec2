//! Signals and gates: which of many queues have something to do, and who does it.

#[doc(hidden)]
pub mod flags;
