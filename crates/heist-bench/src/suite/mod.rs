//! The suites, one a subcommand.

pub(crate) mod costs;
pub(crate) mod executor;
