//! The suites, one per subcommand.

pub(crate) mod blocking;
pub(crate) mod compare;
pub(crate) mod costs;
pub(crate) mod devices;
pub(crate) mod executor;
pub(crate) mod gates;
pub(crate) mod git;
pub(crate) mod hostile;
pub(crate) mod runtime;
pub(crate) mod scan;
mod side_by_side;
pub(crate) mod walk;
