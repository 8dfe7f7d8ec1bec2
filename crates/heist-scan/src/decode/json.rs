//! Escapes of JSON and of string literals in most languages: `\u0041`, `\x41`, `\n`, `\/`.
//!
//! Half a surrogate pair stands for no character; it is decoded to `?`.

use super::url::hex_value;

/// The longest run of backslashes that is interpreted. In longer runs, a decoder could not tell
/// from nearby bytes which backslash escapes which, so the rest of the run stays as it is.
pub(super) const BACKSLASHES_MAX: usize = 64;

/// Returns `true` if the backslash at `at` is not escaped by another one.
pub(super) fn is_unescaped(text: &[u8], at: usize) -> bool {
    let behind = text[..at].iter().rev().take(BACKSLASHES_MAX);
    let backslashes = behind.take_while(|&&byte| byte == b'\\').count();
    backslashes < BACKSLASHES_MAX && backslashes % 2 == 0
}

pub(super) fn parse<'a>(text: &[u8], bytes: &'a mut [u8; 4]) -> Option<(usize, &'a [u8])> {
    let [b'\\', kind, ..] = *text else { return None };
    let simple = match kind {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0C,
        b'"' | b'\'' | b'/' | b'\\' => kind,
        b'x' => hex_number(text.get(2..4)?)? as u8,
        b'u' => return parse_unicode(text, bytes),
        _ => return None,
    };
    bytes[0] = simple;
    Some((if kind == b'x' { 4 } else { 2 }, &bytes[..1]))
}

/// Parses `\uXXXX`, two of them for a surrogate pair, or `\u{X...}`.
fn parse_unicode<'a>(text: &[u8], bytes: &'a mut [u8; 4]) -> Option<(usize, &'a [u8])> {
    let (len, code) = if text.get(2) == Some(&b'{') {
        let digits = text[3..].iter().take(7).position(|&byte| byte == b'}')?;
        (digits + 4, hex_number(&text[3..3 + digits])?)
    } else {
        let unit = hex_number(text.get(2..6)?)?;
        match text.get(6..12).and_then(low_surrogate) {
            Some(low) if (0xD800..0xDC00).contains(&unit) => {
                (12, 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
            }
            _ => (6, unit),
        }
    };
    let character = char::from_u32(code).unwrap_or('?');
    Some((len, character.encode_utf8(bytes).as_bytes()))
}

/// Returns the second half of a surrogate pair if `escape` is one.
fn low_surrogate(escape: &[u8]) -> Option<u32> {
    let unit = hex_number(escape.strip_prefix(b"\\u")?)?;
    (0xDC00..0xE000).contains(&unit).then_some(unit)
}

/// Parses one to six hexadecimal digits.
fn hex_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0, |number, &digit| Some(number << 4 | hex_value(digit)?))
}
