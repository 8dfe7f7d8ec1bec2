//! `heist scan --staged`: the files that the next commit changes, as the index has them.
//!
//! | file | idea |
//! |---|---|
//! | `place` | which repository and which index |
//! | `error` | why a repository cannot be used |
//! | `changes` | the files that differ from `HEAD`, and what cannot be compared |
//! | `source` | blobs as objects of a scan |
//! | `scan` | the scan, and which findings are new |
//!
//! heist reads the repository itself. It never runs git, a hook, a filter or any other program that
//! a configuration names, and it writes nothing.

mod changes;
mod error;
mod place;
mod scan;
mod source;

pub(crate) use error::StagedError;
pub(crate) use place::StagedPlace;
pub(super) use scan::scan;
