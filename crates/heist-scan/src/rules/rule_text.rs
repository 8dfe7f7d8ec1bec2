//! [`RuleText`]: the text of one rule file, and the places in it that errors and notes refer to.

use super::budget::RuleBudget;
use super::error::{RuleError, RuleErrorKind, RuleNote, RulePlace};
use super::syntax;
use regex_syntax::hir::Hir;
use std::cell::OnceCell;
use std::path::Path;

/// The size limit of a rule file, in bytes. Real files are not even a tenth of it.
pub(super) const FILE_BYTES_MAX: usize = 1 << 20;

/// The limit for the number of rules, extended ones included.
pub(super) const RULES_MAX: usize = 4_000;

/// The length limit of a regular expression, in bytes.
const REGEX_BYTES_MAX: usize = 16 << 10;

/// The text of one rule file.
pub(super) struct RuleText<'t> {
    pub(super) origin: &'t Path,
    pub(super) text: &'t str,
    /// `None` for heist's own files. Their expressions are not parsed on loading; the tests check
    /// them.
    pub(super) budget: Option<&'t RuleBudget>,
    /// The offsets of the newlines, computed when the first line number is needed. They are kept
    /// because a file can cause a note on every line, and counting lines anew each time would be
    /// quadratic.
    newlines: OnceCell<Vec<usize>>,
}

impl<'t> RuleText<'t> {
    pub(super) fn new(origin: &'t Path, text: &'t str, budget: Option<&'t RuleBudget>) -> Self {
        Self { origin, text, budget, newlines: OnceCell::new() }
    }

    /// Returns `true` for heist's own files.
    pub(super) fn is_built_in(&self) -> bool {
        self.budget.is_none()
    }

    /// Takes the cost of keywords or stopwords from the budget.
    pub(super) fn charge_words(&self, words: &[String]) -> Result<(), RuleErrorKind> {
        self.budget.map_or(Ok(()), |budget| budget.add_words(words))
    }

    /// Returns the place of the byte at `offset`, which belongs to `rule`.
    pub(super) fn place(&self, offset: usize, rule: Option<&str>) -> RulePlace {
        let newlines = self
            .newlines
            .get_or_init(|| memchr::memchr_iter(b'\n', self.text.as_bytes()).collect());
        RulePlace {
            origin: Some(self.origin.to_owned()),
            rule: rule.map(str::to_owned),
            line: Some(newlines.partition_point(|&newline| newline < offset) + 1),
        }
    }

    pub(super) fn error(
        &self,
        kind: RuleErrorKind,
        offset: usize,
        rule: Option<&str>,
    ) -> RuleError {
        RuleError { kind, place: self.place(offset, rule) }
    }

    pub(super) fn note(
        &self,
        text: impl Into<String>,
        offset: usize,
        rule: Option<&str>,
    ) -> RuleNote {
        RuleNote { text: text.into(), place: self.place(offset, rule) }
    }

    /// Translates an expression of the file to Rust's syntax and, unless the file is built in,
    /// parses it to make sure that it is valid and within the budget.
    pub(super) fn regex(
        &self,
        field: &'static str,
        pattern: &str,
    ) -> Result<Expression, RuleErrorKind> {
        if pattern.len() > REGEX_BYTES_MAX {
            return Err(RuleErrorKind::TooLarge {
                what: "a regular expression",
                unit: "bytes",
                size: pattern.len(),
                limit: REGEX_BYTES_MAX,
            });
        }
        let refused = |error: syntax::SyntaxError| RuleErrorKind::Regex { field, problem: error.0 };
        let text = syntax::translate(pattern).map_err(refused)?.into_owned();
        let facts = match self.budget {
            None => None,
            Some(budget) => {
                budget.check_time()?;
                let hir = syntax::parse(&text).map_err(refused)?;
                let states = budget.add_expression(&hir)?;
                Some(RegexFacts { states, ..RegexFacts::of(&hir) })
            }
        };
        Ok(Expression { text, facts })
    }
}

impl RuleText<'_> {
    /// Like [`regex`](Self::regex), for an expression of an allowlist on secrets and lines. Returns
    /// its text.
    pub(super) fn allowed_regex(
        &self,
        field: &'static str,
        pattern: &str,
    ) -> Result<String, RuleErrorKind> {
        self.charged_regex(field, pattern, RuleBudget::add_allowed_states)
    }

    /// Like [`regex`](Self::regex), for an expression on paths. Returns its text.
    pub(super) fn path_regex(
        &self,
        field: &'static str,
        pattern: &str,
    ) -> Result<String, RuleErrorKind> {
        self.charged_regex(field, pattern, RuleBudget::add_path_states)
    }

    /// Like [`regex`](Self::regex), but `charge` also takes the states of the expression from the
    /// budget for its kind. Returns its text.
    fn charged_regex(
        &self,
        field: &'static str,
        pattern: &str,
        charge: impl FnOnce(&RuleBudget, usize) -> Result<(), RuleErrorKind>,
    ) -> Result<String, RuleErrorKind> {
        let Expression { text, facts } = self.regex(field, pattern)?;
        if let (Some(budget), Some(facts)) = (self.budget, facts) {
            charge(budget, facts.states)?;
        }
        Ok(text)
    }
}

/// A regular expression from a rule file.
#[derive(Clone)]
pub(super) struct Expression {
    /// The expression in Rust's syntax.
    pub(super) text: String,
    /// `None` for built-in expressions, which are not parsed on loading.
    pub(super) facts: Option<RegexFacts>,
}

/// What parsing an expression reveals about it.
#[derive(Clone, Copy)]
pub(super) struct RegexFacts {
    /// The number of capture groups.
    pub(super) groups: usize,
    /// The length of its longest match in bytes; `None` if matches can be arbitrarily long.
    pub(super) longest: Option<usize>,
    /// The estimated number of its states, or 0 if it comes from another rule.
    pub(super) states: usize,
}

impl RegexFacts {
    pub(super) fn of(hir: &Hir) -> Self {
        let properties = hir.properties();
        Self {
            groups: properties.explicit_captures_len(),
            longest: properties.maximum_len(),
            states: 0,
        }
    }
}
