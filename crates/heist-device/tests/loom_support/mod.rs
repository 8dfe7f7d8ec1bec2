//! How the loom tests explore: as those of heist do.

#[path = "../../../heist/tests/loom_support/mod.rs"]
mod shared;

pub(crate) use shared::*;
