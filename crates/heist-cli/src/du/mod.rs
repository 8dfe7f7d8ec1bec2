//! `heist du`: how much room directory trees take.
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | the options, and their help |
//! | `view` | what the options come to, checked |
//! | `input` | the roots and the filter, from the command line and from files |
//! | `run` | the walk, the output, and what it all came to |
//! | `traverse` | going through a measured tree without recursion |
//! | `format` | what can be printed |
//! | `stats` | how it went |

mod arguments;
mod format;
mod input;
mod run;
mod stats;
mod traverse;
mod view;

pub(crate) use arguments::DuArguments;
pub(crate) use run::run;
