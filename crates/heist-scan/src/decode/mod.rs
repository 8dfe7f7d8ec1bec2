//! Decoders: turn encoded text into plain bytes, one layer deep, and record where each decoded byte
//! came from.
//!
//! | module | purpose |
//! |---|---|
//! | `decoded` | the decoded bytes, and the map from their positions back to the encoded text |
//! | `text` | decides whether decoded bytes are text |
//! | `base64`, `hex` | stretches of digits |
//! | `escaped` | what both kinds of escapes share: how far escaped text extends |
//! | `url`, `json` | the escapes themselves |
//! | `utf16` | two-byte units |
//!
//! Each decoder decodes a window that the caller chooses. Callers decode long text in overlapping
//! windows, and **where a window begins does not change the result**: a decoded byte only depends
//! on the few encoded bytes it came from and, for wrapped lines and backslashes, on
//! [`DECODE_MARGIN`] bytes around them. A caller that shows each rule the same bytes around a
//! position, as the rule detector does, therefore finds the same secrets wherever an object is cut
//! into chunks, and wherever in an object the encoded text is.
//!
//! Invariants:
//! - [`Decoded::source_of`] is exact: it returns the smallest range of the encoded text that the
//!   decoded bytes came from;
//! - decoding does not allocate once the buffers of a [`Decoded`] have grown.
//!
//! Not guaranteed: that the decoded text was meant to be encoded. `a%20b` may be a format string.

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
    BASE64_STRETCH_MIN, after_break, base64_begin, base64_end, base64_phase, begins_base64,
    gather_base64, is_base64, may_be_base64,
};
pub use decoded::Decoded;
pub use escaped::{EscapeKind, escaped};
pub(crate) use escaped::{NEAR_AFTER, NEAR_BEFORE};
pub use hex::{HEX_PHASES, hex};
pub(crate) use hex::{begins_hex, hex_stretch};
pub(crate) use text::is_in_text;
pub(crate) use utf16::{UTF16_SPAN_MIN, utf16_span};
pub use utf16::{utf16, utf16_guess};

/// The deepest indentation of a line of wrapped Base64.
const INDENTATION_MAX: usize = 64;

/// How many bytes around a byte a decoder looks at to decide what the byte belongs to: a line of
/// Base64 with its line break, or an escape and the backslashes before it.
pub const DECODE_MARGIN: usize = 256;

const _: () = assert!(base64::WRAPPED_LINE_MIN + INDENTATION_MAX + 2 <= DECODE_MARGIN);
const _: () = assert!(escaped::ESCAPE_BEFORE <= DECODE_MARGIN);
