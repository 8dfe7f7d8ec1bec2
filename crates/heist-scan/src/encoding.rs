//! [`Encoding`]: how a secret was written where it was found.

use std::fmt;

/// How a secret was written where it was found. One layer is looked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As it is.
    #[default]
    Plain,
    /// Base64, of either alphabet.
    Base64,
    /// Two hexadecimal digits for each byte.
    Hex,
    /// `%41`, as in URLs.
    UrlEscaped,
    /// `\u0041` and `\/`, as in JSON.
    JsonEscaped,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
}

impl Encoding {
    /// As it is written in reports.
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
