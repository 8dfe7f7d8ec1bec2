//! Tests of the public behaviour, in one program. The oracle is the real git, on repositories that
//! the tests make.

mod attribution;
mod git;
mod history;
mod history_scan;
mod packs;

mod errors;
mod hostile;
mod index;
mod layouts;
mod names;
mod objects;
mod sweeps;
