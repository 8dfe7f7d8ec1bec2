//! What an object's first bytes say: text, or something that nobody types secrets into.
//!
//! What is UTF-16 is said in one place, [`utf16_guess`]: what passes here is what is decoded later.

use crate::decode::utf16_guess;

/// How much is looked at. As much for every chunk size, or a file would be text to some and binary to others.
pub(crate) const PROBE_BYTES: usize = 8 << 10;

/// Whether an object that begins like this is binary: there is a zero in it, and it is no UTF-16.
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
    fn text_is_text_also_in_utf_16() {
        let text = "password = \"something\"\n";
        assert!(!is_binary(text.as_bytes()));
        assert!(!is_binary(b""));
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert!(!is_binary(&utf16(text, to_bytes)));
            assert!(!is_binary(&utf16(&format!("\u{feff}Ж{text}"), to_bytes)));
            // In either order a byte of these is zero where others have their letter.
            let signs = format!("{}\u{3000}{text}\u{100}", text.repeat(3));
            assert!(!is_binary(&utf16(&signs, to_bytes)));
        }
    }

    #[test]
    fn a_zero_makes_it_binary_if_it_is_among_the_first_bytes() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0"));
        assert!(is_binary(b"a\0"));
        assert!(is_binary(&[0; 4096]));
        assert!(is_binary(b"\xff\xfe\0\0a\0\0\0"), "UTF-32");
        // Numbers of two bytes, most of them small: every second byte is zero, and the others are no text.
        let numbers: Vec<u8> = (0..2048_u16).flat_map(|at| (at * 7 % 256).to_le_bytes()).collect();
        assert!(is_binary(&numbers));
        let mut late = vec![b'a'; PROBE_BYTES];
        late.push(0);
        assert!(!is_binary(&late));
        late[PROBE_BYTES - 1] = 0;
        assert!(is_binary(&late));
    }
}
