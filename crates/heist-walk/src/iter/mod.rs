//! Walks as iterators, for callers that want the entries one by one on their own thread.
//!
//! - [`entries`]: [`Entries`], in the order in which the walk finds them. [`batching_visitor`]
//!   sends them.
//! - [`sorted`]: [`Sorted`], in the order of a serial walk over sorted directories. [`read_ahead`]
//!   reads directories in advance, and [`sorted_listing`] holds them.
//! - [`walk_entry`]: [`WalkEntry`], the item of both iterators.

mod batching_visitor;
mod entries;
mod read_ahead;
mod sorted;
mod sorted_listing;
#[cfg(test)]
mod tests;
mod walk_entry;

pub use entries::Entries;
pub use sorted::Sorted;
pub use walk_entry::WalkEntry;
