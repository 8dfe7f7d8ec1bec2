//! Known secrets, which a tool need not report again.
//!
//! | file | idea |
//! |---|---|
//! | `baseline` | reviewed secrets, identified by keyed hashes |
//! | `date` | a day of the calendar, until which a secret is accepted |
//! | `gitleaksignore` | the findings that a `.gitleaksignore` file lists |
//!
//! (Comments that allow a secret are part of its line: see
//! [`Finding::allowed`](crate::Finding::allowed).)

mod baseline;
mod date;
mod gitleaksignore;

pub use baseline::{Acceptance, Baseline, BaselineEntry, BaselineError};
pub use date::Date;
pub use gitleaksignore::{GitleaksIgnore, IgnoreNote, UnusedReason};
