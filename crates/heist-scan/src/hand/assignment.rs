//! Assignments: a key, an operator and a value, in the notations of source code, JSON, YAML, TOML, INI, `.env`, shells,
//! XML, HTTP headers, command lines and function calls.
//!
//! There is one truth, `operator::key_before`: given where a value begins, which key it belongs to. Both directions
//! ask it: [`from_value`] walks left to where the value begins, [`from_key`] walks right over the places where a
//! value could begin.
//!
//! Invariant: what [`from_key`] gives, [`from_value`] gives too, at every position of the value. (If the value has
//! another assignment in it, `from_key` gives nothing: the inner one is the one that is meant, as in
//! `environment: "KEY=value"`.)
//!
//! Values are tokens: without white space, quotes, angle brackets and backslashes. Not read: tables (`key | value`),
//! block scalars of YAML, and values that are put together from several literals.

use super::name;
use super::operator::{self, Left};
use super::value::{self, Alphabet};
use super::{Reach, Window};
use std::ops::Range;

/// A key and what it is set to. Positions in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What is set: a name, with the path before it (`config.auth.token`), without quotes.
    pub key: Range<usize>,
    /// To what, without quotes.
    pub value: Range<usize>,
    /// Whether the value stands in quotes.
    pub quoted: bool,
}

/// How far the parser looks: a value of 512 bytes, a key of 128 and what is between them, in either direction.
pub const ASSIGNMENT_REACH: Reach = Reach { before: 1024, after: 1024 };

/// How far after a position in the key a value may begin: the rest of the key, a type, an operator.
const KEY_TO_VALUE_MAX: usize = 320;

/// After so many places where a value could begin and none does, none will.
const BEGINNINGS_MAX: usize = 6;

/// The assignment in whose value the window's position lies.
///
/// ```
/// use heist_scan::hand::{Window, assignment::from_value};
///
/// let text = br#"config = { "colour": "blue-4711" }"#;
/// let window = Window { text, at: 25, begins_object: true, ends_object: true };
/// let found = from_value(&window).unwrap();
/// assert_eq!(&text[found.key], b"colour");
/// assert_eq!(&text[found.value], b"blue-4711");
/// ```
#[must_use]
pub fn from_value(window: &Window<'_>) -> Option<Assignment> {
    from_value_within(window, value::VALUE_LENGTH_MAX)
}

/// As [`from_value`], but the value begins at most `before_max` bytes before the window's position.
pub(crate) fn from_value_within(window: &Window<'_>, before_max: usize) -> Option<Assignment> {
    let text = window.text;
    let at = window.at;
    if !value::is_token(*text.get(at)?) {
        return None;
    }
    let leftmost = at.saturating_sub(before_max);
    let mut begin = at;
    while begin > leftmost && value::is_token(text[begin - 1]) {
        // `KEY=value`: nothing but the operator stands between them, and it could be part of a longer token.
        if text[begin - 1] == b'=' {
            let found = assignment_at(window, begin, Alphabet::Token);
            if let Some(found) = found.filter(|found| found.value.contains(&at)) {
                return Some(found);
            }
        }
        begin -= 1;
    }
    assignment_at(window, begin, Alphabet::Token).filter(|found| found.value.contains(&at))
}

/// The assignment in whose key the window's position lies.
///
/// ```
/// use heist_scan::hand::{Window, assignment::from_key};
///
/// let text = b"export COLOUR=blue-4711";
/// let window = Window { text, at: 7, begins_object: true, ends_object: true };
/// let found = from_key(&window).unwrap();
/// assert_eq!(&text[found.key], b"COLOUR");
/// assert_eq!(&text[found.value], b"blue-4711");
/// ```
#[must_use]
pub fn from_key(window: &Window<'_>) -> Option<Assignment> {
    let found = after_key(window, Alphabet::Token)?;
    let nested = found.value.clone().skip(1).any(|begin| {
        window.text[begin - 1] == b'=' && assignment_at(window, begin, Alphabet::Token).is_some()
    });
    (!nested).then_some(found)
}

/// As [`from_key`], with values of any alphabet, whatever is in them.
pub(super) fn after_key(window: &Window<'_>, alphabet: Alphabet) -> Option<Assignment> {
    let text = window.text;
    let at = window.at;
    let limit = text.len().min(at + KEY_TO_VALUE_MAX);
    // Text without any end of a word, however many keywords are in it, has no key.
    if text[at..limit].iter().take_while(|&&byte| value::is_key(byte)).count()
        > name::KEY_LENGTH_MAX
    {
        return None;
    }
    let mut missed = 0;
    let mut line_ends = 0;
    let mut before = *text.get(at)?;
    for (begin, &byte) in text[..limit].iter().enumerate().skip(at + 1) {
        let could_begin = match before {
            b'"' | b'\'' | b'`' => alphabet == Alphabet::Text || value::is_token(byte),
            b' ' | b'\t' => {
                value::is_token(byte) && !matches!(byte, b'=' | b':' | b'|' | b'?' | b'#')
            }
            b'=' | b'>' => value::is_token(byte) && !matches!(byte, b'=' | b'>'),
            _ => false,
        };
        if could_begin {
            let found = assignment_at(window, begin, alphabet);
            if let Some(found) = found.filter(|found| found.key.contains(&at)) {
                return Some(found);
            }
            missed += 1;
            if missed == BEGINNINGS_MAX {
                return None;
            }
        }
        if byte == b'\n' {
            // One: a value on the line after its key. Two: another statement.
            line_ends += 1;
            if line_ends == 2 {
                return None;
            }
        }
        before = byte;
    }
    None
}

/// The assignment whose value begins at `begin`.
fn assignment_at(window: &Window<'_>, begin: usize, alphabet: Alphabet) -> Option<Assignment> {
    let Left { key, opening } = operator::key_before(window, begin)?;
    let end = value::end_of_value(window, begin, opening, alphabet)?;
    let quoted = matches!(opening, value::Opening::Quote { .. });
    if !quoted {
        // `key: Type = value` and `Authorization: Bearer value`: the first word is not it.
        let mut rest = window.text[end..].iter().copied();
        let next = rest.by_ref().find(|&byte| !value::is_space(byte));
        let spaced = window.text.get(end).is_some_and(|&byte| value::is_space(byte));
        if spaced && (next == Some(b'=') || operator::is_scheme(&window.text[begin..end])) {
            return None;
        }
    }
    Some(Assignment { key, value: begin..end, quoted })
}

#[cfg(test)]
mod tests;
