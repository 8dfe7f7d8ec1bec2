//! `--format jsonl`: one JSON object per line and finding, then one that ends the report.
//!
//! ```json
//! {"rule": "github-personal-token", "description": "A GitHub token.", "path": "src/a.rs",
//!  "line": 3, "column": 9, "end_line": 3, "end_column": 49, "offset": 71, "length": 40,
//!  "fingerprint": "32 hexadecimal digits", "confidence": "certain",
//!  "reason": "its checksum holds", "encoding": "plain", "secret": "ghp_******2f",
//!  "excerpt": "let token = \"ghp_******2f\";"}
//! {"end": {"version": 1, "complete": true, "exit_code": 1, ...}}
//! ```
//!
//! - Lines and columns start at 1, and columns count bytes. `offset` starts at 0. The end is the
//!   position after the last byte.
//! - Equal secrets have equal fingerprints.
//! - If a path is not UTF-8, `path` has U+FFFD for the invalid bytes, and `path_bytes` has all
//!   bytes in base64. With `--show-secrets` the same holds for `secret` and `excerpt`.
//! - The last line is an object with the single key `end`, which no finding has. Its value is the
//!   [accounting](super::accounting) of the scan. A report without this line was cut off: heist was
//!   killed, or its output could not be written.

use super::{accounting, write_history, write_judgement, write_position};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::scan::reported_finding::ReportedFinding;
use crate::scan::summary::Summary;
use std::io::{self, Write};

/// The version of the format. It increases when a field changes its meaning or disappears.
const VERSION: u32 = 1;

/// Writes the line that ends the report.
pub(in crate::scan) fn write_end(
    summary: &Summary,
    exit: Exit,
    out: &mut impl Write,
) -> io::Result<()> {
    // One write, so that a reader of a pipe gets the whole line if it is short.
    let mut line = Vec::new();
    let mut object = JsonObject::begin(&mut line)?;
    let mut end = JsonObject::begin(object.field("end")?)?;
    end.plain("version", VERSION)?;
    accounting::write(summary, exit, &mut end)?;
    accounting::write_gaps(summary, &mut end)?;
    end.end()?;
    object.end()?;
    // Arrays have one element per line, which a line of `jsonl` must not have. (Strings contain no
    // newlines, only escapes.)
    line.retain(|&byte| byte != b'\n');
    line.push(b'\n');
    out.write_all(&line)
}

/// Writes the line of a finding.
pub(in crate::scan) fn write(finding: &ReportedFinding, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("rule", &finding.rule)?;
    object.text("description", &finding.description)?;
    write_position(finding, &mut object)?;
    object.plain("fingerprint", format_args!("\"{}\"", finding.fingerprint))?;
    write_judgement(finding, &mut object)?;
    write_history(finding, &mut object)?;
    object.bytes("secret", &finding.secret)?;
    object.bytes("excerpt", &finding.excerpt)?;
    object.end()?;
    out.write_all(b"\n")
}
