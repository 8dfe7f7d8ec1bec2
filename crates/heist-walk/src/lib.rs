//! A parallel directory walker: as fast as the system calls allow, and right where others are not.
//!
//! [`Walk`] says what to walk; a [`Visitor`] sees every entry, on each worker its own. Who only wants paths takes
//! [`Walk::entries`], or [`Walk::sorted`] to have them in order.

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
pub use entry::Entry;
pub use error::{Operation, WalkError};
pub use filter::{Filter, FilterError};
pub use ignore::types::{Types, TypesBuilder};
pub use iter::{Entries, Sorted, WalkEntry};
pub use metadata::{FileIdentity, FileKind, Metadata};
pub use visitor::{Enter, Flow, Visitor};
pub use walk::{Symlinks, Walk, WalkStartError, Walked};
