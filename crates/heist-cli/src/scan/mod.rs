//! `heist scan`: finds secrets in files.
//!
//! | file | purpose |
//! |---|---|
//! | `arguments` | the options and their help texts |
//! | `origin` | who set something, and whether heist trusts them |
//! | `configuration`, `configuration_error` | the contents of a `heist.toml` |
//! | `configuration_files` | which configuration files count |
//! | `settings` | the options and the configuration files, combined |
//! | `policy`, `policy_file` | an organisation's floor, which nothing can weaken |
//! | `obedience` | applies the policies to the settings |
//! | `found_baseline` | the baseline that a scan uses by itself |
//! | `rules` | the detector that the settings ask for |
//! | `rule_files` | merges several rule files |
//! | `history` | scans git histories, and says when one was not scanned |
//! | `history_place` | where in a history a finding is, masked |
//! | `hidden` | what the scanned tree hides, and by what |
//! | `suppression` | which findings are not reported, and why |
//! | `places` | the paths of findings, independent of how the user spelled the PATHs |
//! | `collector` | receives findings, then buffers or writes them |
//! | `reported_finding` | a finding as the report shows it, masked |
//! | `report_buffer` | the findings that wait for the report, within a memory limit |
//! | `named` | which PATHs were named but not scanned |
//! | `engine` | runs the scan; `heist baseline` uses it as well |
//! | `explain` | why a line is reported or not |
//! | `run` | one run of the command, and its exit code |
//! | `advice` | the commands at the end of a report |
//! | `format`, `summary` | the output formats and the counts that they print |
//! | `output` | stdout, or a file that is replaced as a whole |
//! | `overwrite` | recognizes reports, and refuses outputs that the run itself reads |
//! | `stdin` | reads stdin until it ends or the scan does |
//! | `diff` | scans stdin, which may be a diff |
//! | `staged` | the files that the next commit changes |
//! | `path_filter` | leaves out files that no walk visits |
//! | `stream` | batches the lines of `jsonl` |
//! | `text_masker` | masks secrets in the texts of commits |
//! | `stats` | the output of `--stats` |

mod advice;
pub(crate) mod arguments;
mod collector;
mod configuration;
pub(crate) mod configuration_error;
mod configuration_files;
mod diff;
pub(crate) mod engine;
pub(crate) mod explain;
mod format;
pub(crate) mod found_baseline;
mod hidden;
pub(crate) mod history;
mod history_place;
#[cfg(test)]
mod hostile_files_tests;
#[cfg(test)]
mod masking_tests;
mod named;
mod obedience;
pub(crate) mod origin;
mod output;
pub(crate) mod overwrite;
mod path_filter;
pub(crate) mod places;
pub(crate) mod policy;
pub(crate) mod policy_file;
mod report_buffer;
mod reported_finding;
mod rule_files;
pub(crate) mod rules;
mod run;
pub(crate) mod settings;
pub(crate) mod staged;
mod stats;
pub(crate) mod stdin;
mod stream;
pub(crate) mod summary;
pub(crate) mod suppression;
mod text_masker;

pub(crate) use arguments::ScanArguments;
pub(crate) use run::run;
