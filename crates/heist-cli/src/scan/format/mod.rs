//! The output formats of `heist scan`. A format writes to one stream and knows nothing about its
//! destination except [`TextStyle`].

mod accounting;
mod columns;
mod history;
#[cfg(all(test, unix))]
mod hostile_tests;
mod json;
pub(super) mod jsonl;
mod sarif;
mod text;
mod uri;

use super::advice::Advice;
use super::arguments::ScanFormat;
use super::reported_finding::ReportedFinding;
use super::summary::Summary;
use crate::color::Colors;
use crate::exit::Exit;
use crate::json::JsonObject;
use std::io::{self, Write};
use std::path::Path;

/// Everything that a format prints.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// Sorted.
    pub(crate) findings: &'a [ReportedFinding],
    pub(crate) summary: &'a Summary,
    /// The exit code of the process.
    pub(crate) exit: Exit,
    /// Only `text` prints it.
    pub(crate) advice: &'a Advice,
}

/// How `text` is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextStyle {
    pub(crate) colors: Colors,
    /// The width in columns; `None` if lines may have any length.
    pub(crate) columns: Option<usize>,
}

/// Writes a report.
///
/// # Errors
/// The stream cannot be written to.
pub(crate) fn write(
    format: ScanFormat,
    report: &Report<'_>,
    look: TextStyle,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        ScanFormat::Text => text::write(report, look, out),
        ScanFormat::Json => json::write(report, out),
        ScanFormat::Jsonl => {
            report.findings.iter().try_for_each(|finding| jsonl::write(finding, out))?;
            jsonl::write_end(report.summary, report.exit, out)
        }
        ScanFormat::Sarif => sarif::write(report, out),
    }
}

/// Writes the location, which is the same in `json` and `jsonl`.
fn write_position<W: Write>(
    finding: &ReportedFinding,
    object: &mut JsonObject<'_, W>,
) -> io::Result<()> {
    object.bytes("path", path_bytes(&finding.path))?;
    object.number("line", finding.line)?;
    object.number("column", finding.column)?;
    object.number("end_line", finding.end_line)?;
    object.number("end_column", finding.end_column)?;
    object.number("offset", finding.offset.start)?;
    object.number("length", finding.offset.end.saturating_sub(finding.offset.start))
}

/// Writes how certain the finding is, and why.
fn write_judgement<W: Write>(
    finding: &ReportedFinding,
    object: &mut JsonObject<'_, W>,
) -> io::Result<()> {
    object.text("confidence", finding.confidence.as_str())?;
    object.text("reason", &finding.reason)?;
    if finding.is_by_tree {
        object.text("rule_from", "tree")?;
    }
    object.text("encoding", finding.encoding.as_str())
}

/// Writes where in a git history the finding is, if it is in one.
fn write_history<W: Write>(
    finding: &ReportedFinding,
    object: &mut JsonObject<'_, W>,
) -> io::Result<()> {
    match &finding.history {
        Some(place) => history::write(place, object.field("history")?),
        None => Ok(()),
    }
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
