//! Behaviour of the library: scans of trees, sources and bytes in memory.

#[path = "../support/mod.rs"]
mod support;

mod blobs;
mod detector;
mod encodings;
mod errors;
mod executor_settings;
mod find;
mod invariance;
mod masking;
mod rules_builtin;
mod rules_documented;
mod rules_errors;
mod rules_load;
mod shifts;
mod sources;
mod trees;
mod user_rules;
mod work;
