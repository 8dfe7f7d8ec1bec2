//! What a rule is: plain data, as it is after loading. Nothing is compiled here.
//!
//! Invariants of a set that was loaded (whoever fills in the fields has to see to them):
//! - regular expressions have Rust's syntax, whatever the file had; they are meant for bytes, without Unicode;
//! - keywords are in lower case;
//! - a rule with [`Pattern::Path`] has a path.

use crate::checksum::Checksum;
use crate::confidence::Confidence;
use std::fmt;
use std::str::FromStr;

/// The longest match of a rule that does not say otherwise, in bytes: a long token with its surroundings, and little
/// enough to keep at a chunk's border.
pub const MAX_LENGTH_DEFAULT: usize = 4096;

/// Shorter keywords are nearly everywhere.
pub(crate) const KEYWORD_BYTES_MIN: usize = 3;

/// What to do about a finding whose rule has nothing better to say.
pub const REMEDY_DEFAULT: &str = "Revoke the secret where it was issued and make a new one; take it out of the file \
                                  and keep it in a secret store or the environment instead.";

/// What one kind of secret looks like, and what to say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name: lower-case letters, digits and hyphens.
    pub id: String,
    /// What it finds, in a few words.
    pub description: String,
    /// What to do about a finding.
    pub remedy: String,
    /// What is looked for.
    pub pattern: Pattern,
    /// In lower case; one of them is near every match, in whatever ASCII case. None: every place is looked at.
    pub keywords: Vec<String>,
    /// A regular expression on the [path](crate::Chunk::path), with `/` between its parts.
    pub path: Option<String>,
    /// Which group of the pattern is the secret. `None`: the first that is not empty, else the whole match.
    pub secret_group: Option<usize>,
    /// The least Shannon entropy of the secret, in bits per byte.
    pub entropy: Option<f64>,
    /// The longest match, in bytes.
    pub max_length: usize,
    /// How sure a match is that nothing speaks against.
    pub confidence: Confidence,
    /// If it holds, the match is certain; if it does not, there is no match.
    pub checksum: Option<Checksum>,
    /// What is no finding of this rule.
    pub allowlists: Vec<Allowlist>,
    /// Free words.
    pub tags: Vec<String>,
    /// Texts in which the rule finds its secret; `{secret}` stands for a generated one.
    pub examples: Vec<String>,
    /// Texts in which the rule finds nothing; `{secret}` and `{wrong}` (the right form with a wrong checksum) stand for
    /// generated ones.
    pub counter_examples: Vec<String>,
    /// Of the noisy kinds that can be switched off together.
    pub generic: bool,
}

impl Rule {
    /// A rule with nothing but a name and a pattern, and defaults for the rest.
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
        }
    }
}

/// What a rule looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A regular expression on bytes.
    Regex(String),
    /// `key <operator> value`: a keyword is in the key, and the whole value matches this regular expression.
    Assignment(String),
    /// A hand-written detector.
    Parser(ParserKind),
    /// The path alone.
    Path,
}

/// The detectors that are written by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParserKind {
    /// A random value that is assigned to a name which says that it is secret.
    GenericSecret,
    /// A password in a configuration.
    Password,
    /// `scheme://user:password@host`.
    UrlCredentials,
    /// A JSON Web Token.
    Jwt,
    /// A private key in PEM.
    PrivateKey,
    /// The connection string of a database or a queue.
    ConnectionString,
}

impl ParserKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::GenericSecret,
        Self::Password,
        Self::UrlCredentials,
        Self::Jwt,
        Self::PrivateKey,
        Self::ConnectionString,
    ];

    /// As it is written in rules.
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

/// A word that is no hand-written detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownParserKind(pub String);

impl fmt::Display for UnknownParserKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no detector:", self.0)?;
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

/// What is no finding, though it matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowlist {
    /// Why.
    pub description: String,
    /// Whether one of the kinds of checks below is enough.
    pub condition: Condition,
    /// Regular expressions on the [path](crate::Chunk::path).
    pub paths: Vec<String>,
    /// Regular expressions on what `regex_target` says.
    pub regexes: Vec<String>,
    /// What `regexes` are tried on.
    pub regex_target: RegexTarget,
    /// In lower case: a secret with one of them in it, in whatever ASCII case, is none.
    pub stopwords: Vec<String>,
}

/// How the checks of an [`Allowlist`] are combined. A kind of check that has no entries does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// One kind is enough.
    #[default]
    Any,
    /// Each kind has to hold, by one of its entries.
    All,
}

/// What the regular expressions of an [`Allowlist`] are tried on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RegexTarget {
    /// The secret.
    #[default]
    Secret,
    /// Everything that the rule matched.
    Match,
    /// The line that it stands in.
    Line,
}

/// Rules, and what is no finding of any of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSet {
    /// In the order of their files.
    pub rules: Vec<Rule>,
    /// For all rules.
    pub allowlists: Vec<Allowlist>,
}
