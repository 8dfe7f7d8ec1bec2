//! What an object's first bytes say: text, or something that nobody types secrets into.

/// How much is looked at. As much for every chunk size, or a file would be text to some and binary to others.
pub(crate) const PROBE_BYTES: usize = 8 << 10;

/// Whether an object that begins like this is binary: there is a zero in it, and it is no UTF-16.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(PROBE_BYTES)];
    memchr::memchr(0, bytes).is_some() && !is_utf16(bytes)
}

/// Whether it is UTF-16, of either order: it says so by its mark, or every second byte is (mostly) zero and the others
/// never are.
fn is_utf16(bytes: &[u8]) -> bool {
    // FF FE 00 00 would be UTF-32.
    if (bytes.starts_with(&[0xff, 0xfe]) && !bytes.starts_with(&[0xff, 0xfe, 0, 0]))
        || bytes.starts_with(&[0xfe, 0xff])
    {
        return true;
    }
    let pairs = bytes.len() / 2;
    if pairs < 4 {
        return false;
    }
    let (mut first, mut second) = (0, 0);
    for pair in bytes.chunks_exact(2) {
        first += usize::from(pair[0] == 0);
        second += usize::from(pair[1] == 0);
    }
    let mostly = |zeros: usize| zeros * 4 >= pairs * 3;
    (first == 0 && mostly(second)) || (second == 0 && mostly(first))
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
        }
    }

    #[test]
    fn a_zero_makes_it_binary_if_it_is_among_the_first_bytes() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0"));
        assert!(is_binary(b"a\0"));
        assert!(is_binary(&[0; 4096]));
        let mut late = vec![b'a'; PROBE_BYTES];
        late.push(0);
        assert!(!is_binary(&late));
        late[PROBE_BYTES - 1] = 0;
        assert!(is_binary(&late));
    }
}
