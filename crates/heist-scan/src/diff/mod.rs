//! Diffs: [`DiffSource`] reads a patch and scans only what it adds.
//!
//! It understands what `git diff`, `git show`, `git log -p` and `git format-patch` print, also with
//! mail headers and messages, and unified diffs of other programs: file names in quotes, renames,
//! `/dev/null`, binary patches, combined diffs of merges, and lines that end with CRLF.
//!
//! - Each file of the diff is an object. Its bytes are the new side of the hunks: added lines and
//!   the context lines around them, because a secret or the name before it may begin in a context
//!   line. Removed lines are not in the new file, and would join what is not together there.
//! - A finding counts only if at least one of its lines is added. The others are
//!   [declined](crate::Sink::declined). Lines, columns and paths are those of the new file, and
//!   offsets are those in the diff.
//! - Whatever does not parse as a diff is scanned as plain text, with lines counted from the
//!   beginning of the input: commit messages, and all of an input that is not a diff. Only the
//!   headers of a diff are not searched.
//!
//! Memory is bounded, also for hostile input. A file with few bytes is held as a whole. A larger
//! one is streamed: the worker that scans it reads the diff, and the source waits until it is done.
//! A line of any length passes in pieces.
//!
//! | file | idea |
//! |---|---|
//! | `input` | reads lines, and looks at the next ones before they are taken |
//! | `header` | the headers of files and hunks, and names in quotes |
//! | `binary` | the lines of binary patches |
//! | `hunk` | which side each line of a hunk belongs to |
//! | `reader` | cuts a diff into the new sides of its files and the text between them |
//! | `places` | the positions in the new file and in the diff |
//! | `source` | [`DiffSource`] |

mod binary;
mod header;
mod hunk;
mod input;
mod places;
mod reader;
mod source;

pub use source::{DiffCounts, DiffSource};

#[cfg(test)]
mod tests;
