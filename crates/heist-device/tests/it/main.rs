//! Behaviour of the library on real threads: devices, slots and lanes.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

mod config;
#[cfg(target_os = "linux")]
mod detection;
mod errors;
#[cfg(target_os = "linux")]
mod fake_system;
mod lanes;
mod lanes_ends;
mod slots;
#[cfg(target_os = "linux")]
mod system;
