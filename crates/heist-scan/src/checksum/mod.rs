//! [`Checksum`]: checksums that vendors put into their tokens. One that holds makes a match certain.

use std::fmt;
use std::str::FromStr;

/// How a token carries its own checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// GitHub: after the prefix up to the last `_` 30 characters, then six digits in base 62 of their CRC-32.
    GithubCrc32,
    /// npm: the same after `npm_`.
    NpmCrc32,
}

/// In the order of their values.
const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// How many digits of base 62 hold 32 bits.
const DIGITS: usize = 6;

impl Checksum {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::GithubCrc32, Self::NpmCrc32];

    /// As it is written in rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GithubCrc32 => "github-crc32",
            Self::NpmCrc32 => "npm-crc32",
        }
    }

    /// Whether the secret's checksum is right.
    #[must_use]
    pub fn holds(self, secret: &[u8]) -> bool {
        self.complete(secret).is_some_and(|right| right == secret)
    }

    /// The same secret with its checksum put right; `None` if it has no room for one.
    #[must_use]
    pub fn complete(self, secret: &[u8]) -> Option<Vec<u8>> {
        let body = secret.iter().rposition(|&byte| byte == b'_')? + 1;
        let end = secret.len().checked_sub(DIGITS).filter(|&end| end > body)?;
        let mut rest = crc32fast::hash(&secret[body..end]);
        let mut completed = secret.to_vec();
        for digit in completed[end..].iter_mut().rev() {
            *digit = BASE_62[(rest % 62) as usize];
            rest /= 62;
        }
        Some(completed)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is no checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChecksum(pub String);

impl fmt::Display for UnknownChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no checksum that is known", self.0)
    }
}

impl std::error::Error for UnknownChecksum {}

impl FromStr for Checksum {
    type Err = UnknownChecksum;

    fn from_str(text: &str) -> Result<Self, UnknownChecksum> {
        let known = Self::ALL.into_iter().find(|checksum| checksum.as_str() == text);
        known.ok_or_else(|| UnknownChecksum(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completed_checksum_holds_and_one_changed_character_breaks_it() {
        for checksum in Checksum::ALL {
            let token = format!("xxx_{}", "a1".repeat(18));
            let completed = checksum.complete(token.as_bytes()).expect("it has room");
            assert!(checksum.holds(&completed));
            let mut changed = completed.clone();
            changed[7] ^= 1;
            assert!(!checksum.holds(&changed));
            assert_eq!(checksum.as_str().parse(), Ok(checksum));
        }
    }
}
