//! The only module that accesses the file system of a walk: it opens, lists and examines entries,
//! always relative to an open directory.
//!
//! Two implementations have the same names and signatures. On Linux they use `openat`, `getdents64`
//! and `statx`. Elsewhere they use `std::fs`, where "relative" means a joined path;
//! `--cfg heist_portable` selects this one on Linux, to test it.
//!
//! - [`Dir`] is an open directory.
//! - [`RawEntries`] reads its entries block by block into a worker's [`ReadBuffer`]. The position
//!   of the next block is part of the `Dir`, so another worker can continue.
//! - [`Name`] is the name of an entry, and [`NameQueue`] holds many of them, packed.

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
