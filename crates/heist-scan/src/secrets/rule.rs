//! [`ActiveRule`]: a rule with its compiled expressions.

use super::allow::{Allow, contains, slashed};
use super::pattern::LazyRegex;
use crate::rules::{Pattern, Rule};
use std::ops::Range;
use std::path::Path;

/// How far from a match its rule's keyword may be, in bytes.
pub(crate) const KEYWORD_REACH: usize = 1024;

/// How much of the line on each side of a secret the judgement reads, in bytes.
pub(crate) const LINE_REACH: usize = 512;

/// A rule with its compiled expressions.
#[derive(Debug)]
pub(crate) struct ActiveRule {
    pub(crate) rule: Rule,
    /// The pattern's expression; a placeholder if the pattern does not have one.
    pub(crate) regex: LazyRegex,
    path: Option<LazyRegex>,
    pub(crate) allows: Vec<Allow>,
    /// `true` if a keyword must be near the match. Not needed if the literal that led to the match
    /// is a keyword.
    needs_keyword: bool,
}

/// The result of searching for a rule's keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeywordCheck<'a> {
    /// The rule does not have keywords, or one of them led to the match.
    NotNeeded,
    /// This keyword is in the match or near it.
    Near(&'a str),
    Missing,
}

impl ActiveRule {
    pub(crate) fn new(rule: Rule) -> Self {
        let regex = match &rule.pattern {
            Pattern::Regex(pattern) => LazyRegex::new(pattern.clone()),
            // The expression must match the whole value, whichever alternative that takes.
            Pattern::Assignment(pattern) => LazyRegex::new(format!(r"\A(?:{pattern})\z")),
            Pattern::Parser(_) | Pattern::Path => LazyRegex::new(""),
        };
        let needs_keyword = matches!(rule.pattern, Pattern::Regex(_)) && !rule.keywords.is_empty();
        Self {
            regex,
            path: rule.path.as_deref().map(LazyRegex::without_groups),
            allows: rule.allowlists.iter().map(Allow::new).collect(),
            needs_keyword,
            rule,
        }
    }

    /// Returns `true` if one of the rule's expressions was used and did not compile.
    pub(crate) fn has_failed(&self) -> bool {
        let others = self.path.iter().chain(self.allows.iter().flat_map(Allow::regexes));
        self.regex.has_failed() || others.into_iter().any(LazyRegex::has_failed)
    }

    /// Returns `true` if the rule applies to objects with this path.
    pub(crate) fn is_for(&self, path: &Path) -> bool {
        self.path.as_ref().is_none_or(|regex| regex.is_match(&slashed(path)))
    }

    /// Returns `true` if an allowlist of the rule allows this path, regardless of the content.
    pub(crate) fn allows_path(&self, path: &Path) -> bool {
        self.allows.iter().any(|allow| allow.has_path_alone(path))
    }

    /// Searches for a keyword in the match and near it.
    pub(crate) fn check_keyword(&self, text: &[u8], whole: &Range<usize>) -> KeywordCheck<'_> {
        if !self.needs_keyword {
            return KeywordCheck::NotNeeded;
        }
        let find = |part: &[u8]| {
            self.rule.keywords.iter().find(|keyword| contains(part, keyword.as_bytes()))
        };
        let (from, to) = (whole.start.saturating_sub(KEYWORD_REACH), whole.end + KEYWORD_REACH);
        // Search the match first: it is short, and mostly contains the keyword.
        find(&text[whole.clone()])
            .or_else(|| find(&text[from..to.min(text.len())]))
            .map_or(KeywordCheck::Missing, |keyword| KeywordCheck::Near(keyword))
    }
}
