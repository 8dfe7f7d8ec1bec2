//! Each protocol, and small whole pools, under loom: every schedule within a bound, and a planted
//! bug for everything that the models are there to catch.
#![cfg(heist_loom)]

mod support;

mod abort;
mod budget;
mod executor;
mod futures;
mod idle;
mod intake;
mod queue;
mod rejected;
mod signal;
mod slot;
mod termination;
