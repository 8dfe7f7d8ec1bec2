//! Helpers of the behaviour tests: heist's own, and those that need this crate.

#![allow(dead_code, unused_imports, reason = "heist's own tests use the rest")]

#[path = "../../../../heist/tests/support/mod.rs"]
mod shared;

pub(crate) use shared::*;

pub(crate) mod lanes;
