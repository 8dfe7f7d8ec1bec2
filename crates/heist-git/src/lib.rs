//! Reads git repositories without git: every object of a pack once, base first, on a work-stealing
//! executor; and single objects by their ids.
//!
//! Everything that a repository says is doubted: sizes before bytes arrive, offsets, chains, names,
//! and paths that lead elsewhere. What cannot be read is an outcome with a reason, never a panic,
//! a hang or a gap. Nothing is run, fetched or written.
//!
//! | you want | use |
//! |---|---|
//! | to find a repository's parts | [`Layout`], through an [`Access`] |
//! | every object of a repository, once | [`Sweep`], with an [`ObjectVisitor`] per worker |
//! | an object by its id | [`ObjectStore`], [`ObjectReader`] |
//! | commits, trees and tags | [`Commit`], [`Tree`], [`Tag`]: parsed where they lie |
//! | names: branches, tags, `HEAD`, reflogs | [`Refs`], [`Layout::reflogs`] |
//! | what the next commit changes | [`Index::staged`], [`Layout::head_commit`] |
//! | the commits that introduced and removed a blob | [`CommitWalk`], [`Attribution`] |
//! | parents of commits, fast | [`CommitGraph`] |

#![forbid(unsafe_code)]

mod access;
mod bytes;
mod delta;
mod history;
mod id;
mod index;
mod inflate;
mod loose;
mod object;
mod pack;
mod parse;
mod problem;
mod repo;
mod source_file;
mod store;
mod sweep;

pub use access::{Access, Trust};
pub use delta::DeltaOp;
pub use history::{
    Attribution, AttributionLimits, BlobCounts, BlobPlace, BlobSet, CommitNumber, CommitWalk,
    ContainingRefs, HistoryError, HistoryProgress, HistoryReport, HistoryScan, Introduced,
    IntroducedGaps, RevisionError, Revisions, TagObject, Tips, UnreadableObjects,
};
pub use id::{HashKind, ObjectId};
pub use index::{
    Index, IndexEntries, IndexEntry, StagedBlob, StagedChange, StagedProblem, StagedSummary,
};
pub use object::{Object, ObjectKind};
pub use pack::commit_graph::{CommitGraph, GraphCommit, GraphPosition};
pub use parse::{Commit, Signature, Tag, Tree, TreeEntry};
pub use problem::{FileError, FileProblem, ObjectError};
pub use repo::find::{FoundRepositories, find_repositories, is_repository};
pub use repo::layout::Layout;
pub use repo::reflog::ReflogEntry;
pub use repo::refs::{Head, Ref, Refs};
pub use store::{Limits, ObjectReader, ObjectStore};
pub use sweep::{
    CopiedRange, Delta, ObjectVisitor, Sweep, SweepCounts, SweepReport, Unreadable, Visit,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
