//! [`Allow`]: what a rule, or all rules, do not report though it matches.

use super::pattern::LazyRegex;
use crate::rules::{Allowlist, Condition, RegexTarget};
use std::path::Path;

/// An [`Allowlist`], ready to be asked.
#[derive(Debug)]
pub(crate) struct Allow {
    condition: Condition,
    paths: Vec<LazyRegex>,
    regexes: Vec<LazyRegex>,
    target: RegexTarget,
    stopwords: Vec<String>,
}

/// What a match shows to an allowlist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) path: &'a Path,
    pub(crate) secret: &'a [u8],
    pub(crate) whole: &'a [u8],
    pub(crate) line: &'a [u8],
}

impl Allow {
    pub(crate) fn new(list: &Allowlist) -> Self {
        let lazily = |patterns: &[String]| patterns.iter().map(LazyRegex::new).collect();
        Self {
            condition: list.condition,
            paths: lazily(&list.paths),
            regexes: lazily(&list.regexes),
            target: list.regex_target,
            stopwords: list.stopwords.clone(),
        }
    }

    /// Whether it is about paths alone, and has this one: then the object need not be opened.
    pub(crate) fn has_path_alone(&self, path: &Path) -> bool {
        let alone = self.condition == Condition::Any
            || self.regexes.is_empty() && self.stopwords.is_empty();
        alone && any(&self.paths, &slashed(path))
    }

    /// Whether a match is allowed.
    pub(crate) fn has(&self, shown: &Shown<'_>) -> bool {
        let target = match self.target {
            RegexTarget::Secret => shown.secret,
            RegexTarget::Match => shown.whole,
            RegexTarget::Line => shown.line,
        };
        // A kind of check that has no entries does not count.
        let path = (!self.paths.is_empty()).then(|| any(&self.paths, &slashed(shown.path)));
        let regex = (!self.regexes.is_empty()).then(|| any(&self.regexes, target));
        let word = (!self.stopwords.is_empty())
            .then(|| self.stopwords.iter().any(|word| contains(shown.secret, word.as_bytes())));
        let mut verdicts = [path, regex, word].into_iter().flatten().peekable();
        match self.condition {
            Condition::Any => verdicts.any(|holds| holds),
            Condition::All => verdicts.peek().is_some() && verdicts.all(|holds| holds),
        }
    }

    pub(crate) fn regexes(&self) -> impl Iterator<Item = &LazyRegex> {
        self.paths.iter().chain(&self.regexes)
    }
}

fn any(regexes: &[LazyRegex], text: &[u8]) -> bool {
    regexes.iter().any(|regex| regex.is_match(text))
}

/// Whether `text` contains `word`, which is in lower case, in whatever ASCII case.
pub(crate) fn contains(text: &[u8], word: &[u8]) -> bool {
    !word.is_empty() && text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// A path as rules see it: `/` between its parts.
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
