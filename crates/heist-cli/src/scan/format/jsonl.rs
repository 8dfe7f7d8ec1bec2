//! `--format jsonl`: one JSON object per line and finding.
//!
//! ```json
//! {"rule": "github-personal-token", "description": "A GitHub token.", "path": "src/a.rs",
//!  "line": 3, "column": 9, "end_line": 3, "end_column": 49, "offset": 71, "length": 40,
//!  "fingerprint": "32 hexadecimal digits", "confidence": "certain",
//!  "reason": "its checksum holds", "encoding": "plain", "secret": "ghp_******2f",
//!  "excerpt": "let token = \"ghp_******2f\";"}
//! ```
//!
//! - Lines and columns start at 1, and columns count bytes. `offset` starts at 0. The end is the
//!   position after the last byte.
//! - Equal secrets have equal fingerprints.
//! - If a path is not UTF-8, `path` has U+FFFD for the invalid bytes, and `path_bytes` has all
//!   bytes in base64. With `--show-secrets` the same holds for `secret` and `excerpt`.

use super::{write_judgement, write_position};
use crate::json::JsonObject;
use crate::scan::reported_finding::ReportedFinding;
use std::io::{self, Write};

/// Writes one line.
pub(in crate::scan) fn write(finding: &ReportedFinding, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("rule", &finding.rule)?;
    object.text("description", &finding.description)?;
    write_position(finding, &mut object)?;
    object.plain("fingerprint", format_args!("\"{}\"", finding.fingerprint))?;
    write_judgement(finding, &mut object)?;
    object.bytes("secret", &finding.secret)?;
    object.bytes("excerpt", &finding.excerpt)?;
    object.end()?;
    out.write_all(b"\n")
}
