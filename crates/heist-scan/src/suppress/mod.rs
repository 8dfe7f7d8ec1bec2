//! Known secrets, which a tool need not report again.
//!
//! | file | idea |
//! |---|---|
//! | `baseline` | reviewed secrets, identified by keyed hashes |
//! | `gitleaksignore` | the findings that a `.gitleaksignore` file lists |
//!
//! (Comments that allow a secret are part of its line: see
//! [`Finding::allowed`](crate::Finding::allowed).)

mod baseline;
mod gitleaksignore;

pub use baseline::{Baseline, BaselineEntry, BaselineError};
pub use gitleaksignore::{GitleaksIgnore, IgnoreNote, UnusedReason};
