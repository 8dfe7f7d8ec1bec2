//! `--format jsonl`: an object for each place, each in a line of its own.
//!
//! ```json
//! {"rule": "github-personal-token", "description": "A GitHub token.", "path": "src/a.rs", "line": 3, "column": 9,
//!  "end_line": 3, "end_column": 49, "offset": 71, "length": 40, "fingerprint": "32 hexadecimal digits",
//!  "confidence": "certain", "reason": "its checksum holds", "encoding": "plain", "secret": "ghp_******2f",
//!  "excerpt": "let token = \"ghp_******2f\";"}
//! ```
//!
//! - Lines and columns are counted from 1, columns in bytes; `offset` is counted from 0. The end is that after the last
//!   byte.
//! - `fingerprint` is the same for the same secret, wherever it is.
//! - A path that is not UTF-8 has U+FFFD in it, and `path_bytes` beside it with its bytes in base64. With
//!   `--show-secrets` the same holds for `secret` and `excerpt`.

use super::{write_judgement, write_position};
use crate::json::Object;
use crate::scan::place::Place;
use std::io::{self, Write};

/// Writes the line of a place.
pub(in crate::scan) fn write(place: &Place, out: &mut impl Write) -> io::Result<()> {
    let mut object = Object::begin(out)?;
    object.text("rule", &place.rule)?;
    object.text("description", &place.description)?;
    write_position(place, &mut object)?;
    object.plain("fingerprint", format_args!("\"{}\"", place.fingerprint))?;
    write_judgement(place, &mut object)?;
    object.bytes("secret", &place.secret)?;
    object.bytes("excerpt", &place.excerpt)?;
    object.end()?;
    out.write_all(b"\n")
}
