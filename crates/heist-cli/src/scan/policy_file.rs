//! [`PolicyFile`]: the contents of a policy, and [`PolicyError`]: why a file is not one.
//!
//! Invariant: nothing in a policy is ignored. A key that heist does not know, from a newer heist or
//! a typing error, would otherwise be a demand without effect.

use super::arguments::parse_confidence;
use crate::error::one_line;
use crate::escape;
use heist_scan::rules::RuleSet;
use heist_scan::{Confidence, UnknownConfidence};
use std::fmt;
use std::path::{Component, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a policy can forbid: options that make a scan report less, and three means of the tree that
/// are not options.
pub(crate) const CAN_FORBID: [&str; 14] = [
    "rules",
    "only",
    "except",
    "no-generic",
    "no-decode",
    "exclude",
    "gitignore",
    "no-hidden",
    "max-size",
    "one-file-system",
    "baseline",
    "comments",
    "gitleaksignore",
    "tree-config",
];

/// The contents of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyFile {
    /// Findings of this confidence are reported, and of any higher one.
    pub(crate) confidence: Option<Confidence>,
    /// The ids of rules that must run, which may contain `*`.
    pub(crate) rules: Vec<String>,
    /// Paths in the project that no filter may leave out.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) untrusted: bool,
    pub(crate) fail_on_hidden: bool,
    /// Some of [`CAN_FORBID`].
    pub(crate) forbid: Vec<String>,
}

/// Why a file is not a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyError {
    pub(crate) line: Option<usize>,
    pub(crate) key: Option<String>,
    pub(crate) problem: PolicyProblem,
}

/// What is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PolicyProblem {
    NotUtf8,
    /// It is not TOML.
    Toml(String),
    UnknownKey,
    /// The value has another type.
    Expected(&'static str),
    Confidence(UnknownConfidence),
    /// A policy cannot forbid this.
    CannotForbid(String),
    /// A rule id is unknown; the text says what is near.
    Rule(String),
    /// It is absolute, or leads out of the project.
    NotInProject(String),
}

impl PolicyError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> String {
        match &self.problem {
            PolicyProblem::UnknownKey => {
                "the keys are `confidence`, `rules`, `paths`, `untrusted`, `fail-on-hidden` and \
                 `forbid`"
                    .to_owned()
            }
            PolicyProblem::CannotForbid(_) => format!("it can forbid: {}", CAN_FORBID.join(", ")),
            PolicyProblem::Rule(_) => "`heist rules list` shows the built-in rules".to_owned(),
            PolicyProblem::NotInProject(_) => {
                "write paths as they are below the project root".to_owned()
            }
            _ => "correct the policy; heist does not scan without it".to_owned(),
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "`{}`: ", one_line(key))?;
        }
        match &self.problem {
            PolicyProblem::NotUtf8 => f.write_str("it is not UTF-8"),
            PolicyProblem::Toml(text) | PolicyProblem::Rule(text) => f.write_str(&one_line(text)),
            PolicyProblem::UnknownKey => f.write_str("unknown key"),
            PolicyProblem::Expected(what) => write!(f, "expected {what}"),
            PolicyProblem::Confidence(error) => {
                write!(f, "{}", escape::visible(&error.to_string()))
            }
            PolicyProblem::CannotForbid(name) => {
                write!(f, "a policy cannot forbid `{}`", one_line(name))
            }
            PolicyProblem::NotInProject(path) => {
                write!(f, "'{}' is not a path in the project", one_line(path))
            }
        }
    }
}

impl std::error::Error for PolicyError {}

