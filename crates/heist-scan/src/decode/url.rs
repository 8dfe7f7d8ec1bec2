//! URL escapes: `%41` stands for one byte.

pub(super) fn parse<'a>(text: &[u8], bytes: &'a mut [u8; 4]) -> Option<(usize, &'a [u8])> {
    let [b'%', high, low, ..] = *text else { return None };
    bytes[0] = (hex_value(high)? << 4 | hex_value(low)?) as u8;
    Some((3, &bytes[..1]))
}

/// Returns the value of a hexadecimal digit.
pub(super) fn hex_value(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}
