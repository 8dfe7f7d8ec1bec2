//! The only door to the file system: opening, listing and asking, always relative to an open directory.
//!
//! Two back ends have the same names and signatures. On Linux it is `openat`, `getdents64` and `statx`; elsewhere
//! (and on Linux with `--cfg heist_portable`, which is how it is tested) it is `std::fs`, where "relative" means a
//! joined path.
//!
//! - [`Dir`]: an open directory;
//! - [`Listing`]: its entries, block by block, into a worker's [`ReadBuffer`]. What is not read yet stays in the
//!   `Dir`, so that another worker can go on with the next block;
//! - [`Name`]: what both ends call an entry; [`Names`]: many of them, packed.

#[cfg(all(target_os = "linux", not(heist_portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(heist_portable)))]
pub(crate) use linux::*;

#[cfg(not(all(target_os = "linux", not(heist_portable))))]
mod portable;
#[cfg(not(all(target_os = "linux", not(heist_portable))))]
pub(crate) use portable::*;

#[cfg(all(test, target_os = "linux", not(heist_portable)))]
pub(crate) mod fault;
