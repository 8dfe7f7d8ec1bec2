//! How the shuttle tests explore: as those of heist do.

#[path = "../../../heist/tests/shuttle_support/mod.rs"]
mod shared;

pub(crate) use shared::*;