impl PolicyFile {
    /// Parses a policy.
    ///
    /// # Errors
    /// It is not a policy, or contains anything that heist does not know.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, PolicyError> {
        let text = std::str::from_utf8(bytes).map_err(|_| PolicyError {
            line: None,
            key: None,
            problem: PolicyProblem::NotUtf8,
        })?;
        let line = |at: usize| Some(1 + text[..at].matches('\n').count());
        let table = DeTable::parse(text).map_err(|error| PolicyError {
            line: error.span().and_then(|span| line(span.start)),
            key: None,
            problem: PolicyProblem::Toml(error.message().to_owned()),
        })?;
        let mut policy = Self::default();
        for (key, value) in table.get_ref() {
            policy.set(key.get_ref(), value).map_err(|(at, problem)| PolicyError {
                line: line(at.unwrap_or(key.span().start)),
                key: Some(key.get_ref().to_string()),
                problem,
            })?;
        }
        Ok(policy)
    }

    /// Sets a key. The error says where the problem is, if it is not the key.
    fn set(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), (Option<usize>, PolicyProblem)> {
        let expected = |what| (None, PolicyProblem::Expected(what));
        let flag = || value.get_ref().as_bool().ok_or(expected("true or false"));
        match key {
            "confidence" => {
                let level = value.get_ref().as_str().ok_or(expected("a string"))?;
                let level = parse_confidence(level);
                self.confidence =
                    Some(level.map_err(|error| (None, PolicyProblem::Confidence(error)))?);
            }
            "rules" => {
                self.rules = texts(value, |id| {
                    let known = RuleSet::builtin().only(&[id.to_owned()]);
                    known.map_err(|error| PolicyProblem::Rule(error.kind.to_string()))?;
                    Ok(id.to_owned())
                })?;
            }
            "paths" => self.paths = texts(value, path_in_project)?,
            "untrusted" => self.untrusted = flag()?,
            "fail-on-hidden" => self.fail_on_hidden = flag()?,
            "forbid" => {
                self.forbid = texts(value, |name| match CAN_FORBID.contains(&name) {
                    true => Ok(name.to_owned()),
                    false => Err(PolicyProblem::CannotForbid(name.to_owned())),
                })?;
            }
            _ => return Err((None, PolicyProblem::UnknownKey)),
        }
        Ok(())
    }
}

/// Returns a path without `.` and `..`. An empty one is the whole project.
fn path_in_project(text: &str) -> Result<PathBuf, PolicyProblem> {
    let mut path = PathBuf::new();
    for component in std::path::Path::new(text).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            _ => return Err(PolicyProblem::NotInProject(text.to_owned())),
        }
    }
    Ok(path)
}

/// Reads a list of strings. The error says where the problem is.
fn texts<T>(
    value: &Spanned<DeValue<'_>>,
    read: impl Fn(&str) -> Result<T, PolicyProblem>,
) -> Result<Vec<T>, (Option<usize>, PolicyProblem)> {
    let expected = || PolicyProblem::Expected("a list of strings");
    let values = value.get_ref().as_array().ok_or_else(|| (None, expected()))?;
    let text = |value: &Spanned<DeValue<'_>>| {
        let read = value.get_ref().as_str().ok_or_else(expected).and_then(&read);
        read.map_err(|problem| (Some(value.span().start), problem))
    };
    values.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::{PolicyError, PolicyFile};
    use heist_scan::Confidence;
    use std::path::Path;

    fn parse(text: &str) -> Result<PolicyFile, PolicyError> {
        PolicyFile::parse(text.as_bytes())
    }

    #[test]
    fn every_key_is_read() {
        let policy = parse(
            "confidence = 'high'\nrules = ['aws-*', 'private-key']\npaths = ['./deploy/', 'a/b']\n\
             untrusted = true\nfail-on-hidden = true\nforbid = ['comments', 'tree-config']",
        )
        .expect("valid");
        assert_eq!(policy.confidence, Some(Confidence::High));
        assert_eq!(policy.rules, ["aws-*", "private-key"]);
        assert_eq!(policy.paths, [Path::new("deploy"), Path::new("a/b")]);
        assert!(policy.untrusted && policy.fail_on_hidden);
        assert_eq!(policy.forbid, ["comments", "tree-config"]);
        assert_eq!(parse(""), Ok(PolicyFile::default()));
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        for (text, expected) in [
            ("\n= 1", "line 2: "),
            ("\nnosuch = 1", "line 2: `nosuch`: unknown key"),
            ("[rules]\nfiles = []", "line 1: `rules`: expected a list of strings"),
            ("a = 1\na = 2", "line 2: "),
            ("confidence = 'sure'", "line 1: `confidence`: "),
            ("confidence = 3", "line 1: `confidence`: expected a string"),
            ("untrusted = 1", "`untrusted`: expected true or false"),
            ("fail-on-hidden = ''", "`fail-on-hidden`: expected true or false"),
            ("rules = 'jwt'", "`rules`: expected a list of strings"),
            ("rules = [\n'jwt',\n'nosuch']", "line 3: `rules`: "),
            ("forbid = [1]", "`forbid`: expected a list of strings"),
            ("forbid = ['threads']", "`forbid`: a policy cannot forbid `threads`"),
            ("paths = ['a', '../b']", "`paths`: '../b' is not a path in the project"),
            ("paths = ['/b']", "`paths`: '/b' is not a path in the project"),
            ("\"a\\u001b\" = 1", "`a\\x1b`"),
        ] {
            let error = parse(text).expect_err("not valid").to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = PolicyFile::parse(b"\xff").expect_err("not valid").to_string();
        assert_eq!(error, "it is not UTF-8");
    }
}
