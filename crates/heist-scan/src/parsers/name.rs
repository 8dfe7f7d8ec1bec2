//! Parses keys in all notations: plain, quoted, as an index, followed by a type, as an element's
//! name, or as the name that belongs to a field called `value`.
//!
//! All functions read leftwards from the end of a key.

use super::Window;
use super::operator::skip_space;
use super::value::{is_key, is_quote, is_space};
use std::ops::Range;

/// The length of the longest key.
pub(super) const KEY_LENGTH_MAX: usize = 128;

/// The length of the longest type.
const TYPE_LENGTH_MAX: usize = 64;

/// Types that begin with a lower case letter.
const SMALL_TYPES: [&[u8]; 11] = [
    b"str", b"string", b"bytes", b"any", b"object", b"std", b"char", b"static", b"const", b"text",
    b"impl",
];

/// Returns a key that ends at `end`, in any notation. With `typed`, a type may be between the
/// key and `end`.
pub(super) fn any(window: &Window<'_>, end: usize, typed: bool) -> Option<Range<usize>> {
    let text = window.text;
    let last = *text.get(end.checked_sub(1)?)?;
    if is_quote(last) {
        return quoted(window, end);
    }
    match last {
        b']' => index(window, end).or_else(|| if typed { before_type(window, end) } else { None }),
        b')' => {
            // A call with a name as its argument: `getenv("KEY")`.
            let key = quoted(window, end - 1)?;
            (text.get(key.start.checked_sub(2)?) == Some(&b'(')).then_some(key)
        }
        b'>' if typed => before_type(window, end),
        b'!' | b'?' => plain(window, end - 1),
        _ if is_key(last) => {
            let word = plain(window, end)?;
            if typed {
                let named = before_type(window, end).or_else(|| before_type_word(window, &word));
                return Some(named.unwrap_or(word));
            }
            Some(word)
        }
        _ => None,
    }
}

/// Returns a word, with the path before it, that ends at `end`.
pub(super) fn plain(window: &Window<'_>, end: usize) -> Option<Range<usize>> {
    let text = window.text;
    let leftmost = end.saturating_sub(KEY_LENGTH_MAX + 1);
    let mut begin = end;
    while begin > leftmost && is_key(text[begin - 1]) {
        begin -= 1;
    }
    let cut_off = begin == 0 && !window.begins_object;
    if cut_off || end - begin > KEY_LENGTH_MAX {
        return None;
    }
    while begin < end && !(text[begin].is_ascii_alphanumeric() || text[begin] == b'_') {
        begin += 1;
    }
    (begin < end).then_some(begin..end)
}

/// Returns a quoted key, whose closing quote ends at `end`.
fn quoted(window: &Window<'_>, end: usize) -> Option<Range<usize>> {
    let text = window.text;
    let mark = *text.get(end.checked_sub(1)?)?;
    if !is_quote(mark) {
        return None;
    }
    let mut last = end - 1;
    while last > 0 && text[last - 1] == b'\\' {
        last -= 1;
    }
    let backslashes = end - 1 - last;
    let leftmost = last.saturating_sub(KEY_LENGTH_MAX);
    let mut begin = last;
    while begin > leftmost
        && (is_key(text[begin - 1]) || matches!(text[begin - 1], b' ' | b'/' | b':' | b'@'))
    {
        begin -= 1;
    }
    let opened = begin > backslashes
        && text[begin - 1] == mark
        && text[begin - 1 - backslashes..begin - 1].iter().all(|&byte| byte == b'\\');
    (opened && begin < last).then_some(begin..last)
}

/// Parses `["KEY"]`, `[KEY]`, and the name of an array: `key[]`, `key[32]`. The `]` ends at `end`.
fn index(window: &Window<'_>, end: usize) -> Option<Range<usize>> {
    let text = window.text;
    let close = end - 1;
    let last = *text.get(close.checked_sub(1)?)?;
    if is_quote(last) {
        let key = quoted(window, close)?;
        let mut open = key.start - 1;
        while open > 0 && text[open - 1] == b'\\' {
            open -= 1;
        }
        return (text.get(open.checked_sub(1)?) == Some(&b'[')).then_some(key);
    }
    let mut open = close;
    while open > 0 && close - open < KEY_LENGTH_MAX && is_key(text[open - 1]) {
        open -= 1;
    }
    if text.get(open.checked_sub(1)?) != Some(&b'[') {
        return None;
    }
    if text[open..close].iter().all(u8::is_ascii_digit) {
        return plain(window, open - 1);
    }
    Some(open..close)
}

