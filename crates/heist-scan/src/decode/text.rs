//! Whether decoded bytes are text. Random bytes are not: of twelve of them about one in a thousand passes.

/// How many decoded bytes the first look is at. Most runs of digits are no encoded text, and end here.
pub(super) const HEAD: usize = 12;

/// Whether a block of decoded bytes, cut anywhere, is text: hardly a control character, and either mostly ASCII or
/// UTF-8.
pub(super) fn is_text(block: &[u8]) -> bool {
    let mut printable = 0;
    let mut control = 0;
    for &byte in block {
        let is_printable = matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        printable += usize::from(is_printable);
        control += usize::from(!is_printable && byte < 0x80);
    }
    control * 16 <= block.len() && (printable * 8 >= block.len() * 7 || is_utf8_inside(block))
}

/// Whether it is UTF-8 apart from the characters that its ends cut through.
fn is_utf8_inside(block: &[u8]) -> bool {
    let cut = block.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    match std::str::from_utf8(&block[cut..]) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::XorShift64;

    #[test]
    fn text_is_text_and_random_bytes_are_not() {
        for text in [
            "user:password",
            "{\"alg\":\"HS256\"",
            "line\r\n\tline",
            "Übergrößenträger",
            "пароль: дом",
        ] {
            assert!(is_text(text.as_bytes()), "{text}");
            assert!(is_text(&text.as_bytes()[1..]), "{text} without its first byte");
        }
        let mut rng = XorShift64::new(5);
        let passed = (0..100_000)
            .filter(|_| is_text(&std::array::from_fn::<u8, HEAD, _>(|_| rng.next_u32() as u8)))
            .count();
        assert!(passed < 400, "{passed} of 100,000 random heads pass for text");
    }
}
