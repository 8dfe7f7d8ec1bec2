//! The left side of an assignment: finds the key for a value that begins at a given position.
//!
//! It reads leftwards only, at most a few hundred bytes, and usually no more than three: only a
//! quote, white space, `=` or `>` can come before a value.
//!
//! Comparisons (`token == "..."`) and calls (`setToken("...")`) also count as assignments, because
//! a literal in them is just as much of a leak.

use super::Window;
use super::name;
use super::value::{Opening, is_key, is_quote, is_space};
use std::ops::Range;

/// How much white space may be between an operator and its operands.
pub(super) const SPACE_MAX: usize = 128;

/// Authentication schemes: words before a credential in a header.
const SCHEMES: [&[u8]; 10] = [
    b"bearer",
    b"basic",
    b"token",
    b"apikey",
    b"bot",
    b"ssws",
    b"oauth",
    b"digest",
    b"geniekey",
    b"negotiate",
];

/// Calls that only wrap a literal: the key is to their left.
const WRAPPERS: [&[u8]; 14] = [
    b"some",
    b"from",
    b"string",
    b"new",
    b"str",
    b"ok",
    b"bytes",
    b"of",
    b"parse",
    b"just",
    b"text",
    b"valueof",
    b"stringvalue",
    b"unwrap",
];

/// Words that assign the following value without an operator.
const COMMANDS: [&[u8]; 4] = [b"define", b"env", b"setenv", b"setx"];

/// The text to the left of a value.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) key: Range<usize>,
    pub(super) opening: Opening,
}

