//! Decoders: what encoded text says, one layer deep, and where each decoded byte came from.
//!
//! | file | idea |
//! |---|---|
//! | `decoded` | the decoded bytes, and the map from their positions to the source's |
//! | `text` | whether decoded bytes are text |
//! | `base64`, `hex` | stretches of digits |
//! | `escaped` | what both escapes have in common: how far a stretch goes |
//! | `url`, `json` | the escapes themselves |
//! | `utf16` | two-byte units |
//!
//! Each decoder decodes a window that the caller chooses. Long encoded text is decoded in windows that overlap, and
//! **it makes no difference where they begin**: a decoded byte depends on the few source bytes that it came from and,
//! for wrapped lines and backslashes, on [`DECODE_MARGIN`] bytes around them. A caller that shows each rule the same
//! bytes around a position, as the detector of rules does, finds the same wherever an object is cut, and
//! wherever in an object the encoded text stands.
//!
//! Invariants:
//! - [`Decoded::source_of`] is exact: the smallest range of the source from which the decoded bytes came;
//! - nothing is allocated once a [`Decoded`] has grown.
//!
//! Not guaranteed: that what is decoded was meant to be encoded. `a%20b` may be a format string.

mod base64;
mod decoded;
mod escaped;
mod hex;
mod json;
mod text;
mod url;
mod utf16;

#[cfg(test)]
mod tests;

pub use base64::{BASE64_PHASES, base64};
pub(crate) use base64::{
    BASE64_STRETCH_MIN, base64_begin, base64_end, base64_phase, begins_base64, gather_base64,
    is_base64, may_be_base64,
};
pub use decoded::Decoded;
pub use escaped::{EscapeKind, escaped};
pub(crate) use escaped::{NEAR_AFTER, NEAR_BEFORE};
pub use hex::{HEX_PHASES, hex};
pub(crate) use hex::{begins_hex, hex_stretch};
pub(crate) use text::is_in_text;
pub(crate) use utf16::{UTF16_SPAN_MIN, utf16_span};
pub use utf16::{utf16, utf16_guess};

/// How deep a line of wrapped Base64 may be indented.
const INDENTATION_MAX: usize = 64;

/// How far around a byte a decoder looks to know what the byte belongs to: a line of Base64 and its line break, or an
/// escape and the backslashes before it.
pub const DECODE_MARGIN: usize = 256;

const _: () = assert!(base64::WRAPPED_LINE_MIN + INDENTATION_MAX + 2 <= DECODE_MARGIN);
const _: () = assert!(escaped::ESCAPE_BEFORE <= DECODE_MARGIN);
