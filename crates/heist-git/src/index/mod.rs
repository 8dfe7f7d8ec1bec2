//! The index of a repository: what the next commit will contain, and how it differs from `HEAD`.
//!
//! | file | idea |
//! |---|---|
//! | `file` | [`Index`]: versions 2, 3 and 4, and the extensions |
//! | `entries` | [`IndexEntries`]: the entries, one after the other |
//! | `cache_tree` | the ids of whole directories, by which most of them need not be looked at |
//! | `staged` | [`Index::staged`]: the differences to a tree |

mod cache_tree;
mod entries;
mod file;
mod staged;

pub use entries::{IndexEntries, IndexEntry};
pub use file::Index;
pub use staged::{StagedBlob, StagedChange, StagedProblem, StagedSummary};