/// Returns `true` for an authentication scheme, a word before a credential in a header.
pub(super) fn is_scheme(word: &[u8]) -> bool {
    (3..=9).contains(&word.len()) && SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Returns the key or scheme to the left of the value that begins at `begin`.
pub(super) fn key_before(window: &Window<'_>, begin: usize) -> Option<Left> {
    let text = window.text;
    match *text.get(begin.checked_sub(1)?)? {
        mark @ (b'"' | b'\'' | b'`') => {
            let mut open = begin - 1;
            while open > 0 && text[open - 1] == b'\\' {
                open -= 1;
            }
            let backslashes = begin - 1 - open;
            let key = key_before_quote(window, open)?;
            Some(Left { key, opening: Opening::Quote { mark, backslashes } })
        }
        b' ' | b'\t' => {
            Some(Left { key: key_before_space(window, begin)?, opening: Opening::Bare })
        }
        b'=' => {
            // A comparison without spaces and quotes is code.
            if begin >= 2 && text[begin - 2] == b'=' {
                return None;
            }
            Some(Left { key: key_before_operator(window, begin)?, opening: Opening::Bare })
        }
        b'>' => Some(Left { key: name::of_element(window, begin)?, opening: Opening::Tag }),
        _ => None,
    }
}

/// Skips white space leftwards from `end`. Line ends count as white space if `lines`.
pub(super) fn skip_space(text: &[u8], end: usize, lines: bool) -> usize {
    let leftmost = end.saturating_sub(SPACE_MAX);
    let mut end = end;
    while end > leftmost {
        let byte = text[end - 1];
        if !(is_space(byte) || lines && matches!(byte, b'\n' | b'\r')) {
            break;
        }
        end -= 1;
    }
    end
}

/// Returns the key of a value whose quote is at `open`.
fn key_before_quote(window: &Window<'_>, open: usize) -> Option<Range<usize>> {
    let text = window.text;
    let prefixed = skip_prefix(text, open);
    let end = skip_space(text, prefixed, true);
    match *text.get(end.checked_sub(1)?)? {
        b'=' | b':' | b'>' | b'-' | b'|' | b'?' => key_before_operator(window, end),
        b'(' => key_of_call(window, end - 1),
        b',' => first_argument(window, end - 1),
        b'{' => name::plain(window, end - 1),
        byte if is_key(byte) && end < prefixed => key_before_word(window, end, true),
        _ => None,
    }
}

/// Returns where a string's prefix begins, as in `b"..."`, `r#"..."#`, `@"..."`.
fn skip_prefix(text: &[u8], open: usize) -> usize {
    let mut begin = open;
    while begin > 0 && open - begin < 3 && text[begin - 1] == b'#' {
        begin -= 1;
    }
    let letters = begin;
    while begin > 0
        && letters - begin < 2
        && matches!(text[begin - 1] | 0x20, b'b' | b'r' | b'f' | b'u' | b'l')
        && text[begin - 1].is_ascii_alphabetic()
    {
        begin -= 1;
    }
    if begin > 0 && matches!(text[begin - 1], b'@' | b'$') {
        return begin - 1;
    }
    // The last letters of a longer word are not a prefix.
    if begin < letters && begin > 0 && is_key(text[begin - 1]) { open } else { begin }
}

/// Returns the key of a value that follows white space.
fn key_before_space(window: &Window<'_>, begin: usize) -> Option<Range<usize>> {
    let text = window.text;
    let end = skip_space(text, begin, false);
    match *text.get(end.checked_sub(1)?)? {
        b'=' | b':' | b'>' => key_before_operator(window, end),
        byte if is_key(byte) => key_before_word(window, end, false),
        _ => None,
    }
}

/// Returns the key of a value, quoted or not, that follows a word and white space.
fn key_before_word(window: &Window<'_>, end: usize, quoted: bool) -> Option<Range<usize>> {
    let text = window.text;
    let word = name::plain(window, end)?;
    let is_one_of = |words: &[&[u8]], range: &Range<usize>| {
        words.iter().any(|known| text[range.clone()].eq_ignore_ascii_case(known))
    };
    if is_scheme(&text[word.clone()]) {
        let before = *text.get(word.start.checked_sub(1)?)?;
        return match before {
            _ if is_quote(before) => {
                let mut open = word.start - 1;
                while open > 0 && text[open - 1] == b'\\' {
                    open -= 1;
                }
                key_before_quote(window, open)
            }
            b'=' | b':' => key_before_operator(window, word.start),
            b' ' | b'\t' => {
                let end = skip_space(text, word.start, false);
                let operator = text.get(end.checked_sub(1)?)?;
                matches!(operator, b'=' | b':').then(|| key_before_operator(window, end))?
            }
            b'-' => is_option(text, &word).then_some(word),
            _ => None,
        };
    }
    if is_option(text, &word) {
        return Some(word);
    }
    let before = skip_space(text, word.start, false);
    if quoted && text[word.clone()].eq_ignore_ascii_case(b"or") && before < word.start {
        return name::any(window, before, false);
    }
    if before == word.start || before == 0 || !is_key(text[before - 1]) {
        return None;
    }
    let command = name::plain(window, before)?;
    is_one_of(&COMMANDS, &command).then_some(word)
}

/// Recognises `--word`, and `-word` unless it may be a group of single-letter options.
fn is_option(text: &[u8], word: &Range<usize>) -> bool {
    let dashes = text[..word.start].iter().rev().take(3).take_while(|&&byte| byte == b'-').count();
    let before = text[..word.start - dashes].last();
    let begins = before.is_none_or(|&byte| byte.is_ascii_whitespace() || is_quote(byte));
    begins && (dashes == 2 || dashes == 1 && word.len() >= 4)
}

/// Returns the key before an operator that ends at `end`.
fn key_before_operator(window: &Window<'_>, end: usize) -> Option<Range<usize>> {
    let text = window.text;
    let before = |count: usize| end.checked_sub(count).and_then(|at| text.get(at)).copied();
    let (length, typed) = match (before(3), before(2), before(1)?) {
        (Some(b'='), Some(b'='), b'=')
        | (Some(b'|'), Some(b'|'), b'=')
        | (Some(b'?'), Some(b'?'), b'=') => (3, false),
        (_, Some(b'!' | b'<' | b'>'), b'=') => return None,
        (_, Some(b'=' | b':' | b'?' | b'+' | b'.'), b'=') => (2, false),
        (_, _, b'=') => (1, true),
        (_, Some(b':'), b':') => return None,
        (_, Some(b'?'), b':') => {
            // `key?: "value"` marks an optional key, `key ?: "value"` gives a default: the key is
            // the same.
            (2, false)
        }
        (_, _, b':') => (1, false),
        (_, Some(b'='), b'>') | (_, Some(b'<'), b'-') => (2, false),
        (_, Some(b'|'), b'|') | (_, Some(b'?'), b'?') => (2, false),
        _ => return None,
    };
    let key = name::any(window, skip_space(text, end - length, false), typed)?;
    Some(name::of_value_field(window, &key).unwrap_or(key))
}

/// Returns the key if the value is the first argument of the call whose `(` is at `paren`.
fn key_of_call(window: &Window<'_>, paren: usize) -> Option<Range<usize>> {
    let text = window.text;
    let callee_end = if paren > 0 && text[paren - 1] == b'!' { paren - 1 } else { paren };
    let callee = name::plain(window, callee_end)?;
    let segment_begin = text[callee.clone()]
        .iter()
        .rposition(|&byte| byte == b'.')
        .map_or(callee.start, |dot| callee.start + dot + 1);
    let segment = &text[segment_begin..callee.end];
    if !WRAPPERS.iter().any(|wrapper| segment.eq_ignore_ascii_case(wrapper)) {
        return Some(callee);
    }
    // A wrapper around the value: `Some(`, `String::from(`, `new Secret(`.
    let mut begin = callee.start;
    let mut owner = None;
    while begin >= 3 && text[..begin].ends_with(b"::") && is_key(text[begin - 3]) {
        let path = name::plain(window, begin - 2)?;
        begin = path.start;
        owner.get_or_insert(path);
    }
    let mut end = skip_space(text, begin, true);
    if text[..end].ends_with(b"new") {
        end = skip_space(text, end - 3, true);
    }
    match text.get(end.checked_sub(1)?)? {
        b'=' | b':' => key_before_operator(window, end),
        b'(' => {
            let outer = name::plain(window, end - 1)?;
            let wraps =
                WRAPPERS.iter().any(|wrapper| text[outer.clone()].eq_ignore_ascii_case(wrapper));
            if wraps { owner } else { Some(outer) }
        }
        b',' => first_argument(window, end - 1),
        _ => owner.or_else(|| (segment_begin > callee.start).then_some(callee)),
    }
}

/// Returns the first argument of a call as the key, if the value follows the `,` at `comma`.
fn first_argument(window: &Window<'_>, comma: usize) -> Option<Range<usize>> {
    let text = window.text;
    let end = skip_space(text, comma, true);
    let key = name::any(window, end, false)?;
    let mut before = key.start;
    while before > 0 && (is_quote(text[before - 1]) || text[before - 1] == b'\\') {
        before -= 1;
    }
    let before = skip_space(text, before, true);
    (*text.get(before.checked_sub(1)?)? == b'(').then_some(key)
}
