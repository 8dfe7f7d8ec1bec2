//! The output formats of `heist du`.
//!
//! A format writes to one stream. All it knows about the terminal is in [`DuOutput`].

mod csv;
mod extensions;
mod gnu;
mod json;
mod ncdu;
mod text;

use super::arguments::DuFormat;
use super::view::View;
use crate::color::Colors;
use crate::escape;
use heist_walk::FileKind;
use heist_walk::usage::Usage;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

/// How file names are written in formats that do not define it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameStyle {
    /// Byte for byte.
    Raw,
    /// With escapes, safe to print on a terminal.
    Escaped,
}

/// The stream that output goes to, and its properties.
#[derive(Debug)]
pub(crate) struct DuOutput<W> {
    pub(crate) out: W,
    pub(crate) names: NameStyle,
    pub(crate) colors: Colors,
    /// The width in columns; `None` if lines may have any length.
    pub(crate) columns: Option<usize>,
}

impl<W: Write> DuOutput<W> {
    /// Writes a name or a path.
    fn name(&mut self, name: &[u8]) -> io::Result<()> {
        match self.names {
            NameStyle::Raw => self.out.write_all(name),
            NameStyle::Escaped => self.out.write_all(shown(name).as_bytes()),
        }
    }
}

/// Writes the measured tree in the format of the view.
///
/// # Errors
/// The stream cannot be written to.
pub(crate) fn write(
    usage: &Usage,
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    match view.format {
        DuFormat::Text if view.by_extension => extensions::write_text(usage, view, output),
        DuFormat::Text => text::write(usage, view, output),
        DuFormat::Du => gnu::write(usage, view, output),
        DuFormat::Json => json::write(usage, view, &mut output.out),
        DuFormat::Ncdu => ncdu::write(usage, output),
        DuFormat::Csv if view.by_extension => extensions::write_csv(usage, view, output),
        DuFormat::Csv => csv::write(usage, view, output),
    }?;
    output.out.flush()
}

/// Returns a name that is safe to print on a terminal.
fn shown(name: &[u8]) -> std::borrow::Cow<'_, str> {
    escape::for_terminal(os_str(name))
}

#[cfg(unix)]
fn os_str(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

#[cfg(not(unix))]
fn os_str(bytes: &[u8]) -> &OsStr {
    // On these systems both the file system and the command line give names as text.
    OsStr::new(std::str::from_utf8(bytes).unwrap_or("?"))
}

/// Returns the kind of a root when there is no tree that contains it.
fn root_kind(path: &Path, view: &View) -> FileKind {
    let asked = if view.follows_roots { path.metadata() } else { path.symlink_metadata() };
    // It may have been deleted since the walk.
    asked.map_or(FileKind::Other, |metadata| metadata.file_type().into())
}

/// Returns the name of a kind in `json` and `csv`.
fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "directory",
        FileKind::File => "file",
        FileKind::Symlink => "symlink",
        FileKind::Fifo => "fifo",
        FileKind::Socket => "socket",
        FileKind::CharacterDevice => "character-device",
        FileKind::BlockDevice => "block-device",
        _ => "other",
    }
}
