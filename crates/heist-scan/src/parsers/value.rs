//! The right side of an assignment: the bytes of a value, how it is opened, and where it ends.
//!
//! Invariant: a token never contains white space, quotes, angle brackets, backslashes, control
//! characters or bytes beyond ASCII, whatever opened it. So walking left from any of its bytes
//! leads to its beginning, without knowing how it was opened.

use super::Window;

/// The length of the longest value.
pub(super) const VALUE_LENGTH_MAX: usize = 512;

/// May occur in a quoted token.
const TOKEN: u8 = 1;
/// May occur in a token without quotes: excludes separators and brackets.
const BARE: u8 = 2;
/// May occur in a key without quotes.
const KEY: u8 = 4;
/// May come before a value, or ends a line.
const EDGE: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0x21_usize;
    while byte < 0x7f {
        let character = byte as u8;
        if !matches!(character, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') {
            classes[byte] |= TOKEN;
            let separates = matches!(
                character,
                b',' | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'&' | b'|'
            );
            if !separates {
                classes[byte] |= BARE;
            }
        }
        if character.is_ascii_alphanumeric() || matches!(character, b'_' | b'-' | b'.' | b'$') {
            classes[byte] |= KEY;
        }
        byte += 1;
    }
    let edges = b"\"'` \t=>\n";
    let mut edge = 0;
    while edge < edges.len() {
        classes[edges[edge] as usize] |= EDGE;
        edge += 1;
    }
    classes
};

pub(super) fn is_token(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & TOKEN != 0
}

pub(super) fn is_bare(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & BARE != 0
}

pub(super) fn is_key(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & KEY != 0
}

/// Returns `true` if a value may begin after this byte, or if it ends a line.
pub(super) fn is_edge(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & EDGE != 0
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The text before a value, which determines how the value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// A quote after this many backslashes: the text is itself inside a string.
    Quote { mark: u8, backslashes: usize },
    /// An element's tag.
    Tag,
    /// Nothing.
    Bare,
}

/// Which characters a value may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueAlphabet {
    /// See the module's invariant.
    Token,
    /// Between quotes: anything except a line end, with escapes. Without quotes: like `Token`.
    Text,
}

#[cfg(test)]
thread_local! {
    /// The total number of bytes that the searches for an end were allowed to read. Tests limit it.
    pub(super) static MAY_LOOK_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The reason why a value was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// It is longer than the limit. Searching further to the right would find the same text again.
    TooLong,
    /// It is empty, not closed, or not a literal.
    NoLiteral,
}

/// Returns where the value that begins at `begin` ends. Reads at most `length_max` bytes and the
/// closing quote.
pub(super) fn end_of_value(
    window: &Window<'_>,
    begin: usize,
    opening: Opening,
    alphabet: ValueAlphabet,
    length_max: usize,
) -> Result<usize, NoValue> {
    let text = window.text;
    let limit = text.len().min(begin + length_max + 1);
    #[cfg(test)]
    MAY_LOOK_AT.set(MAY_LOOK_AT.get() + limit.saturating_sub(begin));
    let within = |class: fn(u8) -> bool| {
        let length = text[begin..limit].iter().position(|&byte| !class(byte));
        match length.unwrap_or(limit - begin) {
            length if length > length_max => Err(NoValue::TooLong),
            length => Ok(begin + length),
        }
    };
    let literal = |holds: bool, end: usize| if holds { Ok(end) } else { Err(NoValue::NoLiteral) };
    let end = match (opening, alphabet) {
        (Opening::Quote { mark, backslashes }, ValueAlphabet::Text) => {
            let limit = text.len().min(limit + backslashes);
            match end_of_text(&text[..limit], begin, mark, backslashes)? {
                Some(end) => end,
                None if limit > begin + length_max => return Err(NoValue::TooLong),
                None => return Err(NoValue::NoLiteral),
            }
        }
        (Opening::Quote { mark, backslashes }, ValueAlphabet::Token) => {
            let end = within(is_token)?;
            literal(closes(text, end, mark, backslashes), end)?
        }
        (Opening::Tag, _) => {
            let end = within(is_token)?;
            literal(text[end..].starts_with(b"</"), end)?
        }
        (Opening::Bare, _) => {
            let end = within(is_bare)?;
            // The prefix of a string.
            let is_prefix = end - begin <= 2
                && text.get(end).is_some_and(|&mark| is_quote(mark))
                && is_prefix(&text[begin..end]);
            literal(!is_prefix && may_end_bare(window, end), end)?
        }
    };
    match end - begin {
        0 => Err(NoValue::NoLiteral),
        length if length > length_max => Err(NoValue::TooLong),
        _ => Ok(end),
    }
}

