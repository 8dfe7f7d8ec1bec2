//! [`Allow`]: a compiled allowlist, which suppresses matches of one rule or of all rules.

use super::pattern::LazyRegex;
use crate::rules::{Allowlist, Condition, RegexTarget};
use std::path::Path;

/// An [`Allowlist`] with its compiled expressions.
#[derive(Debug)]
pub(crate) struct Allow {
    /// The allowlist's description, shown in explanations.
    pub(crate) description: String,
    condition: Condition,
    paths: Vec<LazyRegex>,
    regexes: Vec<LazyRegex>,
    target: RegexTarget,
    stopwords: Vec<String>,
}

/// The parts of a candidate that an allowlist checks, except the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllowlistInput<'a> {
    pub(crate) secret: &'a [u8],
    pub(crate) whole: &'a [u8],
    pub(crate) line: &'a [u8],
}

impl Allow {
    pub(crate) fn new(list: &Allowlist) -> Self {
        let lazily = |patterns: &[String]| patterns.iter().map(LazyRegex::without_groups).collect();
        Self {
            description: list.description.clone(),
            condition: list.condition,
            paths: lazily(&list.paths),
            regexes: lazily(&list.regexes),
            target: list.regex_target,
            stopwords: list.stopwords.clone(),
        }
    }

    /// Returns `true` if the list allows everything in an object with this path, so that a scan
    /// need not open it.
    pub(crate) fn has_path_alone(&self, path: &Path) -> bool {
        let alone = self.condition == Condition::Any
            || self.regexes.is_empty() && self.stopwords.is_empty();
        alone && any(&self.paths, &slashed(path))
    }

    /// Returns `true` if the list allows a candidate regardless of its path.
    pub(crate) fn allows_content(&self, input: &AllowlistInput<'_>) -> bool {
        match self.condition {
            Condition::Any => self.content_checks(input).any(|holds| holds),
            Condition::All => {
                let has_checks = !self.regexes.is_empty() || !self.stopwords.is_empty();
                self.paths.is_empty() && has_checks && self.content_checks(input).all(|holds| holds)
            }
        }
    }

    /// Returns `true` if the list contains path expressions.
    pub(crate) fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Returns `true` if one of the list's path expressions matches this path.
    pub(crate) fn names_path(&self, path: &Path) -> bool {
        any(&self.paths, &slashed(path))
    }

    /// Returns `true` if the list allows a candidate at its paths only if
    /// [`holds_for`](Self::holds_for) returns `true`.
    pub(crate) fn needs_content(&self) -> bool {
        self.condition == Condition::All
    }

    /// Returns `true` if the list allows a candidate wherever it [names the
    /// path](Self::names_path). Call it only after [`allows_content`](Self::allows_content)
    /// returned `false`.
    pub(crate) fn holds_for(&self, input: &AllowlistInput<'_>) -> bool {
        !self.needs_content() || self.content_checks(input).all(|holds| holds)
    }

    /// Returns the results of the checks that do not depend on the path. Kinds of checks without
    /// entries are left out.
    fn content_checks(&self, input: &AllowlistInput<'_>) -> impl Iterator<Item = bool> {
        let target = match self.target {
            RegexTarget::Secret => input.secret,
            RegexTarget::Match => input.whole,
            RegexTarget::Line => input.line,
        };
        let regex = (!self.regexes.is_empty()).then_some(()).into_iter();
        let word = (!self.stopwords.is_empty()).then_some(()).into_iter();
        let has_stopword =
            || self.stopwords.iter().any(|word| contains(input.secret, word.as_bytes()));
        regex.map(move |()| any(&self.regexes, target)).chain(word.map(move |()| has_stopword()))
    }

    pub(crate) fn regexes(&self) -> impl Iterator<Item = &LazyRegex> {
        self.paths.iter().chain(&self.regexes)
    }
}

fn any(regexes: &[LazyRegex], text: &[u8]) -> bool {
    regexes.iter().any(|regex| regex.is_match(text))
}

/// Returns `true` if `text` contains `word`, ignoring ASCII case.
pub(crate) fn contains(text: &[u8], word: &[u8]) -> bool {
    let Some((&first, rest)) = word.split_first() else { return false };
    let Some(last) = text.len().checked_sub(rest.len()) else { return false };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    memchr::memchr2_iter(lower, upper, &text[..last])
        .any(|at| text[at + 1..at + word.len()].eq_ignore_ascii_case(rest))
}

/// Returns a path as rules see it, with `/` between its parts.
pub(crate) fn slashed(path: &Path) -> std::borrow::Cow<'_, [u8]> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if std::path::MAIN_SEPARATOR == '/' {
        bytes.into()
    } else {
        let slash =
            |&byte: &u8| if std::path::is_separator(char::from(byte)) { b'/' } else { byte };
        bytes.iter().map(slash).collect()
    }
}
