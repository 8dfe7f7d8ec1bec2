//! What both kinds of escaped text have in common: where a decode begins, and how far it goes.
//!
//! A *stretch* is what one decode may cover: a line of JSON or source code, a token (no spaces, no quotes) of URLs. A
//! decode begins up to [`BEFORE`] bytes before its first escape, so that a key or prefix that is not escaped itself
//! is seen with what follows, and ends with the stretch, after [`TAIL`] bytes without an escape, or at the reach.

use super::decoded::Decoded;
use super::{DECODE_BEFORE, DECODE_REACH, cell, json, url};
use std::ops::Range;

/// What is decoded before the first escape.
const BEFORE: usize = 512;

/// What is decoded after the last escape; another one that follows within it belongs to the same decode.
const TAIL: usize = 960;

// Looking for an escape before another, and for what escapes that, is the furthest look back.
const _: () = assert!(TAIL + json::BACKSLASHES_MAX <= DECODE_BEFORE && BEFORE <= DECODE_BEFORE);

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

    /// Those at which a scan asks whether a decode begins: of characters that secrets have in them, and that stand for
    /// themselves unless somebody escapes them. In whatever case.
    #[must_use]
    pub fn triggers(self) -> &'static [&'static str] {
        match self {
            Self::Url => &[
                "%20", "%25", "%26", "%2b", "%2d", "%2e", "%2f", "%3a", "%3d", "%40", "%5f", "%7e",
            ],
            Self::Json => &["\\u00"],
        }
    }

    /// Whether an escape at which a scan asks begins at `at`.
    fn is_trigger(self, text: &[u8], at: usize) -> bool {
        let stands = |trigger: &&str| {
            let there = text.get(at..at + trigger.len());
            there.is_some_and(|there| there.eq_ignore_ascii_case(trigger.as_bytes()))
        };
        self.triggers().iter().any(stands) && self.is_at(text, at)
    }

    /// Whether an escape begins at `at`.
    fn is_at(self, text: &[u8], at: usize) -> bool {
        text.get(at) == Some(&self.mark())
            && (self == Self::Url || json::is_unescaped(text, at))
            && self.parse(&text[at..], &mut [0; 4]).is_some()
    }
}

/// Whether a decode is to begin at the escape at `at`, one of the [triggers](EscapeKind::triggers): the first one of
/// its stretch, or the first one after a while without any, or the first one in its cell of the object's grid.
/// `offset` is the object's offset of `text[0]`.
#[must_use]
pub fn escape_starts(kind: EscapeKind, text: &[u8], at: usize, offset: u64) -> bool {
    if !kind.is_trigger(text, at) {
        return false;
    }
    for behind in (at.saturating_sub(TAIL)..at).rev() {
        if kind.is_break(text[behind]) || cell(offset, behind) != cell(offset, at) {
            return true;
        }
        if text[behind] == kind.mark() && kind.is_trigger(text, behind) {
            return false;
        }
    }
    true
}

/// Decodes around and after the escape at `at`. `false` if there is none.
pub(super) fn decode_at(kind: EscapeKind, text: &[u8], at: usize, into: &mut Decoded) -> bool {
    into.begin_escapes(at);
    if !kind.is_at(text, at) {
        return false;
    }
    let stretch = stretch_around(kind, text, at);
    into.begin_escapes(stretch.start);
    let mut verbatim = stretch.start;
    let mut from = at;
    let mut last_escape_end = at;
    loop {
        let tail_end = stretch.end.min(last_escape_end + TAIL);
        let mut bytes = [0; 4];
        match memchr::memchr(kind.mark(), &text[from..tail_end]).map(|ahead| from + ahead) {
            None => {
                into.push_verbatim(&text[verbatim..tail_end]);
                return true;
            }
            Some(mark) => match kind.parse(&text[mark..stretch.end], &mut bytes) {
                Some((len, bytes)) => {
                    into.push_verbatim(&text[verbatim..mark]);
                    into.push_escape(mark, len, bytes);
                    last_escape_end = mark + len;
                    verbatim = last_escape_end;
                    from = last_escape_end;
                }
                None => from = mark + 1,
            },
        }
    }
}

/// What a decode at `at` may cover, whatever the escapes in it.
fn stretch_around(kind: EscapeKind, text: &[u8], at: usize) -> Range<usize> {
    let behind =
        text[..at].iter().rev().take(BEFORE).take_while(|&&byte| !kind.is_break(byte)).count();
    let reachable = &text[at..text.len().min(at + DECODE_REACH)];
    let ahead = reachable.iter().position(|&byte| kind.is_break(byte)).unwrap_or(reachable.len());
    at - behind..at + ahead
}
