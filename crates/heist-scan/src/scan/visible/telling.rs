//! Finds the values beside names that tell of a secret: `password = ...`, `--token ...`,
//! `"auth": ["..."]`, `<secret>...</secret>`, in as many notations as possible.
//!
//! In doubt, a value is longer rather than shorter, and a name tells of a secret. (The rules decide
//! otherwise: they must not report what is none.)
//!
//! Invariant: what is found at a name depends only on the text within [`REACH`] of it.

use super::values::{begins_pair, value, xml_text};
use super::{Denied, REACH};
use crate::noise::is_known_word;
use std::ops::Range;

/// How far the letters that tell of a secret may be from the end of the name.
const NAME_MAX: usize = 64;

/// How far from the end of a name its values are masked.
const VALUE_REACH: usize = REACH - NAME_MAX;

/// Where a telling part of a name must begin and end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    /// Anywhere in a name.
    Anywhere,
    /// At the end of a word.
    End,
    /// It must be a word.
    Word,
}

/// The parts of names that tell of a secret, in lower case.
const TELLING: [(&[u8], Bounds); 22] = [
    (b"passw", Bounds::Anywhere),
    (b"passp", Bounds::Anywhere),
    (b"passc", Bounds::Anywhere),
    (b"pass", Bounds::End),
    (b"pwd", Bounds::Anywhere),
    (b"pw", Bounds::Word),
    (b"pat", Bounds::Word),
    (b"pin", Bounds::Word),
    (b"secret", Bounds::Anywhere),
    (b"session", Bounds::Anywhere),
    (b"salt", Bounds::Word),
    (b"sig", Bounds::Word),
    (b"token", Bounds::Anywhere),
    (b"auth", Bounds::Anywhere),
    (b"cred", Bounds::Anywhere),
    (b"cookie", Bounds::Anywhere),
    (b"key", Bounds::End),
    (b"bearer", Bounds::Anywhere),
    (b"basic", Bounds::Word),
    (b"jwt", Bounds::Word),
    (b"otp", Bounds::Word),
    (b"hmac", Bounds::Word),
];

/// The first two letters of these: one bit for each pair.
const BEGINNINGS: [u32; 32] = {
    let mut beginnings = [0; 32];
    let mut at = 0;
    while at < TELLING.len() {
        let part = TELLING[at].0;
        beginnings[(part[0] & 31) as usize] |= 1 << (part[1] & 31);
        at += 1;
    }
    beginnings
};

/// Returns `false` if no telling part begins with these bytes.
fn may_tell(first: u8, second: u8) -> bool {
    // The lowest five bits identify a letter regardless of its case.
    BEGINNINGS[usize::from(first & 31)] >> (second & 31) & 1 == 1
}

/// Last words of names that describe a secret. Their values are judged like any other text.
const DESCRIBING: [&str; 22] = [
    "type",
    "types",
    "length",
    "len",
    "size",
    "count",
    "ttl",
    "timeout",
    "expiry",
    "expires",
    "url",
    "uri",
    "endpoint",
    "host",
    "port",
    "algorithm",
    "alg",
    "version",
    "format",
    "enabled",
    "required",
    "path",
];

/// Names of fields that hold the value of a name given before: `{"name": "token", "value": "..."}`.
const FIELDS: [&str; 7] = ["value", "val", "content", "default", "data", "string", "text"];

/// A value beside a telling name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// Where the name ends.
    pub(super) name_end: usize,
    pub(super) place: Range<usize>,
}

/// Adds the values beside the telling names in `part`.
pub(super) fn add_values(
    text: &[u8],
    part: &Range<usize>,
    denied: &mut Denied,
    values: &mut Vec<Value>,
) {
    let mut at = part.start;
    while at + 2 <= part.end {
        if may_tell(text[at], text[at + 1])
            && is_telling(text, at)
            && let Some(end) = name_end(text, at)
        {
            let before = denied.0.len();
            add_beside(text, at, end, denied);
            for place in &denied.0[before..] {
                let lines = trimmed_lines(text, place);
                values.extend(lines.map(|place| Value { name_end: end, place }));
            }
            at = end;
        } else {
            at += 1;
        }
    }
}

/// Returns the lines of a value without space and signs around them, which belong to the notation.
fn trimmed_lines<'a>(
    text: &'a [u8],
    place: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let is_around = |byte: &&u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b';' | b',' | b')' | b'}' | b']' | b'"' | b'\'')
    };
    let mut at = place.start;
    text[place.clone()].split(|&byte| byte == b'\n').filter_map(move |line| {
        let begin = at + line.iter().take_while(is_around).count();
        let end = at + line.len() - line.iter().rev().take_while(is_around).count();
        at += line.len() + 1;
        (begin < end).then_some(begin..end)
    })
}

