//! Assignments: a key, an operator and a value, in the notations of source code, JSON, YAML, TOML,
//! INI, `.env`, shells, XML, HTTP headers, command lines and function calls.
//!
//! One function decides, `operator::key_before`: given where a value begins, it returns the key
//! that the value belongs to. Both directions use it: [`from_value`] walks left to where the value
//! begins, [`from_key`] walks right over the places where a value could begin.
//!
//! Invariant: what [`from_key`] returns, [`from_value`] also returns, at every position of the
//! value. (If the value contains another assignment, `from_key` returns nothing, because the inner
//! one is meant, as in `environment: "KEY=value"`.)
//!
//! Values are tokens: they do not contain white space, quotes, angle brackets or backslashes. Not
//! supported: tables (`key | value`), YAML block scalars, and values composed of several literals.

use super::name;
use super::operator::{self, Left};
use super::value::{self, NoValue, ValueAlphabet};
use super::{Reach, Window};
use std::ops::Range;

/// A key and its value, as positions in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The key: a name, with the path before it (`config.auth.token`), without quotes.
    pub key: Range<usize>,
    /// The value, without quotes.
    pub value: Range<usize>,
    /// `true` if the value is in quotes.
    pub quoted: bool,
}

/// How far the parser reads in either direction: a value of 512 bytes, a key of 128, and the
/// operator between them.
pub const ASSIGNMENT_REACH: Reach = Reach { before: 1024, after: 1024 };

/// How far after a position in the key a value may begin: after the rest of the key, a type and an
/// operator.
const KEY_TO_VALUE_MAX: usize = 320;

/// How many possible beginnings of a value the parser tries.
const BEGINNINGS_MAX: usize = 6;

/// Returns the assignment whose value contains the window's position.
///
/// ```
/// use heist_scan::parsers::{Window, assignment::from_value};
///
/// let text = br#"config = { "colour": "blue-4711" }"#;
/// let window = Window::new(text, 25);
/// let found = from_value(&window).unwrap();
/// assert_eq!(&text[found.key], b"colour");
/// assert_eq!(&text[found.value], b"blue-4711");
/// ```
#[must_use]
pub fn from_value(window: &Window<'_>) -> Option<Assignment> {
    let text = window.text;
    let at = window.at;
    if !value::is_token(*text.get(at)?) {
        return None;
    }
    let leftmost = at.saturating_sub(value::VALUE_LENGTH_MAX);
    let mut begin = at;
    while begin > leftmost && value::is_token(text[begin - 1]) {
        // `KEY=value`: only the operator separates them, and it could be part of a longer token.
        if text[begin - 1] == b'=' {
            let found = assignment_at(window, begin, ValueAlphabet::Token);
            if let Some(found) = found.filter(|found| found.value.contains(&at)) {
                return Some(found);
            }
        }
        begin -= 1;
    }
    assignment_at(window, begin, ValueAlphabet::Token).filter(|found| found.value.contains(&at))
}

/// Returns the assignment whose key contains the window's position.
///
/// ```
/// use heist_scan::parsers::{Window, assignment::from_key};
///
/// let text = b"export COLOUR=blue-4711";
/// let window = Window::new(text, 7);
/// let found = from_key(&window).unwrap();
/// assert_eq!(&text[found.key], b"COLOUR");
/// assert_eq!(&text[found.value], b"blue-4711");
/// ```
#[must_use]
pub fn from_key(window: &Window<'_>) -> Option<Assignment> {
    // Check for an inner assignment, whose value ends where this one's does.
    if key_as_value(&window.text[window.at..]).is_some() {
        return None;
    }
    let found = after_key(window, ValueAlphabet::Token, value::VALUE_LENGTH_MAX)?;
    let nested = found.value.clone().skip(1).any(|begin| {
        window.text[begin - 1] == b'='
            && assignment_at(window, begin, ValueAlphabet::Token).is_some()
    });
    (!nested).then_some(found)
}

