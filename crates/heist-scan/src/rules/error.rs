//! [`RuleError`] stops the loading of rules; [`RuleNote`] only points something out. Both say
//! where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error in a rule file: what is wrong, what to do about it, and the file, line and rule as far
/// as they are known.
#[derive(Debug)]
#[non_exhaustive]
pub struct RuleError {
    /// What is wrong.
    pub kind: RuleErrorKind,
    /// Where it is wrong.
    pub place: RulePlace,
}

/// A location in a rule file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RulePlace {
    /// The file, or the name that the caller gave to the text.
    pub origin: Option<PathBuf>,
    /// The rule's `id`.
    pub rule: Option<String>,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
}

/// The ways in which rules can be wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum RuleErrorKind {
    /// The file could not be read.
    Read(io::Error),
    /// The file is not UTF-8 text.
    NotText,
    /// The file is not valid TOML.
    Toml(String),
    /// Something exceeds its size limit.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The unit of `size` and `limit`.
        unit: &'static str,
        /// The actual size.
        size: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// The deadline passed while the rules were loaded.
    OutOfTime,
    /// A rule has no `id`.
    NoId,
    /// A rule has no pattern, or more than one.
    Pattern(&'static str),
    /// A field has a value that it does not accept.
    Value {
        /// The field, as rule files spell it.
        field: &'static str,
        /// What is wrong with the value, and what the field accepts.
        problem: String,
    },
    /// A field holds a regular expression that heist cannot use.
    Regex {
        /// The field, as rule files spell it.
        field: &'static str,
        /// What is wrong with the expression.
        problem: String,
    },
    /// The file sets `extend.url`, but heist never fetches rules from the network.
    Network(String),
    /// A rule name, or a pattern for names, that matches no rule.
    UnknownRule {
        /// The name as it was given.
        name: String,
        /// The most similar name that exists.
        nearest: Option<String>,
    },
}

impl RuleError {
    /// Creates an error without a place.
    #[must_use]
    pub fn new(kind: RuleErrorKind) -> Self {
        Self { kind, place: RulePlace::default() }
    }

    /// Sets the file, unless the error already names one.
    #[must_use]
    pub fn in_file(mut self, origin: impl AsRef<Path>) -> Self {
        self.place.origin.get_or_insert_with(|| origin.as_ref().to_owned());
        self
    }
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.origin, self.line) {
            (Some(origin), Some(line)) => write!(f, "{}:{line}: ", origin.display())?,
            (Some(origin), None) => write!(f, "{}: ", origin.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        if let Some(rule) = &self.rule {
            write!(f, "rule {rule:?}: ")?;
        }
        Ok(())
    }
}

impl fmt::Display for RuleErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot read the rule file: {error}"),
            Self::NotText => write!(f, "the rule file is not UTF-8 text; save it as UTF-8"),
            Self::Toml(problem) => write!(f, "invalid TOML: {}", problem.trim_end()),
            Self::TooLarge { what, unit, size, limit } => {
                write!(
                    f,
                    "{what} of {size} {unit} is too large: the limit is {limit}; split or shorten it"
                )
            }
            Self::OutOfTime => {
                write!(f, "loading the rules took too long; allow more time or use fewer rules")
            }
            Self::NoId => write!(f, "the rule has no `id`; give it a unique name"),
            Self::Pattern(problem) => f.write_str(problem),
            Self::Value { field, problem } => write!(f, "`{field}`: {problem}"),
            Self::Regex { field, problem } => {
                write!(f, "`{field}` is not a usable regular expression: {}", problem.trim_end())
            }
            Self::Network(url) => write!(
                f,
                "`extend.url` ({url}) is not supported: heist never fetches rules from the network; \
                 download the file and set `extend.path` to it"
            ),
            Self::UnknownRule { name, nearest: Some(nearest) } => {
                write!(f, "no rule is called {name:?}; did you mean {nearest:?}?")
            }
            Self::UnknownRule { name, nearest: None } => write!(f, "no rule is called {name:?}"),
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.kind)
    }
}

impl std::error::Error for RuleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            RuleErrorKind::Read(error) => Some(error),
            _ => None,
        }
    }
}

/// A remark about loaded rules. It is not an error: heist uses the rules anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleNote {
    /// The remark.
    pub text: String,
    /// Where the remark applies.
    pub place: RulePlace,
}

impl fmt::Display for RuleNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.text)
    }
}
