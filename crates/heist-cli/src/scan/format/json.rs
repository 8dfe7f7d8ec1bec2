//! `--format json`: one object.
//!
//! ```json
//! {"format": "heist-scan", "version": 1, "complete": true, "files": 17, "bytes": 40961,
//!  "not_reported": {"below_confidence": 4, "allowed": 0, "in_baseline": 1, "ignored": 0, "own": 0,
//!                   "too_many": 0},
//!  "skipped": {"binary": 2, "too_large": 0, "special": 0, "symlinks": 0, "excluded": 1},
//!  "secrets": [
//!    {"fingerprint": "32 hexadecimal digits", "rule": "github-personal-token", "description": "A GitHub token.",
//!     "remedy": "Revoke it", "confidence": "certain", "secret": "ghp_******2f", "places": [
//!       {"rule": "github-personal-token", "path": "src/a.rs", "line": 3, "column": 9, "end_line": 3,
//!        "end_column": 49, "offset": 71, "length": 40,
//!        "confidence": "certain", "reason": "its checksum holds", "encoding": "plain",
//!        "excerpt": "let token = \"ghp_******2f\";"}]}],
//!  "incomplete": [{"path": "closed", "reason": "Permission denied"}], "incomplete_more": 0}
//! ```
//!
//! Fields of places are those of `jsonl`. `own` are findings in the output or the baseline itself, `too_many` those
//! for which there was no room. `complete` is false if there are any of these, if something in `incomplete` was not
//! scanned, or if the scan was ended early; then `ended` says by what: `interrupted` or `timeout`. `incomplete_more`
//! counts what is not in the list. `failed_rules`, if there are any, were needed and could not be used.
//! `configuration` is the configuration file that was used, if there was one.

use super::{Report, path_bytes, write_judgement, write_position};
use crate::escape::write_json_string;
use crate::json::{Object, array};
use crate::scan::place::{Group, Place, groups};
use crate::scan::summary::{Ended, Summary};
use std::io::{self, Write};

/// The version of the schema: raised when something in it changes its meaning or goes away.
const VERSION: u32 = 1;

/// Writes the object.
pub(super) fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let summary = report.summary;
    let mut object = Object::begin(out)?;
    object.text("format", "heist-scan")?;
    object.plain("version", VERSION)?;
    write_summary(summary, &mut object)?;
    array(object.field("secrets")?, groups(report.places), |out, group| write_group(&group, out))?;
    array(object.field("incomplete")?, &summary.gaps, |out, gap| {
        let mut object = Object::begin(out)?;
        object.bytes("path", path_bytes(&gap.path))?;
        object.text("reason", &gap.reason)?;
        object.end()
    })?;
    object.plain("incomplete_more", summary.gaps_more)?;
    if !summary.failed_rules.is_empty() {
        array(object.field("failed_rules")?, &summary.failed_rules, |out, rule| {
            write_json_string(out, rule.as_bytes())
        })?;
    }
    object.end()?;
    out.write_all(b"\n")
}

fn write_summary<W: Write>(summary: &Summary, object: &mut Object<'_, W>) -> io::Result<()> {
    object.plain("complete", summary.is_complete())?;
    if let Some(ended) = summary.ended {
        object.text(
            "ended",
            match ended {
                Ended::Interrupted => "interrupted",
                Ended::TimedOut => "timeout",
            },
        )?;
    }
    if let Some(configuration) = &summary.configuration {
        object.bytes("configuration", path_bytes(configuration))?;
    }
    object.plain("files", summary.files)?;
    object.plain("bytes", summary.bytes)?;
    let unreported = summary.unreported;
    let mut counts = Object::begin(object.field("not_reported")?)?;
    counts.plain("below_confidence", unreported.unsure)?;
    counts.plain("allowed", unreported.allowed)?;
    counts.plain("in_baseline", unreported.in_baseline)?;
    counts.plain("ignored", unreported.ignored)?;
    counts.plain("own", unreported.own)?;
    counts.plain("too_many", unreported.too_many)?;
    counts.end()?;
    let skipped = summary.skipped;
    let mut counts = Object::begin(object.field("skipped")?)?;
    counts.plain("binary", skipped.binary)?;
    counts.plain("too_large", skipped.too_large)?;
    counts.plain("special", skipped.special)?;
    counts.plain("symlinks", skipped.symlinks)?;
    counts.plain("excluded", skipped.excluded)?;
    counts.end()
}

fn write_group(group: &Group<'_>, out: &mut impl Write) -> io::Result<()> {
    let surest = group.surest();
    let mut object = Object::begin(out)?;
    object.plain("fingerprint", format_args!("\"{}\"", surest.fingerprint))?;
    object.text("rule", &surest.rule)?;
    object.text("description", &surest.description)?;
    object.text("remedy", &surest.remedy)?;
    object.text("confidence", surest.confidence.as_str())?;
    object.bytes("secret", &surest.secret)?;
    array(object.field("places")?, &group.places, |out, place| write_place(place, out))?;
    object.end()
}

fn write_place(place: &Place, out: &mut impl Write) -> io::Result<()> {
    let mut object = Object::begin(out)?;
    object.text("rule", &place.rule)?;
    write_position(place, &mut object)?;
    write_judgement(place, &mut object)?;
    object.bytes("excerpt", &place.excerpt)?;
    object.end()
}
