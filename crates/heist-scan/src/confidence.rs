//! [`Confidence`]: how likely a finding is a real secret.

use std::fmt;
use std::str::FromStr;

/// How likely a finding is a real secret. [`Finding::reason`](crate::Finding::reason) says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It has the form of a secret, but something speaks against it: it looks like a placeholder,
    /// contains words, or is in a test.
    Low,
    /// It has the form of a secret, and its surroundings speak for it.
    Medium,
    /// It has a form that only such secrets have: a vendor's prefix, length and alphabet.
    High,
    /// Its built-in checksum is correct, or heist parsed it and found a key in it.
    Certain,
}

impl Confidence {
    /// All levels, from the least to the most certain.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Certain];

    /// Returns the lower-case name that rules and reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Certain => "certain",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a word that does not name a level of confidence. It contains that word.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownConfidence(pub String);

impl fmt::Display for UnknownConfidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a level of confidence; the levels are low, medium, high and certain",
            self.0
        )
    }
}

impl std::error::Error for UnknownConfidence {}

impl FromStr for Confidence {
    type Err = UnknownConfidence;

    fn from_str(text: &str) -> Result<Self, UnknownConfidence> {
        Self::ALL
            .into_iter()
            .find(|confidence| confidence.as_str() == text)
            .ok_or_else(|| UnknownConfidence(text.to_owned()))
    }
}
