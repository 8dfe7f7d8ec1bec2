//! Explores executions in the same way as heist's own loom tests.

#[path = "../../../heist/tests/loom_support/mod.rs"]
mod shared;

pub(crate) use shared::*;
