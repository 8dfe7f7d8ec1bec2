//! Makes file names safe to print: on a terminal, in messages and in JSON.
//!
//! A file name can contain almost any bytes, and an attacker may have chosen them. Invariant: the
//! output of [`for_terminal`] contains no control characters, no characters that reorder or hide
//! the text around them and no invalid UTF-8, and different names give different output. Not
//! guaranteed: that different letters look different.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Returns `true` if the character must not reach a terminal: it controls the terminal, or it is
/// invisible or changes how the text around it is shown.
pub(crate) fn is_unsafe(character: char) -> bool {
    !heist_scan::is_printable(character)
}

/// Formats a file name for people: unsafe characters become escapes (`\n`, `\x1b`, `\u{202e}`), and
/// a backslash becomes two.
pub(crate) fn for_terminal(name: &OsStr) -> Cow<'_, str> {
    bytes_for_terminal(name.as_encoded_bytes())
}

/// Does the same for the bytes of a file name.
pub(crate) fn bytes_for_terminal(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.chars().any(|character| character == '\\' || is_unsafe(character))
    {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            // Writing to a string cannot fail.
            let _ = match character {
                '\\' => escaped.write_str("\\\\"),
                '\n' => escaped.write_str("\\n"),
                '\t' => escaped.write_str("\\t"),
                '\r' => escaped.write_str("\\r"),
                ascii if ascii.is_ascii_control() => {
                    write!(escaped, "\\x{:02x}", u32::from(ascii))
                }
                other if is_unsafe(other) => write!(escaped, "\\u{{{:x}}}", u32::from(other)),
                plain => escaped.write_char(plain),
            };
        }
        for byte in chunk.invalid() {
            let _ = write!(escaped, "\\x{byte:02x}");
        }
    }
    Cow::Owned(escaped)
}

/// Formats text for people: unsafe characters become escapes. Unlike in a file name, backslashes
/// stay as they are.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    // Most text is printable ASCII, and bytes are faster to check than characters.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !is_unsafe(character) {
            escaped.push(character);
        } else if character.is_ascii() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\x{:02x}", u32::from(character));
        } else {
            let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
        }
    }
    Cow::Owned(escaped)
}

