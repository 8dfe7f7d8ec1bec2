//! Rules: what secrets look like, as data.

mod error;
mod model;
pub mod syntax;

pub use error::{RuleError, RuleErrorKind, RuleNote, RulePlace};
pub use model::{
    Allowlist, Condition, HandKind, MAX_LENGTH_DEFAULT, Pattern, REMEDY_DEFAULT, RegexTarget, Rule,
    RuleSet, UnknownHandKind,
};

/// Rules that were loaded, and what is worth knowing about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The rules.
    pub rules: RuleSet,
    /// What is worth knowing: a field that is not understood, a longest match that was cut.
    pub notes: Vec<RuleNote>,
}
