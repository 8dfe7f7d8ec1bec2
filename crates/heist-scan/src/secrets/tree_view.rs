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

    /// Returns the standing of a reported candidate. `input` is `None` for a rule that only checks
    /// paths.
    pub(crate) fn standing(
        &self,
        rule: u32,
        encoding: Encoding,
        path: &Path,
        input: Option<&AllowlistInput<'_>>,
    ) -> Standing {
        let Some(&is_off) = self.off.get(rule as usize) else { return Standing::Added };
        let allows = |allow: &Allow| match input {
            Some(input) => allow.allows_content(input) || allow.allows_at(path, input),
            None => allow.has_path_alone(path),
        };
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
}
