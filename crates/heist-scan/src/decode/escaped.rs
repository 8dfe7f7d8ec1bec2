//! What both kinds of escaped text have in common.
//!
//! A *stretch* is what one decode may cover: a line of JSON or source code, a token (no spaces, no quotes) of URLs.
//! What stands in it from [`NEAR_BEFORE`] bytes before an escape to [`NEAR_AFTER`] bytes after it is looked at decoded,
//! so that a key or prefix that is not escaped itself is seen with what follows.

use super::decoded::Decoded;
use super::{json, url};
use std::ops::Range;

/// What is looked at before an escape.
pub(crate) const NEAR_BEFORE: usize = 512;

/// What is looked at after an escape.
pub(crate) const NEAR_AFTER: usize = 960;

/// No escape is longer.
const ESCAPE_MAX: usize = 12;

/// How far before a position it is decided whether that is inside of an escape.
pub(crate) const ESCAPE_BEFORE: usize = ESCAPE_MAX + json::BACKSLASHES_MAX;

/// Which escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// What ends a stretch.
    fn is_break(self, byte: u8) -> bool {
        match self {
            Self::Url => byte <= b' ' || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`'),
            Self::Json => matches!(byte, b'\n' | b'\r' | 0),
        }
    }

    /// The escape at the beginning: its length, and what it stands for.
    fn parse<'a>(self, text: &[u8], bytes: &'a mut [u8; 4]) -> Option<(usize, &'a [u8])> {
        match self {
            Self::Url => url::parse(text, bytes),
            Self::Json => json::parse(text, bytes),
        }
    }

    /// Those at which a scan decodes: of characters that secrets have in them, and that stand for themselves unless
    /// they are escaped on purpose. In whatever case.
    #[must_use]
    pub fn triggers(self) -> &'static [&'static str] {
        match self {
            Self::Url => &[
                "%20", "%25", "%26", "%2b", "%2d", "%2e", "%2f", "%3a", "%3d", "%40", "%5f", "%7e",
            ],
            Self::Json => &["\\u00"],
        }
    }

    /// The escape that begins at `at`, if one does: its length, and what it stands for.
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

    /// Where the stretch around `at` begins; it is looked for down to `limit`.
    pub(crate) fn begin(self, text: &[u8], at: usize, limit: usize) -> usize {
        let behind = text[limit.min(at)..at].iter().rev();
        at - behind.take_while(|&&byte| !self.is_break(byte)).count()
    }

    /// Returns `true` if a stretch begins at `at`, and not before it.
    pub(crate) fn begins(self, text: &[u8], at: usize) -> bool {
        text[..at].last().is_none_or(|&byte| self.is_break(byte))
    }

    /// Where the stretch around `at` ends; it is looked for up to `limit`.
    pub(crate) fn end(self, text: &[u8], at: usize, limit: usize) -> usize {
        let ahead = text[at..limit].iter().position(|&byte| self.is_break(byte));
        ahead.map_or(limit, |ahead| at + ahead)
    }
}

/// Decodes `window`, which is inside of one stretch. An escape that it cuts through is left out, if it is at the
/// beginning, and not decoded, if it is at the end.
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
