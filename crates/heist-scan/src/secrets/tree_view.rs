//! [`TreeView`]: whether the scanned tree hides a candidate that the detector reports.
//!
//! Invariant: the tree affects only this and the rules that it adds. The verdict on a candidate of
//! a chosen rule is the same as without the tree.

use super::allow::{Allow, AllowlistInput};
use crate::encoding::Encoding;
use crate::rules::Allowlist;
use crate::tree_rules::{HiddenBy, Standing};
use std::path::Path;

/// What the scanned tree changes, with its compiled expressions.
#[derive(Debug)]
pub(crate) struct TreeView {
    /// Whether the tree switches each chosen rule off. The rules that it adds follow these.
    off: Vec<bool>,
    allows: Vec<Allow>,
    no_decode: bool,
}

impl TreeView {
    pub(crate) fn new(off: Vec<bool>, allowlists: &[Allowlist], no_decode: bool) -> Self {
        Self { off, allows: allowlists.iter().map(Allow::new).collect(), no_decode }
    }

    /// Returns the standing of a candidate of this rule, as far as its text decides it. `input` is
    /// `None` for a rule that only checks paths.
    pub(crate) fn content_standing(
        &self,
        rule: u32,
        encoding: Encoding,
        input: Option<&AllowlistInput<'_>>,
    ) -> Standing {
        let Some(&is_off) = self.off.get(rule as usize) else { return Standing::Added };
        let allows = |allow: &Allow| input.is_some_and(|input| allow.allows_content(input));
        if is_off {
            Standing::Hidden(HiddenBy::RuleOff)
        } else if self.no_decode && encoding != Encoding::Plain {
            Standing::Hidden(HiddenBy::NoDecode)
        } else if self.allows.iter().any(allows) {
            Standing::Hidden(HiddenBy::Allowlist)
        } else {
            Standing::Chosen
        }
    }

    /// Returns the standing at this path, given what the text decided. `allows` says which
    /// allowlists allow the candidate at their paths.
    pub(crate) fn standing_at(
        &self,
        content: Standing,
        path: &Path,
        allows: impl Fn(usize, &Allow) -> bool,
    ) -> Standing {
        let mut allowlists = self.allows.iter().enumerate();
        let is_allowed = content == Standing::Chosen
            && allowlists.any(|(at, allow)| allows(at, allow) && allow.names_path(path));
        if is_allowed { Standing::Hidden(HiddenBy::Allowlist) } else { content }
    }

    /// Returns the standing of a rule that only checks paths.
    pub(crate) fn path_standing(&self, rule: u32, path: &Path) -> Standing {
        let content = self.content_standing(rule, Encoding::Plain, None);
        let mut allows = self.allows.iter();
        if content == Standing::Chosen && allows.any(|allow| allow.has_path_alone(path)) {
            return Standing::Hidden(HiddenBy::Allowlist);
        }
        content
    }

    pub(crate) fn allows(&self) -> &[Allow] {
        &self.allows
    }
}
