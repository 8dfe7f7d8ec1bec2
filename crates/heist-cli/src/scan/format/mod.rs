//! What `heist scan` can print. Each format writes to one stream and knows nothing of files and terminals.

mod columns;
mod json;
pub(super) mod jsonl;
mod sarif;
mod text;
mod uri;

use super::advice::Advice;
use super::arguments::Format;
use super::place::Place;
use super::summary::Summary;
use crate::color::Colors;
use crate::exit::Exit;
use crate::json::Object;
use std::io::{self, Write};
use std::path::Path;

/// What is printed, all of it.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// Sorted.
    pub(crate) places: &'a [Place],
    pub(crate) summary: &'a Summary,
    /// How the process will end.
    pub(crate) exit: Exit,
    /// For `text`.
    pub(crate) advice: &'a Advice,
}

/// What the place that it goes to can do. For `text`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) colors: Colors,
    /// How wide it is; `None` if lines may have any length.
    pub(crate) columns: Option<usize>,
}

/// Writes a report.
///
/// # Errors
/// Those of writing.
pub(crate) fn write(
    format: Format,
    report: &Report<'_>,
    look: Look,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(report, look, out),
        Format::Json => json::write(report, out),
        Format::Jsonl => report.places.iter().try_for_each(|place| jsonl::write(place, out)),
        Format::Sarif => sarif::write(report, out),
    }
}

/// The fields of a place that `json` and `jsonl` have in common.
fn write_position<W: Write>(place: &Place, object: &mut Object<'_, W>) -> io::Result<()> {
    object.bytes("path", path_bytes(&place.path))?;
    object.number("line", place.line)?;
    object.number("column", place.column)?;
    object.number("end_line", place.end_line)?;
    object.number("end_column", place.end_column)?;
    object.number("offset", place.offset.start)?;
    object.number("length", place.offset.end.saturating_sub(place.offset.start))
}

/// Why it is thought to be a secret.
fn write_judgement<W: Write>(place: &Place, object: &mut Object<'_, W>) -> io::Result<()> {
    object.text("confidence", place.confidence.as_str())?;
    object.text("reason", &place.reason)?;
    object.text("encoding", place.encoding.as_str())
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
