//! The types that describe rules: plain data, as loading leaves it. Nothing is compiled here.
//!
//! Loading establishes these invariants; code that fills in the fields itself must keep them:
//! - regular expressions use Rust's syntax, even if the file used Go's, and match bytes, with
//!   Unicode off;
//! - keywords are lower case;
//! - a rule with [`Pattern::Path`] has a `path`.

use crate::checksum::Checksum;
use crate::confidence::Confidence;
use std::fmt;
use std::str::FromStr;

/// The longest match, in bytes, of a rule that does not set `maxLength`. It fits a long token with
/// its surroundings, and is short enough to carry over from one chunk to the next.
pub const MAX_LENGTH_DEFAULT: usize = 4096;

/// The shortest keyword worth searching for: shorter ones occur almost everywhere.
pub(crate) const KEYWORD_BYTES_MIN: usize = 3;

/// The advice for a finding whose rule does not set `remedy`.
pub const REMEDY_DEFAULT: &str = "Revoke the secret where it was issued and create a new one; remove it \
                                  from the file and keep it in a secret store or the environment.";

/// A rule: what one kind of secret looks like, and what to report about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// The rule's name: lower-case letters, digits and hyphens.
    pub id: String,
    /// What the rule finds, in one sentence.
    pub description: String,
    /// The advice that is shown with a finding.
    pub remedy: String,
    /// What the rule searches for.
    pub pattern: Pattern,
    /// Lower-case words, one of which must occur near every match (ASCII case is ignored). If the
    /// list is empty, the rule is tried everywhere.
    pub keywords: Vec<String>,
    /// A regular expression that the [path](crate::Chunk::path) must match. Paths use `/` as the
    /// separator on every system.
    pub path: Option<String>,
    /// The group of the pattern that holds the secret. `None` means the first group that is not
    /// empty, or the whole match if there is none.
    pub secret_group: Option<usize>,
    /// The minimum Shannon entropy of the secret, in bits per byte.
    pub entropy: Option<f64>,
    /// The maximum length of a match, in bytes.
    pub max_length: usize,
    /// The confidence of a match that no later check raises or lowers.
    pub confidence: Confidence,
    /// The checksum inside the secret. A right checksum makes the match certain; a wrong one
    /// discards it.
    pub checksum: Option<Checksum>,
    /// Matches that are not findings of this rule.
    pub allowlists: Vec<Allowlist>,
    /// Labels of the author's choice; heist only shows them.
    pub tags: Vec<String>,
    /// Texts in which the rule finds its secret. `{secret}` stands for a generated secret.
    pub examples: Vec<String>,
    /// Texts in which the rule finds nothing. `{secret}` stands for a generated secret, `{wrong}`
    /// for a secret of the right form with a wrong checksum.
    pub counter_examples: Vec<String>,
    /// `true` for the noisy rules that can be switched off together.
    pub generic: bool,
    /// `true` if what the rule finds is not a secret but identifies one, such as the ID of a key.
    /// Reports show it in full, because it is needed to revoke the secret.
    pub identifier: bool,
}

impl Rule {
    /// Creates a rule with the given name and pattern, and defaults for everything else.
    #[must_use]
    pub fn new(id: impl Into<String>, pattern: Pattern) -> Self {
        Self {
            id: id.into(),
            description: String::new(),
            remedy: REMEDY_DEFAULT.to_owned(),
            pattern,
            keywords: Vec::new(),
            path: None,
            secret_group: None,
            entropy: None,
            max_length: MAX_LENGTH_DEFAULT,
            confidence: Confidence::Medium,
            checksum: None,
            allowlists: Vec::new(),
            tags: Vec::new(),
            examples: Vec::new(),
            counter_examples: Vec::new(),
            generic: false,
            identifier: false,
        }
    }
}

/// What a rule searches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A regular expression on bytes.
    Regex(String),
    /// `key <operator> value`: the key contains a keyword, and the whole value matches this regular
    /// expression.
    Assignment(String),
    /// A detector written in Rust instead of a regular expression.
    Parser(ParserKind),
    /// Only the path: a file whose path matches is itself the finding.
    Path,
}

/// The detectors that are written in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ParserKind {
    /// A random value assigned to a name that sounds secret.
    GenericSecret,
    /// A password in a configuration file.
    Password,
    /// `scheme://user:password@host`.
    UrlCredentials,
    /// A JSON Web Token.
    Jwt,
    /// A PEM private key.
    PrivateKey,
    /// A connection string of a database or a message queue.
    ConnectionString,
}

impl ParserKind {
    /// Every detector.
    pub const ALL: [Self; 6] = [
        Self::GenericSecret,
        Self::Password,
        Self::UrlCredentials,
        Self::Jwt,
        Self::PrivateKey,
        Self::ConnectionString,
    ];

    /// Returns the name that rule files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GenericSecret => "generic-secret",
            Self::Password => "password",
            Self::UrlCredentials => "url-credentials",
            Self::Jwt => "jwt",
            Self::PrivateKey => "private-key",
            Self::ConnectionString => "connection-string",
        }
    }
}

impl fmt::Display for ParserKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a `detector` name that heist does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownParserKind(pub String);

impl fmt::Display for UnknownParserKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a detector; use one of:", self.0)?;
        for (index, kind) in ParserKind::ALL.into_iter().enumerate() {
            write!(f, "{} {kind}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownParserKind {}

impl FromStr for ParserKind {
    type Err = UnknownParserKind;

    fn from_str(text: &str) -> Result<Self, UnknownParserKind> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| UnknownParserKind(text.to_owned()))
    }
}

/// Matches that are not findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowlist {
    /// Why these matches are harmless.
    pub description: String,
    /// Whether one kind of check is enough, or all of them must hold.
    pub condition: Condition,
    /// Regular expressions on the [path](crate::Chunk::path).
    pub paths: Vec<String>,
    /// Regular expressions on the text that `regex_target` selects.
    pub regexes: Vec<String>,
    /// The text that `regexes` are tried on.
    pub regex_target: RegexTarget,
    /// Lower-case words. A secret that contains one of them (ASCII case is ignored) is not a
    /// finding.
    pub stopwords: Vec<String>,
}

/// How an [`Allowlist`] combines its checks. A kind of check without entries does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// One kind of check is enough.
    #[default]
    Any,
    /// Every kind of check must hold, each by at least one of its entries.
    All,
}

/// The text that the regular expressions of an [`Allowlist`] are tried on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegexTarget {
    /// The secret.
    #[default]
    Secret,
    /// Everything the rule matched.
    Match,
    /// The line that contains the match.
    Line,
}

/// A set of rules, with the allowlists that apply to all of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RuleSet {
    /// The rules, in the order of their files.
    pub rules: Vec<Rule>,
    /// Allowlists that apply to every rule.
    pub allowlists: Vec<Allowlist>,
}

impl RuleSet {
    /// Creates a set of these rules, without allowlists that apply to all of them.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), allowlists: Vec::new() }
    }
}
