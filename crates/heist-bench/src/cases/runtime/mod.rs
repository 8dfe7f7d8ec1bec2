//! The measurements of the suite `runtime`, written for any runtime for futures.

mod busy;
pub(crate) mod http;
pub(crate) mod idle;
pub(crate) mod lifo_hazard;
pub(crate) mod memory;
pub(crate) mod remote_latency;
pub(crate) mod tokio_set;
mod waiter;
pub(crate) mod wake;
