//! [`Confidence`]: how sure a finding is.

use std::fmt;
use std::str::FromStr;

/// How sure a finding is. A finding says why, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It has the form of a secret, but something speaks against it: a placeholder, a test's path, words in it.
    Low,
    /// It has the form of a secret, and where it stands speaks for it.
    Medium,
    /// A form that nothing else has: a vendor's prefix, length and alphabet.
    High,
    /// Its own checksum holds, or it was parsed down to the key in it.
    Certain,
}

impl Confidence {
    /// From the least to the most.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Certain];

    /// In lower case, as it is written in rules and reports.
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

/// A word that is no confidence.
#[derive(Clone, Debug, PartialEq, Eq)]
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
