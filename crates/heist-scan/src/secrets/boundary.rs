//! Word boundaries: a word begins after any byte except a letter or digit, and after an escape
//! sequence even if that ends with a letter or digit.
//!
//! In `"\\nghp_..."` and `token%3Dghp_...` the token begins a word although a letter comes right
//! before it, because that letter belongs to the escape sequence.

/// The length of the longest escape sequence that is recognised.
pub(crate) const ESCAPE_BYTES_MAX: usize = 8;

/// Returns how many bytes from `at` on belong to an escape sequence that begins before `at`: 1 for
/// `\\n`, 5 for `\\u000a`, 2 for `%3D`, 3 for a terminal's `ESC [31m`.
#[inline]
pub(crate) fn escape_ahead(text: &[u8], at: usize) -> usize {
    let rest = &text[at..];
    let has_hex = |from: usize, count: usize| {
        let digits = rest.get(from..from + count);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    match (text[..at].last(), rest.first()) {
        (Some(b'\\'), Some(b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'a' | b'0')) => 1,
        (Some(b'\\'), Some(b'u')) if has_hex(1, 4) => 5,
        (Some(b'\\'), Some(b'x')) if has_hex(1, 2) => 3,
        (Some(b'%'), Some(_)) if has_hex(0, 2) => 2,
        (Some(b'[' | b';'), Some(b'0'..=b'9')) => colour_ahead(text, at),
        _ => 0,
    }
}

/// Returns the length of the rest of a terminal's colour sequence (`31m`) if its beginning comes
/// right before `at`.
#[cold]
fn colour_ahead(text: &[u8], at: usize) -> usize {
    let begun = text[at.saturating_sub(ESCAPE_BYTES_MAX)..at]
        .iter()
        .rev()
        .find(|byte| !matches!(byte, b'[' | b';' | b'0'..=b'9'));
    let digits = text[at..].iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    if begun == Some(&0x1b) && text.get(at + digits) == Some(&b'm') { digits + 1 } else { 0 }
}

/// Returns `true` if an escape sequence that ends with a letter or digit comes right before `at`.
#[inline]
fn ends_escape(text: &[u8], at: usize) -> bool {
    (1..=ESCAPE_BYTES_MAX.min(at)).any(|back| escape_ahead(text, at - back) == back)
}

/// Returns `true` if a word begins at `at`.
#[inline]
pub(crate) fn begins_word(text: &[u8], at: usize) -> bool {
    at == 0 || !text[at - 1].is_ascii_alphanumeric() || ends_escape(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_begins_after_an_escape() {
        for before in ["", " ", "\\n", "\\u000a", "x\\x41", "%3D", "\x1b[31m", "\x1b[0;31m", "%"] {
            let text = format!("{before}WORD");
            assert!(begins_word(text.as_bytes(), before.len()), "{text:?}");
        }
        for before in ["n", "%D", "\\q", "[31m", "u000a", "x3D", "%zz", "\x1b[31", "\x1b[3100m"] {
            let text = format!("{before}WORD");
            assert!(!begins_word(text.as_bytes(), before.len()), "{text:?}");
        }
    }
}