/// Shortens text to at most `columns` columns; `…` replaces the end of a longer text. `text` must
/// be safe to print.
pub(crate) fn shortened(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut end = 0;
    for (position, character) in text.char_indices() {
        let next = position + character.len_utf8();
        // Measure the whole prefix: characters can combine, so widths do not add up.
        if text[..next].width() + 1 > columns {
            break;
        }
        end = next;
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

/// Writes a JSON string. Unsafe characters are escaped, so that the output can be printed as it is;
/// invalid UTF-8 becomes U+FFFD.
pub(crate) fn write_json_string(out: &mut impl Write, name: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut rest = name;
    loop {
        let (plain, other) = rest.split_at(plain_length(rest));
        out.write_all(plain)?;
        if other.is_empty() {
            break;
        }
        // `other` starts with a byte that is not plain. Escape everything up to the next plain
        // byte.
        let end = other.iter().position(|&byte| is_plain(byte)).unwrap_or(other.len());
        for chunk in other[..end].utf8_chunks() {
            write_json_characters(out, chunk.valid())?;
            if !chunk.invalid().is_empty() {
                out.write_all("\u{fffd}".as_bytes())?;
            }
        }
        rest = &other[end..];
    }
    out.write_all(b"\"")
}

/// Returns the number of plain bytes at the beginning.
fn plain_length(bytes: &[u8]) -> usize {
    // Blocks without a branch for each byte, so that the compiler can use vector instructions.
    let is_plain_block = |block: &&[u8; 16]| block.iter().fold(true, |all, &b| all & is_plain(b));
    let in_blocks = 16 * bytes.as_chunks().0.iter().take_while(is_plain_block).count();
    in_blocks + bytes[in_blocks..].iter().take_while(|&&byte| is_plain(byte)).count()
}

/// Returns `true` if the byte stands for itself in a JSON string and is not part of a longer
/// character.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// Writes characters one by one, with escapes. Most texts need this for few characters.
fn write_json_characters(out: &mut impl Write, text: &str) -> io::Result<()> {
    for character in text.chars() {
        match character {
            '"' => out.write_all(b"\\\"")?,
            '\\' => out.write_all(b"\\\\")?,
            '\n' => out.write_all(b"\\n")?,
            plain if !is_unsafe(plain) => {
                out.write_all(plain.encode_utf8(&mut [0; 4]).as_bytes())?;
            }
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
    }
    Ok(())
}

/// Writes bytes in base64, with padding (RFC 4648, section 4).
pub(crate) fn write_base64(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |shift: u32| DIGITS[(bits >> shift & 63) as usize];
        let mut digits = [digit(18), digit(12), digit(6), digit(0)];
        digits[group.len() + 1..].fill(b'=');
        out.write_all(&digits)?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::{for_terminal, shortened, visible, write_base64, write_json_string};
    use std::ffi::OsStr;
    use unicode_width::UnicodeWidthStr;

    fn shown(name: &[u8]) -> String {
        // On Unix, any bytes are a valid name.
        use std::os::unix::ffi::OsStrExt;
        for_terminal(OsStr::from_bytes(name)).into_owned()
    }

    #[test]
    fn plain_names_are_unchanged() {
        for name in ["a", "with space", "日本語", "é", "100%", "'"] {
            assert_eq!(shown(name.as_bytes()), name);
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown(b"a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(shown(b"\x1b[31m\x7f\x00"), "\\x1b[31m\\x7f\\x00");
        assert_eq!(shown("\u{85}\u{9b}31m".as_bytes()), "\\u{85}\\u{9b}31m");
        assert_eq!(shown("a\u{202e}b\u{2066}".as_bytes()), "a\\u{202e}b\\u{2066}");
        assert_eq!(shown("a\u{ad}b\u{3164}\u{fe0f}".as_bytes()), "a\\u{ad}b\\u{3164}\\u{fe0f}");
        assert_eq!(shown(b"caf\xe9\xff"), "caf\\xe9\\xff");
    }

    #[test]
    fn a_name_that_looks_like_an_escape_differs_from_the_escape() {
        assert_eq!(shown(b"a\\nb"), "a\\\\nb");
    }

    #[test]
    fn no_byte_pair_leaves_an_unsafe_character() {
        for first in 0..=255 {
            for second in 0..=255 {
                let shown = shown(&[first, second]);
                assert!(!shown.chars().any(super::is_unsafe), "{first} {second}: {shown:?}");
            }
        }
    }

    #[test]
    fn text_keeps_its_backslashes() {
        assert_eq!(visible("C:\\new \x1b[0m\u{202e}"), "C:\\new \\x1b[0m\\u{202e}");
        assert_eq!(visible("plain"), "plain");
    }

    #[test]
    fn shortened_text_fits() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "ab…");
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!(shortened("日本語", 4), "日…");
        for columns in 1..8 {
            assert!(shortened("e\u{301}日本e\u{301}abc", columns).width() <= columns);
        }
    }

    #[test]
    fn a_parser_reads_json_strings_back() {
        for name in ["plain", "\"\\/", "\n\r\t\u{1}\u{7f}", "\u{202e}\u{e0001}", "日本語 🦀"] {
            let mut json = Vec::new();
            write_json_string(&mut json, name.as_bytes()).expect("memory takes everything");
            assert_eq!(serde_json::from_slice::<String>(&json).expect("valid"), name);
        }
        let mut json = Vec::new();
        write_json_string(&mut json, b"a\xffb").expect("memory takes everything");
        assert_eq!(json, "\"a\u{fffd}b\"".as_bytes());
    }

    #[test]
    fn base64_follows_the_rfc() {
        let cases: [(&[u8], &str); 8] = [
            (b"", ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"fooba", "Zm9vYmE="),
            (b"foobar", "Zm9vYmFy"),
            (b"\xff\xfe\xfd", "//79"),
        ];
        for (bytes, expected) in cases {
            let mut encoded = Vec::new();
            write_base64(&mut encoded, bytes).expect("memory takes everything");
            assert_eq!(encoded, expected.as_bytes());
        }
    }
}
