//! The measurements that the suites are made of, one topic per file.

pub(crate) mod blocking;
pub(crate) mod budgets;
pub(crate) mod finish;
pub(crate) mod flags;
pub(crate) mod idle;
pub(crate) mod lanes;
mod pauses;
pub(crate) mod queues;
pub(crate) mod round_trip;
pub(crate) mod runtime;
pub(crate) mod throughput;
pub(crate) mod wake;
