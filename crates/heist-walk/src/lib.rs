//! A parallel directory walker: as fast as the system calls allow, and right where others are not.
//!
//! [`Walk`] says what to walk. Take the entries in whatever way suits you:
//!
//! - a [`Visitor`], one for each worker, sees every entry where it is found, without a path being put together and
//!   without a lock: for totals, indexes, anything that adds up ([`Walk::run`]);
//! - an iterator, for people who only want paths ([`Walk::entries`]);
//! - an iterator in order, the same for any number of threads ([`Walk::sorted`]);
//! - a [`Visitor`] that also *reads* files gets them back in batches, opened relative to their directory, on whichever
//!   worker has time ([`Flow::Later`], [`FileBatch`]);
//! - [`usage`] adds up what trees take on the disk, as `du` does.
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
//! # How it goes
//!
//! A directory is opened relative to the descriptor of the one that it is in, and its entries are asked for relative
//! to its own: no path is looked up twice, and none is ever too long. What waits is a block of names, not of paths.
//! Each worker goes depth first, so few directories are open; whatever waits can be stolen. A directory with more
//! entries than one system call returns is read by one worker after the other, and visited by all of them at once.
//!
//! A walk begins with as many threads as there are cores. If it turns out that they wait for the disk (the cache is
//! cold), the reserve is called: up to 32 for a disk that serves many requests at once. A disk with a moving head
//! gets 2. Several disks in one walk do not wait for each other: each has its own share of the threads, because a
//! thread holds a slot of the disk that it works on ([`heist_device::DeviceSlots`]).
//!
//! # What is guaranteed
//!
//! - **Every entry once**: what is in the tree throughout the walk is visited once, whatever else changes meanwhile;
//!   and what is not visited is told of. Errors ([`WalkError`]) name the path, its depth and what failed, and the
//!   walk goes on.
//! - **Never outside**: a symbolic link is not followed unless [`Symlinks`] says so, also if it takes a directory's
//!   place under the walk. (On systems other than Linux the standard library cannot promise that.)
//! - **Any depth**: nothing recurses, and paths may be longer than the system can take.
//! - **Few descriptors**: three for each thread are enough ([`Walk::max_descriptors`]); directories are closed and
//!   opened again, and must be the same then. What is refused a descriptor, because the rest of the program has taken
//!   them, is put off while there is other work, and is an error when nothing could be opened for 200 ms.
//! - **Names are bytes**.
//! - **Silence**: a worker without work sleeps. One that hangs in a dead file system holds up nobody but itself.
//!
//! # What is not
//!
//! - Order, but for [`Walk::sorted`]: entries come as the file system has them, and directories on whatever worker.
//! - A snapshot: a tree that changes is seen as it changes.
//! - That a call of the system which hangs can be given up. The walk ends when it returns.
//!
//! # When not to use it
//!
//! - For a directory of ten files: threads cost more than that.
//! - For writing (copying, removing): it only looks.

#![forbid(unsafe_code)]

mod counters;
mod disks;
mod engine;
mod entry;
mod error;
mod filter;
mod iter;
mod metadata;
mod reserve;
mod sys;
pub mod usage;
mod visitor;
mod walk;

pub use counters::{Progress, Totals};
pub use engine::{BatchedFile, FileBatch};
pub use entry::Entry;
pub use error::{Operation, WalkError};
pub use filter::{Filter, FilterError};
pub use ignore::types::{Types, TypesBuilder};
pub use iter::{Entries, Sorted, WalkEntry};
pub use metadata::{FileIdentity, FileKind, Metadata};
pub use visitor::{Enter, Flow, Visitor};
pub use walk::{Symlinks, Walk, WalkStartError, Walked};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
