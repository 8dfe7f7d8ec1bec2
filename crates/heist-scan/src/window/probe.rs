//! Decides from the first bytes of an object whether it is text or binary.
//!
//! A few zero bytes must not turn a text into a binary file: anyone could hide a text from the scan
//! that way. So the share of control characters decides. In compiled, compressed and drawn files it
//! is high (a random byte is one with a probability of 11 %), in text it is nearly zero.
//!
//! Only [`utf16_guess`] decides what is UTF-16, so an object that passes as UTF-16 here is also
//! decoded as UTF-16 later.

use crate::decode::utf16_guess;

/// The number of bytes examined. It does not depend on the chunk size, or a file could be text with
/// one chunk size and binary with another.
pub(crate) const PROBE_BYTES: usize = 8 << 10;

/// An object is binary if at least one in this number of bytes is a control character. In 59,122
/// files with a zero byte of a Linux system and of a crate registry, all but 0.3 % have more.
const CONTROL_SHARE: usize = 16;

/// Returns `true` if an object that begins with `bytes` is binary: it contains a zero byte, many
/// of its bytes are control characters, and it is not UTF-16.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(PROBE_BYTES)];
    // Most objects contain no zeros at all, so this check is the fast path.
    memchr::memchr(0, bytes).is_some()
        && bytes.iter().filter(|&&byte| is_control(byte)).count() * CONTROL_SHARE >= bytes.len()
        && utf16_guess(bytes).is_none()
}

/// Returns `true` for control characters that text does not use. Text uses those for white space,
/// backspace (manual pages) and escape (colours, and the encodings of Japanese).
fn is_control(byte: u8) -> bool {
    (byte < b' ' && !matches!(byte, 0x08..=0x0D | 0x1B)) || byte == 0x7F
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            // Only the beginning is examined.
            let mut begins = utf16(&text.repeat(30), to_bytes);
            begins.extend([0; 4096]);
            assert!(!is_binary(&begins));
        }
    }

    #[test]
    fn many_control_characters_among_the_first_bytes_make_an_object_binary() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0"));
        assert!(is_binary(b"a\0"));
        assert!(is_binary(&[0; 4096]));
        assert!(is_binary(b"\xff\xfe\0\0a\0\0\0"), "UTF-32");
        // Small two-byte numbers: every second byte is zero, as in UTF-16, but the others are not
        // text.
        let numbers: Vec<u8> = (0..2048_u16).flat_map(|at| (at * 7 % 256).to_le_bytes()).collect();
        assert!(is_binary(&numbers));
        // Random bytes, as in a compressed file.
        let mut state = 1_u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        assert!(is_binary(&random.take(PROBE_BYTES).collect::<Vec<u8>>()));
        // What comes later does not count.
        let mut late = vec![b'a'; PROBE_BYTES];
        late.extend([0; PROBE_BYTES]);
        assert!(!is_binary(&late));
        late.drain(..PROBE_BYTES / 8);
        assert!(is_binary(&late));
    }

    #[test]
    fn lists_that_end_their_entries_with_zero_bytes_are_text() {
        // As in `/proc/PID/environ`, or from `find -print0`.
        assert!(!is_binary(&b"AWS_SECRET_ACCESS_KEY=something\0PATH=/usr/bin:/bin\0".repeat(9)));
    }

    proptest! {
        #[test]
        fn a_few_zero_bytes_do_not_make_a_text_binary(
            text in "[ -~\u{80}-\u{2fff}\n\t\r]{1024,2048}",
            places in prop::collection::vec(any::<prop::sample::Index>(), 1..=8),
        ) {
            let mut bytes = text.into_bytes();
            for place in places {
                bytes.insert(place.index(bytes.len()), 0);
            }
            prop_assert!(!is_binary(&bytes));
        }
    }
}
