//! Behaviour of the library: scans of trees, sources and bytes in memory.

#[path = "../support/mod.rs"]
mod support;

mod encodings;
mod errors;
mod executor_settings;
mod find;
mod invariance;
mod sources;
mod trees;
