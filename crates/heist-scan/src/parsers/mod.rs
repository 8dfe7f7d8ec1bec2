//! Parsers for secrets that regular expressions cannot find well: assignments, passwords,
//! credentials in URLs, connection strings, JSON Web Tokens and private keys.
//!
//! | file | idea |
//! |---|---|
//! | `assignment`, `operator`, `name`, `value` | key, operator, value: the one parser for all notations |
//! | `value_finder` | the same for many positions of one text |
//! | `key_words` | whether a key's words name a secret |
//! | `words` | lists of words |
//! | `shape` | classes of characters in a value, identifiers, placeholders |
//! | `generic`, `password` | values of assignments |
//! | `url`, `url_credentials`, `connection` | URLs with a password, and connection strings |
//! | `json`, `jwt` | a strict JSON reader, and JSON Web Tokens |
//! | `der`, `pem`, `private_key` | private keys |
//!
//! Each parser is a pure function of a [`Window`]: the bytes around one position, cut to the
//! parser's [`Reach`]. So its results never depend on how an object was cut into chunks.
//!
//! Invariants: hits lie inside the window; no input makes a parser panic; a parser does not
//! allocate before a hit is nearly certain.
//!
//! Not guaranteed: that a hit is reported only once. A value with several runs is found at each of
//! them, always with the same ranges.

pub mod assignment;
mod connection;
mod der;
mod generic;
mod json;
mod jwt;
mod key_words;
mod name;
mod operator;
mod password;
mod pem;
mod private_key;
mod shape;
#[cfg(test)]
mod testing;
mod url;
mod url_credentials;
mod value;
mod value_finder;
mod words;

use crate::rules::ParserKind;
pub use assignment::{ASSIGNMENT_REACH, Assignment};
pub(crate) use generic::examine_assignment as examine_generic;
pub use pem::canonical_key;
pub(crate) use pem::label as pem_label;
pub(crate) use url::{JUDGED_LENGTH_MAX, percent_decoded};
pub(crate) use value_finder::{AssignmentText, ValueFinder};

use crate::confidence::Confidence;
use crate::noise::NoiseCheck;
use std::borrow::Cow;
use std::ops::Range;

/// The bytes around one position of an object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Window<'a> {
    /// The bytes, cut to the parser's reach or to the object's ends.
    pub text: &'a [u8],
    /// The position, as an index into `text`.
    pub at: usize,
    /// Whether `text` begins where the object begins.
    pub begins_object: bool,
    /// Whether `text` ends where the object ends.
    pub ends_object: bool,
}

impl<'a> Window<'a> {
    /// Creates a window that is a whole object.
    #[must_use]
    pub const fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at, begins_object: true, ends_object: true }
    }
}

/// A parser's result. Ranges are positions in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hit {
    /// The whole match, including the key of an assignment.
    pub whole: Range<usize>,
    /// The secret.
    pub secret: Range<usize>,
    /// The key that the secret is assigned to; empty if there is none.
    pub key: Range<usize>,
    /// The parser's assessment of the value.
    pub form: Form,
    /// How strictly the noise filter checks the secret afterwards.
    pub noise: NoiseCheck,
}

/// A parser's assessment of a value in the place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// It may be a secret, with this confidence and for this reason.
    Secret(Confidence, Cow<'static, str>),
    /// It is something else, for this reason. The detector does not report it, but can explain why.
    Other(&'static str),
}

/// The confidence that a value is a secret, and the reason; or the reason why it is not.
type Assessment = Result<(Confidence, &'static str), &'static str>;

impl From<Assessment> for Form {
    fn from(assessment: Assessment) -> Self {
        match assessment {
            Ok((confidence, reason)) => Self::Secret(confidence, Cow::Borrowed(reason)),
            Err(reason) => Self::Other(reason),
        }
    }
}

/// How far a parser reads around a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// Bytes before it.
    pub before: usize,
    /// Bytes from it on, including its own byte.
    pub after: usize,
}

/// The positions at which a parser runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The first byte of every occurrence.
    Literal(&'static str),
    /// The first byte of every occurrence, ignoring ASCII case. Written in lower case.
    LiteralNoCase(&'static str),
    /// The first byte of every maximal run of 12 or more ASCII letters and digits that contains a
    /// digit.
    Run,
}

impl ParserKind {
    /// Returns the positions at which the parser runs.
    #[must_use]
    pub fn triggers(self) -> &'static [Trigger] {
        match self {
            Self::GenericSecret => &[Trigger::Run],
            Self::Password => password::TRIGGERS,
            Self::UrlCredentials => &[Trigger::Literal("://")],
            Self::Jwt => &[Trigger::Literal("eyJ")],
            Self::PrivateKey => private_key::TRIGGERS,
            Self::ConnectionString => connection::TRIGGERS,
        }
    }

    /// Returns how far the parser reads.
    #[must_use]
    pub fn reach(self) -> Reach {
        match self {
            Self::GenericSecret | Self::Password => ASSIGNMENT_REACH,
            Self::UrlCredentials => url_credentials::REACH,
            Self::Jwt => jwt::REACH,
            Self::PrivateKey => private_key::REACH,
            Self::ConnectionString => connection::REACH,
        }
    }

    /// Adds the parser's hits at the window's position, including values that it rejects.
    pub fn examine(self, window: &Window<'_>, hits: &mut Vec<Hit>) {
        if window.at >= window.text.len() {
            return;
        }
        match self {
            Self::GenericSecret => generic::examine(window, hits),
            Self::Password => password::examine(window, hits),
            Self::UrlCredentials => url_credentials::examine(window, hits),
            Self::Jwt => jwt::examine(window, hits),
            Self::PrivateKey => private_key::examine(window, hits),
            Self::ConnectionString => connection::examine(window, hits),
        }
    }
}
