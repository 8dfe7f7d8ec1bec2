//! [`TreeRules`]: what a scanned tree changes about the rules of its own scan; and [`Standing`],
//! what that means for a finding.
//!
//! A tree is not trusted, so what it switches off is searched for all the same. Such a finding is
//! [hidden](Standing::Hidden): the sink gets it and can count it.

use crate::rules::{Allowlist, Rule};
use std::collections::HashSet;

/// What a scanned tree changes about the rules of its own scan. See
/// [`SecretDetector::with_tree_rules`](crate::SecretDetector::with_tree_rules).
///
/// The default changes nothing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TreeRules {
    /// Rules that the tree adds. Each may have the name of a chosen rule.
    pub added: Vec<Rule>,
    /// The names of the chosen rules that the tree switches off.
    pub off: HashSet<String>,
    /// Allowlists of the tree for the chosen rules.
    pub allowlists: Vec<Allowlist>,
    /// Whether the tree switches the search in decoded text off.
    pub no_decode: bool,
}

/// Who wants a finding, and whether the scanned tree hides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Standing {
    /// A rule that the caller chose found it.
    #[default]
    Chosen,
    /// A rule that the tree [adds](TreeRules::added) found it.
    Added,
    /// A rule that the caller chose found it, but the tree hides it.
    Hidden(HiddenBy),
}

impl Standing {
    /// Returns `true` if the tree hides the finding.
    #[must_use]
    pub fn is_hidden(self) -> bool {
        matches!(self, Self::Hidden(_))
    }
}

/// What of a tree hides a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HiddenBy {
    /// The tree [switches the rule off](TreeRules::off).
    RuleOff,
    /// An [allowlist](TreeRules::allowlists) of the tree names it.
    Allowlist,
    /// It is in decoded text, which the tree [does not want to be searched](TreeRules::no_decode).
    NoDecode,
}
