//! Helpers of the behaviour tests: heist's own, and those that need this crate.

#![allow(dead_code, unused_imports, reason = "every test program uses its own part of this")]

#[path = "../../../heist/tests/support/mod.rs"]
mod shared;

pub(crate) use shared::*;

pub(crate) mod fairness;
#[path = "../../../heist-device/tests/it/support/lanes.rs"]
pub(crate) mod lanes;
