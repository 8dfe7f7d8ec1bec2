//! [`Conditions`]: what the path of an object can change about a match.
//!
//! The judgement of a candidate's text needs the text, and the judgement of its path needs a few
//! facts about the text. The conditions are these facts, so the second judgement can wait until the
//! path is known, when the text may be gone.

use super::allow::Allow;
use super::verdict::Location;

/// What the path of an object can change about a match. By default, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// Whether the path can lower the confidence.
    pub(crate) location: Location,
    /// The allowlists that look at the text and the path, and whose part about the text holds: as
    /// numbers among the rule's own and the global ones.
    pub(crate) allows: Box<[u32]>,
    /// The same among the allowlists of the scanned tree.
    pub(crate) tree_allows: Box<[u32]>,
}

impl Conditions {
    /// Returns `true` if the allowlist with this number allows the match at its paths.
    pub(crate) fn let_allow(&self, number: usize, allow: &Allow) -> bool {
        !allow.needs_content() || contains(&self.allows, number)
    }

    /// The same for an allowlist of the scanned tree.
    pub(crate) fn let_tree_allow(&self, number: usize, allow: &Allow) -> bool {
        !allow.needs_content() || contains(&self.tree_allows, number)
    }
}

fn contains(numbers: &[u32], number: usize) -> bool {
    numbers.iter().any(|&one| one as usize == number)
}
