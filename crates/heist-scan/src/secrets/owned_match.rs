//! [`OwnedMatch`]: a match, the position from which it was found, and what was there.
//!
//! A match belongs to one position, its *owner*: the candidate or the search start from which the
//! detector found it. Whether it is found depends on the bytes around its owner, as far as its
//! [`Cause`] reaches, and on nothing else.

use crate::decode::EscapeKind;
use crate::encoding::Encoding;
use crate::version::PathFreeMatch;

/// What led to a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The literal with this number.
    Literal(u32),
    /// A run of letters and digits that is, or may be, an assigned value.
    Value,
    /// The search for an expression without a literal, in plain text.
    Search,
    /// UTF-16.
    Utf16,
    /// Base64 or hexadecimal digits.
    Digits,
    /// Escapes.
    Escapes(EscapeKind),
}

impl Cause {
    /// Returns the cause of matches in text with this encoding. In plain text, the literal or value
    /// is the cause.
    pub(crate) fn of_encoding(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Plain => Self::Search,
            Encoding::Base64 | Encoding::Hex => Self::Digits,
            Encoding::UrlEscaped => Self::Escapes(EscapeKind::Url),
            Encoding::JsonEscaped => Self::Escapes(EscapeKind::Json),
            Encoding::Utf16Le | Encoding::Utf16Be => Self::Utf16,
        }
    }
}

/// A match with its owner.
#[derive(Clone, Debug)]
pub(crate) struct OwnedMatch {
    pub(crate) found: PathFreeMatch,
    /// The offset of the owner in the object.
    pub(crate) owner: u64,
    pub(crate) cause: Cause,
}

impl OwnedMatch {
    /// Returns the match in a copy of its text. The text at `from` is now at `to`.
    pub(crate) fn moved(&self, from: u64, to: u64) -> Self {
        let offset = |at: u64| at.wrapping_add(to).wrapping_sub(from);
        let mut moved = self.clone();
        moved.owner = offset(moved.owner);
        for range in [&mut moved.found.found.whole, &mut moved.found.found.secret] {
            *range = offset(range.start)..offset(range.end);
        }
        moved
    }
}
