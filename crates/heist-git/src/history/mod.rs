//! Histories: which commits there are, and which of them introduced and removed a blob.
//!
//! | file | purpose |
//! |---|---|
//! | `tips` | what refs and `HEAD`s point to |
//! | `graph` | the commits that they reach, in an order that never changes |
//! | `reduced` | trees without the entries that do not matter |
//! | `attribution` | where the commits have the blobs that matter |
//! | `introduced` | everything that some commits introduce |
//! | `revisions` | the commits that a range, a branch, a date or an id stand for |
//! | `scan` | the scan of a history for secrets |
//! | `refs_of` | which names lead to a commit |

mod attribution;
mod graph;
mod introduced;
mod reduced;
mod refs_of;
mod revisions;
mod scan;
mod tips;

pub use attribution::{Attribution, AttributionLimits, BlobPlace};
pub use graph::{CommitNumber, CommitWalk, UnreadableObjects};
pub use introduced::{Introduced, IntroducedGaps};
pub use reduced::BlobSet;
pub use refs_of::ContainingRefs;
pub use revisions::{RevisionError, Revisions};
pub use scan::{BlobCounts, HistoryError, HistoryProgress, HistoryReport, HistoryScan};
pub use tips::{TagObject, Tips};
