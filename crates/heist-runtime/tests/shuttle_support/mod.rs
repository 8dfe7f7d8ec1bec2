//! Explores schedules in the same way as heist's own shuttle tests.

#[path = "../../../heist/tests/shuttle_support/mod.rs"]
mod shared;

pub(crate) use shared::*;
