//! Inputs that cost a detector as much CPU time per byte as possible: `input` describes them,
//! `cost` measures them, and `search` mutates them into worse ones.

mod cost;
mod fragments;
mod input;
mod search;

pub(crate) use cost::{Cost, Meter};
pub(crate) use input::HostileInput;
pub(crate) use search::{Found, Goal, Search};
