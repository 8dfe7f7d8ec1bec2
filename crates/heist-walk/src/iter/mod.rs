//! Walks as iterators, for callers who want entries one by one and on their own thread.
//!
//! - [`entries`]: as they are found, [`Entries`], which [`gatherer`] sends;
//! - [`sorted`]: in the order of a serial walk over sorted directories, [`Sorted`], which is read ahead by [`ahead`];
//! - [`found`]: what both give, [`WalkEntry`].

mod ahead;
mod entries;
mod found;
mod gatherer;
mod listing;
mod sorted;
#[cfg(test)]
mod tests;

pub use entries::Entries;
pub use found::WalkEntry;
pub use sorted::Sorted;
