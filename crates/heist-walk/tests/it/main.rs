//! Tests of the public behaviour of walks, filters, iterators and measurements, in one program.
//!
//! A test that needs a process of its own is a program of its own beside this directory.

// Not inside this directory, because tests of heist-cli include a part of it.
#[path = "../support/mod.rs"]
mod support;

mod changing;
mod disks;
mod ending;
mod errors;
mod executor_settings;
mod files;
mod filter;
mod filter_environment;
mod ignore_peer;
mod iterators;
mod portable;
mod usage;
mod usage_du;
mod walk;
