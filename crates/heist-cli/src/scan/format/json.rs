//! `--format json`: one JSON object.
//!
//! ```json
//! {"format": "heist-scan", "version": 1, "complete": true, "files": 17, ...,
//!  "secrets": [
//!    {"fingerprint": "32 hexadecimal digits", "rule": "github-personal-token",
//!     "description": "A GitHub token.",
//!     "remedy": "Revoke it", "confidence": "certain", "secret": "ghp_******2f", "places": [
//!       {"rule": "github-personal-token", "path": "src/a.rs", "line": 3, "column": 9,
//!        "end_line": 3, "end_column": 49, "offset": 71, "length": 40,
//!        "confidence": "certain", "reason": "its checksum holds", "encoding": "plain",
//!        "excerpt": "let token = \"ghp_******2f\";"}]}],
//!  "incomplete": [], "incomplete_more": 0}
//! ```
//!
//! - The elements of `places` have the fields of `jsonl`.
//! - The other fields are those of the [accounting](super::accounting).

use super::{Report, accounting, write_history, write_judgement, write_position};
use crate::json::{JsonObject, write_array};
use crate::scan::reported_finding::{ReportedFinding, SecretGroup, group_by_secret};
use std::io::{self, Write};

/// The version of the schema. It increases when a field changes its meaning or disappears.
const VERSION: u32 = 1;

/// Writes the object.
pub(super) fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("format", "heist-scan")?;
    object.plain("version", VERSION)?;
    accounting::write(report.summary, report.exit, &mut object)?;
    write_array(object.field("secrets")?, group_by_secret(report.findings), |out, group| {
        write_group(&group, out)
    })?;
    accounting::write_gaps(report.summary, &mut object)?;
    object.end()?;
    out.write_all(b"\n")
}

fn write_group(group: &SecretGroup<'_>, out: &mut impl Write) -> io::Result<()> {
    let surest = group.surest();
    let mut object = JsonObject::begin(out)?;
    object.plain("fingerprint", format_args!("\"{}\"", surest.fingerprint))?;
    object.text("rule", &surest.rule)?;
    object.text("description", &surest.description)?;
    object.text("remedy", &surest.remedy)?;
    object.text("confidence", surest.confidence.as_str())?;
    object.bytes("secret", &surest.secret)?;
    write_array(object.field("places")?, &group.findings, |out, finding| {
        write_finding(finding, out)
    })?;
    object.end()
}

fn write_finding(finding: &ReportedFinding, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("rule", &finding.rule)?;
    write_position(finding, &mut object)?;
    write_judgement(finding, &mut object)?;
    write_history(finding, &mut object)?;
    object.bytes("excerpt", &finding.excerpt)?;
    object.end()
}
