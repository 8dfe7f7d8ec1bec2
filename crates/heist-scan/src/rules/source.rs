//! [`Source`]: the text of one file with rules, and where in it something stands.

use super::error::{RuleError, RuleErrorKind, RuleNote, RulePlace};
use super::syntax;
use regex_syntax::hir::Hir;
use std::cell::OnceCell;
use std::path::Path;

/// The largest file with rules, in bytes. Real ones have less than a hundredth of it.
pub(super) const FILE_BYTES_MAX: usize = 16 << 20;

/// The most rules after everything was put together.
pub(super) const RULES_MAX: usize = 10_000;

/// The longest regular expression, in bytes.
pub(super) const REGEX_BYTES_MAX: usize = 64 << 10;

/// One file with rules.
pub(super) struct Source<'t> {
    pub(super) origin: &'t Path,
    pub(super) text: &'t str,
    /// Ours, and checked by tests: expressions need not be parsed to know that they can be.
    pub(super) built_in: bool,
    /// Where lines end; found when the first line number is asked for. A file can have as many notes as it has lines.
    newlines: OnceCell<Vec<usize>>,
}

impl<'t> Source<'t> {
    pub(super) fn new(origin: &'t Path, text: &'t str, built_in: bool) -> Self {
        Self { origin, text, built_in, newlines: OnceCell::new() }
    }

    /// Where the byte at `offset` stands, in whose rule.
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

    /// An expression of the file. One that is not ours is parsed, to know that it can be.
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
        let facts = match self.built_in {
            true => None,
            false => Some(Facts::of(&syntax::parse(&text).map_err(refused)?)),
        };
        Ok(Expression { text, facts })
    }
}

/// A regular expression.
#[derive(Clone)]
pub(super) struct Expression {
    /// In Rust's syntax.
    pub(super) text: String,
    /// Known unless it is a built-in one.
    pub(super) facts: Option<Facts>,
}

/// What is known of an expression when it was parsed.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    /// How many groups it has.
    pub(super) groups: usize,
    /// Its longest match in bytes; `None`: there is none.
    pub(super) longest: Option<usize>,
}

impl Facts {
    pub(super) fn of(hir: &Hir) -> Self {
        let properties = hir.properties();
        Self { groups: properties.explicit_captures_len(), longest: properties.maximum_len() }
    }
}
