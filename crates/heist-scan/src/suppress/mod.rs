//! What is known already and not to be reported again.
//!
//! | file | idea |
//! |---|---|
//! | `baseline` | secrets that somebody has looked at, by their keyed hashes |
//! | `gitleaksignore` | places that a `.gitleaksignore` names |
//!
//! (Comments in the secret's own line are seen where the line is: see [`Finding::allowed`](crate::Finding::allowed).)

mod baseline;
mod gitleaksignore;

pub use baseline::{Baseline, BaselineEntry, BaselineError};
pub use gitleaksignore::{GitleaksIgnore, IgnoreNote};
