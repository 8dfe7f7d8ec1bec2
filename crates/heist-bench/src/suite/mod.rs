//! The suites, one a subcommand.

pub(crate) mod executor;
