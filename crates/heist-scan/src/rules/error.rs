//! [`RuleError`] and [`RuleNote`]: what is wrong with rules, and what is only worth knowing. Both say where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why rules cannot be used: what is wrong, in which file, rule and line as far as that is known, and what to do.
#[derive(Debug)]
pub struct RuleError {
    /// What is wrong.
    pub kind: RuleErrorKind,
    /// In which place.
    pub place: RulePlace,
}

/// Where in the rules something is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePlace {
    /// The file, or what stands for one.
    pub origin: Option<PathBuf>,
    /// The rule's name.
    pub rule: Option<String>,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
}

/// What can be wrong with rules.
#[derive(Debug)]
#[non_exhaustive]
pub enum RuleErrorKind {
    /// The file cannot be read.
    Read(io::Error),
    /// The file is no text in UTF-8.
    NotText,
    /// The file is no TOML, or a value has the wrong type.
    Toml(String),
    /// Something is larger than it may be.
    TooLarge {
        /// What it is.
        what: &'static str,
        /// What its size is counted in.
        unit: &'static str,
        /// How large it is.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// A rule has no name.
    NoId,
    /// A rule says nothing about what it looks for, or two things at once.
    Pattern(&'static str),
    /// A field has a value that it cannot have.
    Value {
        /// The field, as it is written in the file.
        field: &'static str,
        /// What is wrong with it, and what it may be.
        problem: String,
    },
    /// A regular expression that cannot be used.
    Regex {
        /// The field, as it is written in the file.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// `extend.url`: rules are never fetched.
    Network(String),
    /// A name of a rule, or a pattern for names, that no rule has.
    UnknownRule {
        /// The name.
        name: String,
        /// The nearest that there is.
        nearest: Option<String>,
    },
}

impl RuleError {
    /// With no place yet.
    #[must_use]
    pub fn new(kind: RuleErrorKind) -> Self {
        Self { kind, place: RulePlace::default() }
    }

    /// In this file.
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
            Self::Read(error) => write!(f, "the rules cannot be read: {error}"),
            Self::NotText => write!(f, "the file is not in UTF-8; save it as UTF-8"),
            Self::Toml(problem) => write!(f, "{}", problem.trim_end()),
            Self::TooLarge { what, unit, size, limit } => {
                write!(
                    f,
                    "{what} with {size} {unit} is too large: at most {limit}; split it or leave something out"
                )
            }
            Self::NoId => write!(f, "the rule has no `id`; give it a name of its own"),
            Self::Pattern(problem) => f.write_str(problem),
            Self::Value { field, problem } => write!(f, "`{field}`: {problem}"),
            Self::Regex { field, problem } => {
                write!(
                    f,
                    "`{field}` is no regular expression that can be used: {}",
                    problem.trim_end()
                )
            }
            Self::Network(url) => write!(
                f,
                "`extend.url` ({url}) is not fetched, as nothing is ever taken from the network; download the file and \
                 name it by `extend.path`"
            ),
            Self::UnknownRule { name, nearest: Some(nearest) } => {
                write!(f, "no rule is called {name:?}; is it {nearest:?}?")
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

/// Something about loaded rules that is worth knowing, but no error: they are used all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleNote {
    /// What it is.
    pub text: String,
    /// In which place.
    pub place: RulePlace,
}

impl fmt::Display for RuleNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.text)
    }
}