/// Returns `true` if a telling part of a name begins at `at`.
fn is_telling(text: &[u8], at: usize) -> bool {
    TELLING.iter().any(|&(part, bounds)| {
        let end = at + part.len();
        let is_here = text.get(at..end).is_some_and(|here| here.eq_ignore_ascii_case(part));
        is_here
            && (bounds != Bounds::Word || at == 0 || is_change(text[at - 1], text[at]))
            && (bounds == Bounds::Anywhere || ends_word(text, end))
            && !(part == b"auth" && is_author(&text[end..]))
    })
}

/// Returns `true` if a word may end between these two bytes.
fn is_change(before: u8, after: u8) -> bool {
    !before.is_ascii_alphabetic()
        || !after.is_ascii_alphabetic()
        || before.is_ascii_lowercase() && after.is_ascii_uppercase()
}

/// Returns `true` if a word, or its plural, ends at `end`.
fn ends_word(text: &[u8], end: usize) -> bool {
    let ends = |end: usize| text.get(end).is_none_or(|&next| is_change(text[end - 1], next));
    ends(end) || text.get(end).is_some_and(|byte| byte | 0x20 == b's') && ends(end + 1)
}

/// Returns `true` for what follows `auth` in `author`, but not in `authorization`.
fn is_author(rest: &[u8]) -> bool {
    let follows =
        |word: &[u8]| rest.get(..word.len()).is_some_and(|x| x.eq_ignore_ascii_case(word));
    follows(b"or") && !follows(b"oriz") && !follows(b"oris")
}

/// Returns `true` for the bytes of a name.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$')
}

/// Returns where the name around `at` ends, if that is near.
fn name_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..text.len().min(at + NAME_MAX)];
    let length = rest.iter().position(|&byte| !is_name(byte));
    let length = length.or((at + rest.len() == text.len()).then_some(rest.len()))?;
    // `token->value`: the operator begins with the minus.
    let dashes = rest[..length].iter().rev().take_while(|byte| matches!(byte, b'-' | b'.')).count();
    Some(at + length - dashes)
}

/// Returns `true` if the last word of a name says that the value only describes a secret.
fn is_describing(name: &[u8]) -> bool {
    let begin = (1..name.len()).rev().find(|&at| is_change(name[at - 1], name[at]));
    let last = &name[begin.unwrap_or(0)..];
    DESCRIBING.iter().any(|word| last.eq_ignore_ascii_case(word.as_bytes()))
}

/// Adds what is assigned to the name that ends at `end`. Its telling part begins at `telling`.
fn add_beside(text: &[u8], telling: usize, end: usize, denied: &mut Denied) {
    if is_describing(&text[telling..end]) {
        return;
    }
    let text = &text[..text.len().min(end + VALUE_REACH)];
    let name = text[..telling].iter().rev().take(NAME_MAX).take_while(|&&byte| is_name(byte));
    if text[..telling - name.count()].ends_with(b"</") {
        // The end of an element, whose text is its value.
        return;
    }
    let (at, is_closed) = after_closing(text, end);
    let spaced = skip_spaces(text, at);
    let rest = &text[spaced..];
    if let Some(length) = operator(rest) {
        return add_values_of_line(text, spaced + length, denied);
    }
    match rest {
        [b'>', ..] if spaced == at => xml_text(text, at + 1, denied),
        [b'(', ..] if !is_closed => {
            value(text, spaced, denied);
        }
        [b',', ..] if is_closed => {
            let next = skip_spaces(text, spaced + 1);
            if text.get(next).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\')) {
                add_values_of_line(text, next, denied);
            } else {
                add_field(text, spaced, denied);
            }
        }
        [b'a'..=b'z' | b'A'..=b'Z', ..] if spaced == at && !is_closed => {}
        _ if add_field(text, at, denied) => {}
        _ if spaced > at => add_bare(text, telling, spaced, denied),
        _ => {}
    }
}

/// Returns where the signs that close a name end, and whether there are any.
fn after_closing(text: &[u8], end: usize) -> (usize, bool) {
    let mut at = end;
    while at < text.len() && at < end + 10 {
        at += match &text[at..] {
            [b'"' | b'\'' | b'`' | b']' | b')' | b'}' | b'?' | b'!' | b'*', ..] => 1,
            [b'\\', b'"' | b'\'' | b'\\' | b'`', ..] => 1,
            rest if rest.starts_with(b"&quot;") => 6,
            rest if rest.starts_with(b"%22") => 3,
            _ => break,
        };
    }
    (at, at > end)
}

