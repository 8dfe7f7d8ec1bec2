//! The measurements of the suites, one file a kind.

pub(crate) mod finish;
pub(crate) mod idle;
pub(crate) mod throughput;
pub(crate) mod wake;
