//! Decides whether decoded bytes count as text: they need [`TEXT_MIN`] printable ASCII characters
//! in a row. Tokens satisfy this in texts of any language; random bytes hardly ever do.

/// The number of consecutive printable characters that count as text. In random bytes, one position
/// in five million begins such a run.
pub(crate) const TEXT_MIN: usize = 16;

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Returns `true` if the `len` bytes contain [`TEXT_MIN`] printable characters in a row. Without
/// text, this only reads one or two bytes in sixteen.
pub(super) fn has_text(len: usize, byte_at: impl Fn(usize) -> u8) -> bool {
    let mut from = 0;
    while from + TEXT_MIN <= len {
        match (from..from + TEXT_MIN).rev().find(|&at| !is_printable(byte_at(at))) {
            Some(at) => from = at + 1,
            None => return true,
        }
    }
    false
}

/// Returns `true` if the byte at `at` belongs to a run of [`TEXT_MIN`] printable characters.
pub(crate) fn is_in_text(bytes: &[u8], at: usize) -> bool {
    let is_one = |byte: &&u8| is_printable(**byte);
    let behind = bytes[..at].iter().rev().take(TEXT_MIN).take_while(is_one).count();
    let ahead = bytes[at..].iter().take(TEXT_MIN).take_while(is_one).count();
    ahead > 0 && behind + ahead >= TEXT_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::rng::XorShift64;

    fn has(bytes: &[u8]) -> bool {
        has_text(bytes.len(), |at| bytes[at])
    }

    #[test]
    fn sixteen_printable_characters_in_a_row_are_text() {
        for begin in 0..20 {
            for len in 0..24 {
                let mut bytes = [0_u8; 44];
                bytes[begin..begin + len].fill(b'a');
                assert_eq!(has(&bytes), len >= TEXT_MIN, "{len} from {begin}");
                for at in 0..bytes.len() {
                    let is_in = len >= TEXT_MIN && (begin..begin + len).contains(&at);
                    assert_eq!(is_in_text(&bytes, at), is_in, "{at}: {len} from {begin}");
                }
            }
        }
        assert!(has(b"line\r\n\tline of it") && !has(b""));
    }

    #[test]
    fn random_bytes_are_not_text() {
        let mut rng = XorShift64::new(5);
        let passed = (0..100_000)
            .filter(|_| has(&std::array::from_fn::<u8, 30, _>(|_| rng.next_u32() as u8)))
            .count();
        assert!(passed < 10, "{passed} of 100,000 pieces of random bytes pass for text");
    }
}
