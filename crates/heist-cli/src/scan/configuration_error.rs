//! [`ConfigurationError`]: why a configuration file is not valid, and what to do about it.

use super::arguments::{DurationError, InvalidThreads};
use crate::error::one_line;
use crate::escape;
use crate::units::SizeError;
use heist_scan::UnknownConfidence;
use std::fmt;

/// Why a configuration file is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    /// The file is not UTF-8.
    NotUtf8,
    /// The file is not TOML.
    Toml { line: Option<usize>, message: String },
    /// A key is unknown, or its value cannot be used.
    Key { key: String, problem: KeyProblem },
}

impl ConfigurationError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> String {
        let text = match self {
            Self::Key { problem: KeyProblem::UnknownKey, .. } => {
                "the keys are the long options of `heist scan`, without the dashes"
            }
            Self::Key { problem: KeyProblem::UnknownRulesKey(_), .. } => {
                "the keys of `rules` are `files`, `only` and `except`"
            }
            Self::Key { problem: KeyProblem::OppositeIsSet, .. } => "remove one of the two keys",
            Self::Key { key, problem: KeyProblem::CommandLineOnly } => {
                return format!("remove it, and give --{key} on the command line");
            }
            _ => "correct the file, or give --no-config to scan without it",
        };
        text.to_owned()
    }
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("it is not UTF-8"),
            Self::Toml { line: Some(line), message } => {
                write!(f, "line {line}: {}", one_line(message))
            }
            Self::Toml { line: None, message } => f.write_str(&one_line(message)),
            Self::Key { key, problem } => write!(f, "`{}`: {problem}", one_line(key)),
        }
    }
}

impl std::error::Error for ConfigurationError {}

/// What is wrong with a key or its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyProblem {
    /// `heist.toml` does not have this key.
    UnknownKey,
    /// The table `rules` does not have this key.
    UnknownRulesKey(String),
    /// The option works only on the command line.
    CommandLineOnly,
    /// The file also sets the opposite of this flag.
    OppositeIsSet,
    /// The value has another type than `expected`.
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    /// The value is not one of the `expected` ones.
    UnknownValue {
        expected: &'static str,
    },
    Confidence(UnknownConfidence),
    Size(SizeError),
    /// The size is negative.
    Negative,
    Duration(DurationError),
    Threads(InvalidThreads),
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey => f.write_str("unknown key"),
            Self::UnknownRulesKey(key) => write!(f, "unknown key `{}`", one_line(key)),
            Self::CommandLineOnly => f.write_str("this option works only on the command line"),
            Self::OppositeIsSet => f.write_str("the file also contains the opposite key"),
            Self::WrongType { expected, found } => {
                let is_vowel = found.starts_with(['a', 'e', 'i', 'o', 'u']);
                write!(
                    f,
                    "expected {expected}, found {} {found}",
                    if is_vowel { "an" } else { "a" }
                )
            }
            Self::UnknownValue { expected } => write!(f, "expected {expected}"),
            Self::Confidence(error) => write!(f, "{}", escape::visible(&error.to_string())),
            Self::Size(error) => error.fmt(f),
            Self::Negative => f.write_str("the size must not be negative"),
            Self::Duration(error) => error.fmt(f),
            Self::Threads(error) => error.fmt(f),
        }
    }
}