/// Returns the key of `key: Type`, where the type ends at `end`.
fn before_type(window: &Window<'_>, end: usize) -> Option<Range<usize>> {
    let text = window.text;
    let leftmost = end.saturating_sub(TYPE_LENGTH_MAX);
    let mut at = end;
    let mut depth = 0_usize;
    while at > leftmost {
        at -= 1;
        match text[at] {
            b'>' | b']' => depth += 1,
            b'<' | b'[' => depth = depth.checked_sub(1)?,
            b',' if depth > 0 => {}
            b':' if at > 0 && text[at - 1] == b':' => at -= 1,
            b':' => {
                let begin =
                    at + 1 + text[at + 1..end].iter().take_while(|&&byte| is_space(byte)).count();
                if depth != 0 || !looks_like_type(&text[begin..end]) {
                    return None;
                }
                let mut name_end = skip_space(text, at, false);
                if name_end > 0 && matches!(text[name_end - 1], b'?' | b'!') {
                    name_end -= 1;
                }
                return plain(window, name_end);
            }
            b'&' | b'\'' | b'*' | b'|' | b' ' | b'?' => {}
            byte if is_key(byte) => {}
            _ => return None,
        }
    }
    None
}

fn looks_like_type(text: &[u8]) -> bool {
    match text.first() {
        None => false,
        Some(b'&' | b'[' | b'*' | b'\'') => true,
        Some(byte) if byte.is_ascii_uppercase() => true,
        Some(_) => {
            let length = text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            SMALL_TYPES.contains(&&text[..length])
        }
    }
}

/// Returns the key of `var key string = ...` and `Dim key As String = ...`, where `word` is the
/// type.
fn before_type_word(window: &Window<'_>, word: &Range<usize>) -> Option<Range<usize>> {
    let text = window.text;
    if !text[word.clone()].eq_ignore_ascii_case(b"string") {
        return None;
    }
    let end = skip_space(text, word.start, false);
    if end == word.start {
        return None;
    }
    let before = plain(window, end)?;
    if !text[before.clone()].eq_ignore_ascii_case(b"as") {
        return Some(before);
    }
    plain(window, skip_space(text, before.start, false))
}

/// Returns the key of an element's text that begins at `begin`: the value of a naming attribute, or
/// else the element's name.
pub(super) fn of_element(window: &Window<'_>, begin: usize) -> Option<Range<usize>> {
    let text = window.text;
    let tag_end = begin - 1;
    let leftmost = tag_end.saturating_sub(KEY_LENGTH_MAX * 2);
    let open = leftmost + text[leftmost..tag_end].iter().rposition(|&byte| byte == b'<')?;
    let tag = &text[open + 1..tag_end];
    let length = tag.iter().take_while(|&&byte| is_key(byte) || byte == b':').count();
    if length == 0 || length > KEY_LENGTH_MAX || tag.contains(&b'>') || tag.ends_with(b"/") {
        return None;
    }
    for attribute in [&b" name=\""[..], b" key=\"", b" name='", b" key='"] {
        let found = tag.windows(attribute.len()).position(|part| part == attribute);
        if let Some(found) = found {
            let name = found + attribute.len();
            let length = tag[name..].iter().take_while(|&&byte| is_key(byte)).count();
            let begin = open + 1 + name;
            return (length > 0).then_some(begin..begin + length);
        }
    }
    if &tag[..length] == b"string" {
        // A property list: `<key>name</key><string>value</string>`.
        let before = skip_space(text, open, true);
        if let Some(named) = text[..before].strip_suffix(b"</key>") {
            return plain(window, named.len());
        }
    }
    Some(open + 1..open + 1 + length)
}

/// Returns the name that belongs to a field called `value`: `name: KEY, value: ...`, `key="KEY"
/// value="..."`.
pub(super) fn of_value_field(window: &Window<'_>, key: &Range<usize>) -> Option<Range<usize>> {
    let text = window.text;
    if !text[key.clone()].eq_ignore_ascii_case(b"value") {
        return None;
    }
    let skip = |end: usize, also: &[u8]| {
        let leftmost = end.saturating_sub(TYPE_LENGTH_MAX);
        let mut end = end;
        while end > leftmost
            && (text[end - 1].is_ascii_whitespace() || also.contains(&text[end - 1]))
        {
            end -= 1;
        }
        end
    };
    let name = plain(window, skip(key.start, b"\"'\\,"))?;
    let operator = skip(name.start, b"\"'\\");
    if !matches!(text.get(operator.checked_sub(1)?)?, b':' | b'=') {
        return None;
    }
    let field = plain(window, skip(operator - 1, b"\"'\\"))?;
    let names =
        [&b"name"[..], b"key"].iter().any(|known| text[field.clone()].eq_ignore_ascii_case(known));
    names.then_some(name)
}