/// Returns `true` if a value without quotes may end at `end`. Before a call, an index, a block or a
/// generic type there is code, not a literal.
pub(super) fn may_end_bare(window: &Window<'_>, end: usize) -> bool {
    match window.text.get(end) {
        Some(byte) => !matches!(byte, b'(' | b'[' | b'{' | b'<'),
        None => window.ends_object,
    }
}

fn is_prefix(letters: &[u8]) -> bool {
    letters.iter().all(|byte| {
        matches!(byte | 0x20, b'b' | b'r' | b'f' | b'u' | b'l' | b'#' | b'$' | b'@' | b'`')
    })
}

fn closes(text: &[u8], end: usize, mark: u8, backslashes: usize) -> bool {
    text.get(end + backslashes) == Some(&mark)
        && text[end..end + backslashes].iter().all(|&byte| byte == b'\\')
}

/// Returns `Ok(None)` if the text ends first.
fn end_of_text(
    text: &[u8],
    begin: usize,
    mark: u8,
    backslashes: usize,
) -> Result<Option<usize>, NoValue> {
    let mut at = begin;
    loop {
        let Some(&byte) = text.get(at) else { return Ok(None) };
        match byte {
            b'\n' | b'\r' => return Err(NoValue::NoLiteral),
            b'\\' if backslashes == 0 => at += 2,
            b'\\' if closes(text, at, mark, backslashes) => return Ok(Some(at)),
            _ if byte == mark && backslashes == 0 => return Ok(Some(at)),
            _ if byte == mark => return Err(NoValue::NoLiteral),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, opening: Opening, alphabet: ValueAlphabet, expected: Option<&str>) {
        let window =
            Window { text: text.as_bytes(), at: 0, begins_object: true, ends_object: true };
        let found = end_of_value(&window, 0, opening, alphabet, VALUE_LENGTH_MAX);
        assert_eq!(found.ok().map(|end| &text[..end]), expected, "{text}");
    }

    #[test]
    fn values_end_with_the_quote_that_opened_them() {
        let double = Opening::Quote { mark: b'"', backslashes: 0 };
        let escaped = Opening::Quote { mark: b'"', backslashes: 1 };
        check("abc\" x", double, ValueAlphabet::Token, Some("abc"));
        check("abc' x", double, ValueAlphabet::Token, None);
        check("a b\" x", double, ValueAlphabet::Token, None);
        check("a b\" x", double, ValueAlphabet::Text, Some("a b"));
        check("a\\\"b\" x", double, ValueAlphabet::Text, Some("a\\\"b"));
        check("a\nb\"", double, ValueAlphabet::Text, None);
        check("abc\\\" x", escaped, ValueAlphabet::Token, Some("abc"));
        check("abc\\\" x", escaped, ValueAlphabet::Text, Some("abc"));
        check("abc\" x", escaped, ValueAlphabet::Text, None);
        check("abc</key>", Opening::Tag, ValueAlphabet::Token, Some("abc"));
        check("abc<key>", Opening::Tag, ValueAlphabet::Token, None);
        check("abc; x", Opening::Bare, ValueAlphabet::Token, Some("abc"));
        check("abc(x)", Opening::Bare, ValueAlphabet::Token, None);
        check("", Opening::Bare, ValueAlphabet::Token, None);
        check(&"a".repeat(513), Opening::Bare, ValueAlphabet::Token, None);
        check(&"a".repeat(512), Opening::Bare, ValueAlphabet::Token, Some(&"a".repeat(512)));
    }
    #[test]
    fn a_search_reads_no_more_than_its_limit() {
        let double = Opening::Quote { mark: b'"', backslashes: 0 };
        let escaped = Opening::Quote { mark: b'"', backslashes: 1 };
        for (opening, closing) in [(Opening::Bare, ""), (double, "\""), (escaped, "\\\"")] {
            for alphabet in [ValueAlphabet::Token, ValueAlphabet::Text] {
                for (length, expected) in [
                    (7, Ok(7)),
                    (8, Ok(8)),
                    (9, Err(NoValue::TooLong)),
                    (99, Err(NoValue::TooLong)),
                ] {
                    let text = "a".repeat(length) + closing;
                    let text = text.as_bytes();
                    let window = Window { text, at: 0, begins_object: true, ends_object: true };
                    let found = end_of_value(&window, 0, opening, alphabet, 8);
                    assert_eq!(found, expected, "{opening:?} {alphabet:?} {length}");
                }
            }
        }
    }
}
