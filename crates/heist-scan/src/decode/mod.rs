//! Decoders: what encoded text says, one layer deep, and where each decoded byte came from.
//!
//! | file | idea |
//! |---|---|
//! | `decoded` | the decoded bytes, and the map from their positions to the source's |
//! | `text` | whether decoded bytes are text: who decodes to anything else is given up after a few bytes |
//! | `base64`, `hex` | runs of digits |
//! | `escaped` | what both escapes have in common: where a decode begins, how far it goes |
//! | `url`, `json` | the escapes themselves |
//! | `utf16` | whole chunks of two-byte units |
//!
//! Invariants:
//! - a decoder's result depends on the bytes from [`DECODE_BEFORE`] before `at` to [`DECODE_REACH`] after it, and on
//!   nothing else, so that it is the same wherever an object is cut;
//! - [`Decoded::source_of`] is exact: the smallest range of the source from which the decoded bytes came;
//! - nothing is allocated once a [`Decoded`] has grown.
//!
//! Text that is longer than the reach is decoded in overlapping pieces. `base64_starts`, `hex_starts` and
//! `escape_starts` say at which positions a piece begins: where the encoded text does, and then once in each
//! [`DECODE_STRIDE`] bytes of the object. Whoever decodes at just these positions misses nothing whose encoded form is
//! at most `DECODE_REACH - DECODE_STRIDE` bytes long, and pays for each byte about twice.
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

pub use base64::{BASE64_RUN_MIN, base64_at, base64_starts};
pub(crate) use base64::{Base64Begins, after_break};
pub use decoded::Decoded;
pub use escaped::{EscapeKind, escape_starts};
pub use hex::{HEX_RUN_MIN, hex_at, hex_starts};
pub use json::json_escaped_at;
pub use url::url_escaped_at;
pub use utf16::{utf16, utf16_guess};

/// No decoder looks further than this from where it starts.
pub const DECODE_REACH: usize = 16 * 1024;

/// No decoder looks further back than this.
pub const DECODE_BEFORE: usize = 1024;

/// In encoded text that goes on and on, a decode begins once in this many bytes of the object.
pub const DECODE_STRIDE: usize = 8 * 1024;

/// The cell of the object's grid of [`DECODE_STRIDE`] that a position lies in.
fn cell(offset: u64, at: usize) -> u64 {
    (offset + at as u64) / DECODE_STRIDE as u64
}

/// Whether a cell begins at this very position.
fn begins_cell(offset: u64, at: usize) -> bool {
    (offset + at as u64).is_multiple_of(DECODE_STRIDE as u64)
}

/// What a decoder that starts at `at` may look at from there on.
fn within_reach(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    &rest[..rest.len().min(DECODE_REACH)]
}
