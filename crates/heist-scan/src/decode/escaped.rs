//! What URL escapes and JSON escapes have in common.
//!
//! A *stretch* is the text that one decoding may cover: a line of JSON or source code, or a token
//! of a URL (without spaces and quotes). The scanner decodes it from [`NEAR_BEFORE`] bytes before
//! an escape to [`NEAR_AFTER`] bytes after it, so that it sees a key or prefix without escapes
//! together with what follows.

use super::decoded::Decoded;
use super::{json, url};
use std::ops::Range;

/// How many bytes before an escape are decoded with it.
pub(crate) const NEAR_BEFORE: usize = 512;

/// How many bytes after an escape are decoded with it.
pub(crate) const NEAR_AFTER: usize = 960;

/// The length of the longest escape.
const ESCAPE_MAX: usize = 12;

/// How many bytes before a position a decoder needs to decide whether the position is inside an
/// escape.
pub(crate) const ESCAPE_BEFORE: usize = ESCAPE_MAX + json::BACKSLASHES_MAX;

/// A kind of escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EscapeKind {
    /// `%41`
    Url,
    /// `\u0041`, `\x41`, `\n` and so on.
    Json,
}

impl EscapeKind {
    fn mark(self) -> u8 {
        match self {
            Self::Url => b'%',
            Self::Json => b'\\',
        }
    }

    /// Returns `true` if the byte ends a stretch.
    fn is_break(self, byte: u8) -> bool {
        match self {
            Self::Url => byte <= b' ' || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`'),
            Self::Json => matches!(byte, b'\n' | b'\r' | 0),
        }
    }

    /// Parses the escape at the beginning of `text`. Returns its length and the bytes it stands
    /// for.
    fn parse<'a>(self, text: &[u8], bytes: &'a mut [u8; 4]) -> Option<(usize, &'a [u8])> {
        match self {
            Self::Url => url::parse(text, bytes),
            Self::Json => json::parse(text, bytes),
        }
    }

    /// Returns the escapes that make a scan decode the text around them, in lower case (a scan
    /// ignores case). They stand for characters that occur in secrets and are only escaped on
    /// purpose.
    #[must_use]
    pub fn triggers(self) -> &'static [&'static str] {
        match self {
            Self::Url => &[
                "%20", "%25", "%26", "%2b", "%2d", "%2e", "%2f", "%3a", "%3d", "%40", "%5f", "%7e",
            ],
            Self::Json => &["\\u00"],
        }
    }

    /// Parses the escape at `at`, if there is one. Returns its length and the bytes it stands for.
    fn parse_at<'a>(
        self,
        text: &[u8],
        at: usize,
        bytes: &'a mut [u8; 4],
    ) -> Option<(usize, &'a [u8])> {
        let is_one = text.get(at) == Some(&self.mark())
            && (self == Self::Url || json::is_unescaped(text, at));
        if is_one { self.parse(&text[at..], bytes) } else { None }
    }

    /// Returns `true` if an escape begins at `at`.
    #[must_use]
    pub fn is_at(self, text: &[u8], at: usize) -> bool {
        self.parse_at(text, at, &mut [0; 4]).is_some()
    }

    /// Returns the start of the stretch around `at`, searching back to `limit`.
    pub(crate) fn begin(self, text: &[u8], at: usize, limit: usize) -> usize {
        let behind = text[limit.min(at)..at].iter().rev();
        at - behind.take_while(|&&byte| !self.is_break(byte)).count()
    }

    /// Returns `true` if a stretch begins exactly at `at`.
    pub(crate) fn begins(self, text: &[u8], at: usize) -> bool {
        text[..at].last().is_none_or(|&byte| self.is_break(byte))
    }

    /// Returns the end of the stretch around `at`, searching up to `limit`.
    pub(crate) fn end(self, text: &[u8], at: usize, limit: usize) -> usize {
        let ahead = text[at..limit].iter().position(|&byte| self.is_break(byte));
        ahead.map_or(limit, |ahead| at + ahead)
    }
}

/// Decodes `window`, which lies within one stretch. If the window cuts through an escape, that
/// escape is skipped at the beginning of the window and left undecoded at its end.
pub fn escaped(kind: EscapeKind, text: &[u8], window: Range<usize>, into: &mut Decoded) {
    let inside_of = (window.start.saturating_sub(ESCAPE_MAX)..window.start)
        .filter_map(|at| Some(at + kind.parse_at(text, at, &mut [0; 4])?.0))
        .find(|&end| end > window.start);
    let mut verbatim = inside_of.unwrap_or(window.start).min(window.end);
    into.begin_escapes(verbatim);
    let mut from = verbatim;
    while let Some(ahead) = memchr::memchr(kind.mark(), &text[from..window.end]) {
        let mark = from + ahead;
        let mut bytes = [0; 4];
        match kind.parse_at(&text[..window.end], mark, &mut bytes) {
            Some((len, bytes)) => {
                into.push_verbatim(&text[verbatim..mark]);
                into.push_escape(mark, len, bytes);
                verbatim = mark + len;
                from = verbatim;
            }
            None => from = mark + 1,
        }
    }
    into.push_verbatim(&text[verbatim..window.end]);
}
