//! Walks directory trees in parallel.
//!
//! A [`Walk`] describes what to walk: the roots, a [`Filter`], which links to follow. There are
//! five ways to receive the entries:
//!
//! - [`Walk::entries`] returns an iterator, for programs that only need paths.
//! - [`Walk::sorted`] returns an iterator with a fixed order, which is the same for any number of
//!   threads.
//! - [`Walk::run`] calls a [`Visitor`] for every entry. Each thread has a visitor of its own, so a
//!   visitor needs no locks, and the walk builds no paths. This is the fastest way, made for
//!   totals, indexes and everything else that can be added up at the end.
//! - A visitor that also *reads* files answers [`Flow::Later`] and receives them in
//!   [batches](FileBatch), on any worker that has time. Each file is opened relative to its
//!   directory.
//! - [`usage::measure`] adds up how much disk space trees take, as `du` does.
//!
//! ```
//! use heist_walk::{Filter, Walk};
//!
//! // Every source file that git would not ignore.
//! let walk = Walk::new("src").filter(Filter::new().standard(true));
//! for entry in walk.entries()? {
//!     match entry {
//!         Ok(entry) if entry.kind().is_file() => println!("{}", entry.path().display()),
//!         Ok(_) => {}
//!         Err(error) => eprintln!("{error}"),
//!     }
//! }
//! # Ok::<(), heist_walk::WalkStartError>(())
//! ```
//!
//! # How a walk works
//!
//! A walk opens each directory relative to the descriptor of its parent, and asks for entries
//! relative to their directory. So the kernel never resolves a path twice, and no path is too long.
//! Directories that wait to be entered are queued as blocks of names, not as paths. Each worker
//! goes depth first, which keeps few directories open, and idle workers steal queued blocks from
//! busy ones. If a directory has more entries than one system call returns, several workers read it
//! one after the other, and visit their parts at the same time.
//!
//! A walk starts with one thread per core. If these threads mostly wait for the disk because
//! nothing is cached, extra threads join in: up to 32 in all for a disk that serves many requests
//! at once. A disk with a moving head gets 2 threads. The disks of a walk do not wait for each
//! other: a worker holds a device slot of the disk it works on ([`heist_device::DeviceSlots`]), and
//! each disk has its own device slots.
//!
//! # Guarantees
//!
//! - **Every entry once.** An entry that exists during the whole walk is visited exactly once,
//!   whatever else changes meanwhile. Whatever the walk cannot visit, it reports: a [`WalkError`]
//!   names the path, its depth and the failed operation, and the walk continues.
//! - **Never outside the roots.** The walk follows a symbolic link only if [`Symlinks`] allows it,
//!   even if the link replaces a directory during the walk. (Only on Linux: elsewhere the standard
//!   library cannot promise this.)
//! - **Any depth.** Nothing recurses, and paths may be longer than the system accepts.
//! - **Few descriptors.** Three per thread are enough ([`Walk::max_descriptors`]). The walk closes
//!   directories and reopens them later, and checks that they are still the same. If the rest of
//!   the program has used up all descriptors, the walk puts off what it cannot open and does other
//!   work first. After 200 ms without a single success it reports an error.
//! - **Names are bytes.** A name does not have to be valid UTF-8.
//! - **Idle workers sleep.** A worker that hangs in a dead file system delays only itself.
//!
//! # What is not guaranteed
//!
//! - Order, except by [`Walk::sorted`]: entries come in the order of the file system, and any
//!   worker may visit any directory.
//! - A snapshot: if the tree changes, the walk sees some of the changes.
//! - An end, if a system call hangs: the walk cannot abandon the call and ends when it returns.
//!
//! # When not to use it
//!
//! - For a directory of ten files: starting threads costs more than reading it.
//! - To copy or remove trees: a walk only reads.

#![forbid(unsafe_code)]

mod counters;
mod disks;
mod engine;
mod entry;
mod error;
mod extra_threads;
mod filter;
mod iter;
mod metadata;
mod sys;
pub mod usage;
mod visitor;
mod walk;

pub use counters::{Progress, Totals};
pub use engine::{BatchedFile, FileBatch};
pub use entry::Entry;
pub use error::{Operation, WalkError, WalkStartError};
pub use filter::{Filter, FilterError, PathExclusion};
pub use ignore::types::{Types, TypesBuilder};
pub use iter::{Entries, Sorted, WalkEntry};
pub use metadata::{FileIdentity, FileKind, Metadata};
pub use visitor::{Enter, Flow, Visitor};
pub use walk::{Symlinks, Walk, WalkReport};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct WorkspaceReadmeExamples;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
