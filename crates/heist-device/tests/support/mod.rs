//! Helpers of the behaviour tests: heist's own, and those that need this crate.

#![allow(dead_code, unused_imports, reason = "every test file uses its own part of this")]

#[path = "../../../heist/tests/support/mod.rs"]
mod shared;

pub(crate) use shared::*;

pub(crate) mod lanes;
