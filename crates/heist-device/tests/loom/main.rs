//! Lanes under loom.
#![cfg(heist_loom)]

// Explores executions in the same way as heist's own loom tests.
#[path = "../../../heist/tests/loom/support/mod.rs"]
mod support;

mod lane;
