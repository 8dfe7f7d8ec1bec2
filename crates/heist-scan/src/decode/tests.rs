//! Tests of the decoders: round trips, maps, reach, cuts, and arbitrary bytes.

use super::*;
use crate::encoding::Encoding;

#[test]
fn utf16_is_decoded_unit_by_unit() {
    let mut decoded = Decoded::new();
    utf16(b"a\0\x3d\xd8b\0", Encoding::Utf16Le, &mut decoded);
    assert_eq!(decoded.bytes, b"a\xFFb");
    assert_eq!(decoded.source_of(2..3), 4..6);
}
