//! `heist scan`: every secret in a tree.
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | the options, and their help |
//! | `configuration` | `heist.toml` |
//! | `settings` | what both come to |
//! | `rules` | the detector that they ask for |
//! | `rule_files` | several files of rules as one set |
//! | `suppression` | what is known already |
//! | `collector` | takes findings, keeps or writes them |
//! | `place` | what is kept of a finding, masked |
//! | `masker` | hides in excerpts what was not looked for |
//! | `kept` | the places that wait to be shown |
//! | `engine` | the scan itself, and what it came to; `heist baseline` uses it, too |
//! | `explain` | why a line is reported, or why not |
//! | `run` | one run of the command, and its exit code |
//! | `advice` | the commands that a report ends with |
//! | `format`, `summary` | what can be printed |
//! | `output` | stdout, or a file that is whole or not there |
//! | `own_output` | what may be written over |
//! | `stdin` | stdin, which may keep one waiting |
//! | `stream` | lines on their way to the output |
//! | `stats` | how it went |

mod advice;
pub(crate) mod arguments;
mod collector;
pub(crate) mod configuration;
pub(crate) mod engine;
mod explain;
mod format;
mod kept;
mod masker;
mod output;
mod own_output;
mod place;
mod rule_files;
pub(crate) mod rules;
mod run;
pub(crate) mod settings;
mod stats;
mod stdin;
mod stream;
pub(crate) mod summary;
pub(crate) mod suppression;

pub(crate) use arguments::ScanArguments;
pub(crate) use run::run;