/// Returns the second key of `key=key=value`, for a text that begins in the first key.
pub(super) fn key_as_value(text: &[u8]) -> Option<&[u8]> {
    let key_length = |text: &[u8]| {
        let near = text.iter().take(name::KEY_LENGTH_MAX);
        near.take_while(|&&byte| value::is_key(byte)).count()
    };
    let inner = text[key_length(text)..].strip_prefix(b"=")?;
    let (inner, after) = inner.split_at(key_length(inner));
    // If nothing follows the second `=`, it is padding at the end of the value, as in base64.
    let is_set = matches!(after, [b'=', next, ..] if value::is_bare(*next) && *next != b'=');
    (is_set && inner.last()?.is_ascii_alphanumeric()).then_some(inner)
}

/// Like [`from_key`], for values of any alphabet with at most `length_max` bytes.
pub(super) fn after_key(
    window: &Window<'_>,
    alphabet: ValueAlphabet,
    length_max: usize,
) -> Option<Assignment> {
    let text = window.text;
    let at = window.at;
    let limit = text.len().min(at + KEY_TO_VALUE_MAX);
    // A text without the end of a word does not have a key, however many keywords it contains.
    if text[at..limit].iter().take_while(|&&byte| value::is_key(byte)).count()
        > name::KEY_LENGTH_MAX
    {
        return None;
    }
    let text = &text[..limit];
    let mut missed = 0;
    let mut line_ends = 0;
    let mut begin = at;
    while let Some(step) = text[begin..].iter().position(|&byte| value::is_edge(byte)) {
        let before = text[begin + step];
        begin += step + 1;
        let byte = *text.get(begin)?;
        let could_begin = match before {
            b'"' | b'\'' | b'`' => alphabet == ValueAlphabet::Text || value::is_token(byte),
            b' ' | b'\t' => {
                value::is_token(byte) && !matches!(byte, b'=' | b':' | b'|' | b'?' | b'#')
            }
            b'=' | b'>' => value::is_token(byte) && !matches!(byte, b'=' | b'>'),
            _ => {
                // After one line end, a value on the line after its key; after two, another
                // statement.
                line_ends += 1;
                if line_ends == 2 {
                    return None;
                }
                false
            }
        };
        if !could_begin {
            continue;
        }
        // Find the key first, to avoid searching for the end of another key's value.
        let left = operator::key_before(window, begin).filter(|left| left.key.contains(&at));
        if let Some(left) = left {
            match value_of(window, begin, left, alphabet, length_max) {
                Ok(found) => return Some(found),
                // Stop here; otherwise a line of nothing but keys would be searched again from each
                // of them.
                Err(NoValue::TooLong) => return None,
                Err(NoValue::NoLiteral) => {}
            }
        }
        missed += 1;
        if missed == BEGINNINGS_MAX {
            return None;
        }
    }
    None
}

/// Returns the assignment whose value begins at `begin`.
fn assignment_at(window: &Window<'_>, begin: usize, alphabet: ValueAlphabet) -> Option<Assignment> {
    let left = operator::key_before(window, begin)?;
    value_of(window, begin, left, alphabet, value::VALUE_LENGTH_MAX).ok()
}

/// Returns the assignment whose value begins at `begin`, with the key on its left.
pub(super) fn value_of(
    window: &Window<'_>,
    begin: usize,
    left: Left,
    alphabet: ValueAlphabet,
    length_max: usize,
) -> Result<Assignment, NoValue> {
    let Left { key, opening } = left;
    let end = value::end_of_value(window, begin, opening, alphabet, length_max)?;
    let quoted = matches!(opening, value::Opening::Quote { .. });
    if !quoted {
        // `key: Type = value` and `Authorization: Bearer value`: the first word is not the value.
        let mut rest = window.text[end..].iter().copied().take(operator::SPACE_MAX);
        let next = rest.find(|&byte| !value::is_space(byte));
        let spaced = window.text.get(end).is_some_and(|&byte| value::is_space(byte));
        if spaced && (next == Some(b'=') || operator::is_scheme(&window.text[begin..end])) {
            return Err(NoValue::NoLiteral);
        }
    }
    Ok(Assignment { key, value: begin..end, quoted })
}

#[cfg(test)]
mod tests;
