//! Decides from the first bytes of an object whether it is text or binary.
//!
//! Only [`utf16_guess`] decides what is UTF-16, so an object that passes as UTF-16 here is also
//! decoded as UTF-16 later.

use crate::decode::utf16_guess;

/// The number of bytes examined. It does not depend on the chunk size, or a file could be text with
/// one chunk size and binary with another.
pub(crate) const PROBE_BYTES: usize = 8 << 10;

/// Returns `true` if an object that begins with `bytes` is binary: it contains a zero byte and is
/// not UTF-16.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(PROBE_BYTES)];
    memchr::memchr(0, bytes).is_some() && utf16_guess(bytes).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn text_is_not_binary_in_utf_8_and_in_utf_16() {
        let text = "password = \"something\"\n";
        assert!(!is_binary(text.as_bytes()));
        assert!(!is_binary(b""));
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert!(!is_binary(&utf16(text, to_bytes)));
            assert!(!is_binary(&utf16(&format!("\u{feff}Ж{text}"), to_bytes)));
            // These characters have their zero byte where the ASCII characters have their letter.
            let signs = format!("{}\u{3000}{text}\u{100}", text.repeat(3));
            assert!(!is_binary(&utf16(&signs, to_bytes)));
        }
    }

    #[test]
    fn a_zero_among_the_first_bytes_makes_an_object_binary() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0"));
        assert!(is_binary(b"a\0"));
        assert!(is_binary(&[0; 4096]));
        assert!(is_binary(b"\xff\xfe\0\0a\0\0\0"), "UTF-32");
        // Small two-byte numbers: every second byte is zero, as in UTF-16, but the others are not
        // text.
        let numbers: Vec<u8> = (0..2048_u16).flat_map(|at| (at * 7 % 256).to_le_bytes()).collect();
        assert!(is_binary(&numbers));
        let mut late = vec![b'a'; PROBE_BYTES];
        late.push(0);
        assert!(!is_binary(&late));
        late[PROBE_BYTES - 1] = 0;
        assert!(is_binary(&late));
    }
}