fn skip_spaces(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Returns the length of the operator that begins here.
fn operator(rest: &[u8]) -> Option<usize> {
    let signs =
        |byte: &&u8| matches!(byte, b'=' | b':' | b'>' | b'<' | b'-' | b'~' | b'?' | b'+' | b'|');
    let length = rest.iter().take(4).take_while(signs).count();
    let length = match &rest[..length] {
        signs if signs.starts_with(b"->") || signs.starts_with(b"<-") => 2,
        signs => signs.iter().rposition(|byte| matches!(byte, b'=' | b':')).map_or(0, |at| at + 1),
    };
    if length > 0 {
        // `=>` has one sign more.
        return Some(
            length + usize::from(rest.get(length) == Some(&b'>') && rest[length - 1] == b'='),
        );
    }
    let escaped = |text: &[u8]| rest.get(..3).is_some_and(|here| here.eq_ignore_ascii_case(text));
    (escaped(b"%3d") || escaped(b"%3a")).then_some(3)
}

/// Adds the value at `from`, and strings after it up to the next name or the end of the line:
/// `token = get("...") or "..."`.
fn add_values_of_line(text: &[u8], from: usize, denied: &mut Denied) {
    let mut at = value(text, from, denied);
    let next = skip_spaces(text, at);
    // A type comes before the value: `token: str = "..."`.
    if let Some(length) = operator(&text[next..]) {
        at = value(text, next + length, denied);
    }
    while at < text.len() && text[at] != b'\n' {
        let before = at;
        at = match text[at] {
            b'"' | b'\'' | b'`' | b'\\' if !begins_pair(text, at) => {
                value_if_quoted(text, at, denied)
            }
            b' ' | b'\t' | b',' | b';' | b'{' | b'(' | b'&' if begins_pair(text, at + 1) => return,
            b'"' | b'\'' | b'`' => return,
            _ => at + 1,
        };
        at = at.max(before + 1);
    }
}

fn value_if_quoted(text: &[u8], at: usize, denied: &mut Denied) -> usize {
    let is_quoted =
        text[at] != b'\\' || text.get(at + 1).is_some_and(|byte| matches!(byte, b'"' | b'\''));
    if is_quoted { value(text, at, denied) } else { at + 1 }
}

/// Adds the value of a field that follows a name: `name: token, value: ...`. Returns `true` if
/// there is one.
fn add_field(text: &[u8], from: usize, denied: &mut Denied) -> bool {
    let mut at = from;
    // The end of an element: `<key>token</key>`.
    if text[at..].starts_with(b"</") {
        let Some(close) = memchr::memchr(b'>', &text[at..]) else { return false };
        at += close + 1;
    }
    let between = |byte: &&u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b',' | b'"' | b'\'' | b'<' | b'\\' | b'-' | b'{' | b'}')
    };
    at += text[at..].iter().take_while(between).count();
    let length = text[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let field = &text[at..at + length];
    // `stringData`, `defaultValue`
    let is_field = FIELDS.iter().any(|known| {
        field.len() >= known.len()
            && (field[..known.len()].eq_ignore_ascii_case(known.as_bytes())
                || field[field.len() - known.len()..].eq_ignore_ascii_case(known.as_bytes()))
    });
    if !is_field {
        return false;
    }
    let (at, _) = after_closing(text, at + length);
    let spaced = skip_spaces(text, at);
    if text.get(at) == Some(&b'>') {
        xml_text(text, at + 1, denied);
    } else if let Some(length) = operator(&text[spaced..]) {
        add_values_of_line(text, spaced + length, denied);
    } else {
        return false;
    }
    true
}

/// Adds a value that only space separates from its name: `--token ...`, `password ...`.
fn add_bare(text: &[u8], telling: usize, from: usize, denied: &mut Denied) {
    let begin =
        text[..telling].iter().rev().take(NAME_MAX).take_while(|&&byte| is_name(byte)).count();
    let is_option = text[telling - begin] == b'-';
    let length = text[from..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let word = &text[from..from + length];
    let signs = word.iter().rev().take_while(|byte| matches!(byte, b',' | b'.' | b':' | b';'));
    let letters = &word[..length - signs.count()];
    if is_option || matches!(word.first(), Some(b'"' | b'\'' | b'`' | b'\\')) {
        value(text, from, denied);
    } else if word.first().is_some_and(u8::is_ascii_alphanumeric) && !is_known_word(letters) {
        denied.add(from..from + length);
    }
}
