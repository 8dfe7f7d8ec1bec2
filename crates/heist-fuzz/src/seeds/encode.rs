//! Simple encoders, the counterparts of the decoders under test.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes in Base64 without padding.
pub(super) fn base64(text: &[u8]) -> String {
    let group = |bytes: &[u8]| -> String {
        let bits = (0..3).fold(0_u32, |bits, at| {
            bits << 8 | u32::from(bytes.get(at).copied().unwrap_or_default())
        });
        let digit = |place: usize| char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63]);
        (0..=bytes.len()).map(digit).collect()
    };
    text.chunks(3).map(group).collect()
}

/// Wraps digits into lines of 64.
pub(super) fn wrapped(digits: &str, line_break: &str) -> String {
    let lines = digits.as_bytes().chunks(64);
    lines.map(|line| String::from_utf8_lossy(line).into_owned() + line_break).collect()
}

pub(super) fn hex(text: &[u8]) -> String {
    text.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Escapes everything except most letters and digits.
pub(super) fn url_escaped(text: &[u8]) -> String {
    escaped(text, |byte| format!("%{byte:02X}"))
}

/// Escapes everything except most letters and digits.
pub(super) fn json_escaped(text: &[u8]) -> String {
    escaped(text, |byte| format!("\\u{byte:04x}"))
}

fn escaped(text: &[u8], escape: fn(u8) -> String) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() && !byte.is_multiple_of(5);
    let write =
        |&byte: &u8| if is_plain(byte) { char::from(byte).to_string() } else { escape(byte) };
    text.iter().map(write).collect()
}

/// Encodes in UTF-16 with a byte order mark.
pub(super) fn utf16(text: &[u8], high_first: bool) -> Vec<u8> {
    let units = std::iter::once(0xFEFF).chain(text.iter().map(|&byte| u16::from(byte)));
    units
        .flat_map(|unit| if high_first { unit.to_be_bytes() } else { unit.to_le_bytes() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist_scan::decode::{Decoded, base64 as decode};

    #[test]
    fn encoded_text_is_decoded_again() {
        let text = b"a text of some length, in which three fit";
        for length in text.len() - 3..=text.len() {
            let mut decoded = Decoded::new();
            let encoded = base64(&text[..length]);
            assert!(decode(encoded.as_bytes(), 0..encoded.len(), 0, &mut decoded));
            assert_eq!(decoded.bytes, &text[..length]);
        }
        assert_eq!(url_escaped(b"a-d"), "a%2D%64");
        assert_eq!(json_escaped(b"-"), "\\u002d");
        assert_eq!(utf16(b"a", true), [0xFE, 0xFF, 0, b'a']);
    }
}
