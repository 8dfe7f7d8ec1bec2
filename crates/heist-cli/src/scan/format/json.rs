//! `--format json`: one JSON object.
//!
//! ```json
//! {"format": "heist-scan", "version": 1, "complete": true, "files": 17, "bytes": 40961,
//!  "not_reported": {"below_confidence": 4, "allowed": 0, "in_baseline": 1, "ignored": 0, "own": 0,
//!                   "too_many": 0},
//!  "skipped": {"binary": 2, "too_large": 0, "special": 0, "symlinks": 0, "excluded": 1},
//!  "secrets": [
//!    {"fingerprint": "32 hexadecimal digits", "rule": "github-personal-token",
//!     "description": "A GitHub token.",
//!     "remedy": "Revoke it", "confidence": "certain", "secret": "ghp_******2f", "places": [
//!       {"rule": "github-personal-token", "path": "src/a.rs", "line": 3, "column": 9,
//!        "end_line": 3, "end_column": 49, "offset": 71, "length": 40,
//!        "confidence": "certain", "reason": "its checksum holds", "encoding": "plain",
//!        "excerpt": "let token = \"ghp_******2f\";"}]}],
//!  "incomplete": [{"path": "closed", "reason": "Permission denied"}], "incomplete_more": 0}
//! ```
//!
//! - The elements of `places` have the fields of `jsonl`.
//! - `own` counts findings in the output, trace or baseline of this run, `too_many` findings that
//!   did not fit into memory.
//! - `complete` is false if `too_many` is not 0, if `incomplete` lists anything, or if the scan
//!   ended early; then `ended` is `interrupted` or `timeout`.
//! - `incomplete_more` counts incomplete paths that are not in the list.
//! - `failed_rules`, if present, are rules that are too large to be used.
//! - `configurations`, if present, are the configuration files in use: the `user`'s, then that of
//!   the scanned `tree`, with the keys that have no effect because a tree may not set them.
//!   `configuration` is the path of the last one.

use super::{Report, path_bytes, write_judgement, write_position};
use crate::escape::write_json_string;
use crate::json::{JsonObject, write_array};
use crate::scan::reported_finding::{ReportedFinding, SecretGroup, group_by_secret};
use crate::scan::settings::ConfigurationInUse;
use crate::scan::summary::{EndedEarly, Summary};
use std::io::{self, Write};

/// The version of the schema. It increases when a field changes its meaning or disappears.
const VERSION: u32 = 1;

/// Writes the object.
pub(super) fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let summary = report.summary;
    let mut object = JsonObject::begin(out)?;
    object.text("format", "heist-scan")?;
    object.plain("version", VERSION)?;
    write_summary(summary, &mut object)?;
    write_array(object.field("secrets")?, group_by_secret(report.findings), |out, group| {
        write_group(&group, out)
    })?;
    write_array(object.field("incomplete")?, &summary.gaps, |out, gap| {
        let mut object = JsonObject::begin(out)?;
        object.bytes("path", path_bytes(&gap.path))?;
        object.text("reason", &gap.reason)?;
        object.end()
    })?;
    object.plain("incomplete_more", summary.gaps_more)?;
    if !summary.failed_rules.is_empty() {
        write_array(object.field("failed_rules")?, &summary.failed_rules, |out, rule| {
            write_json_string(out, rule.as_bytes())
        })?;
    }
    object.end()?;
    out.write_all(b"\n")
}

fn write_summary<W: Write>(summary: &Summary, object: &mut JsonObject<'_, W>) -> io::Result<()> {
    object.plain("complete", summary.is_complete())?;
    if let Some(ended) = summary.ended {
        object.text(
            "ended",
            match ended {
                EndedEarly::Interrupted => "interrupted",
                EndedEarly::TimedOut => "timeout",
            },
        )?;
    }
    if let Some(nearest) = summary.configurations.last() {
        object.bytes("configuration", path_bytes(&nearest.path))?;
        write_array(object.field("configurations")?, &summary.configurations, |out, file| {
            write_configuration(file, out)
        })?;
    }
    object.plain("files", summary.files)?;
    object.plain("bytes", summary.bytes)?;
    let unreported = summary.unreported;
    let mut counts = JsonObject::begin(object.field("not_reported")?)?;
    counts.plain("below_confidence", unreported.below_confidence)?;
    counts.plain("allowed", unreported.allowed)?;
    counts.plain("in_baseline", unreported.in_baseline)?;
    counts.plain("ignored", unreported.in_gitleaksignore)?;
    counts.plain("own", unreported.in_own_files)?;
    counts.plain("too_many", unreported.over_limit)?;
    counts.end()?;
    let skipped = summary.skipped;
    let mut counts = JsonObject::begin(object.field("skipped")?)?;
    counts.plain("binary", skipped.binary)?;
    counts.plain("too_large", skipped.too_large)?;
    counts.plain("special", skipped.special)?;
    counts.plain("symlinks", skipped.symlinks)?;
    counts.plain("excluded", skipped.excluded)?;
    counts.end()
}

fn write_configuration(file: &ConfigurationInUse, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.bytes("path", path_bytes(&file.path))?;
    object.text("from", if file.is_of_tree { "tree" } else { "user" })?;
    write_array(object.field("refused")?, &file.refused, |out, key| {
        write_json_string(out, key.as_bytes())
    })?;
    object.end()
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
    object.bytes("excerpt", &finding.excerpt)?;
    object.end()
}
