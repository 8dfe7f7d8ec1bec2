//! [`Encoding`]: how an object encodes a secret.

use std::fmt;

/// How an object encodes a secret. Detectors see through one layer of encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Not encoded.
    #[default]
    Plain,
    /// Base64, with the standard or the URL-safe alphabet.
    Base64,
    /// Two hexadecimal digits per byte.
    Hex,
    /// Percent-encoded as in URLs: `%41`.
    UrlEscaped,
    /// Escaped as in JSON strings: `\u0041` and `\/`.
    JsonEscaped,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
}

impl Encoding {
    /// Returns the name that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::UrlEscaped => "url",
            Self::JsonEscaped => "json",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
