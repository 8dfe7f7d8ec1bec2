//! `heist du`: measures the disk usage of directory trees.
//!
//! | file | purpose |
//! |---|---|
//! | `arguments` | the options and their help texts |
//! | `view` | the options, checked and resolved |
//! | `input` | the roots and the filter, from the command line and from files |
//! | `error` | what can be wrong with the options and the input |
//! | `run` | the walk, the output and the exit code |
//! | `traverse` | visits a measured tree without recursion |
//! | `format` | the output formats |
//! | `stats` | the output of `--stats` |

mod arguments;
mod error;
mod format;
mod input;
mod run;
mod stats;
mod traverse;
mod view;

pub(crate) use arguments::DuArguments;
pub(crate) use error::DuError;
pub(crate) use run::run;
