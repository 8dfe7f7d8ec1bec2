//! What `heist du` can print. Each format writes to one stream and knows nothing of files and terminals, but for
//! [`Output::names`] and [`Output::columns`].

mod csv;
mod extensions;
mod gnu;
mod json;
mod ncdu;
mod text;

use super::arguments::Format;
use super::view::View;
use crate::color::Colors;
use crate::escape;
use heist_walk::FileKind;
use heist_walk::usage::Usage;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

/// How names are written where the format itself does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Byte for byte.
    Raw,
    /// Fit to be seen by a terminal.
    Shown,
}

/// Where output goes, and what that can do.
#[derive(Debug)]
pub(crate) struct Output<W> {
    pub(crate) out: W,
    pub(crate) names: Names,
    pub(crate) colors: Colors,
    /// How wide it is; `None` if lines may have any length.
    pub(crate) columns: Option<usize>,
}

impl<W: Write> Output<W> {
    /// Writes a name or path.
    fn name(&mut self, name: &[u8]) -> io::Result<()> {
        match self.names {
            Names::Raw => self.out.write_all(name),
            Names::Shown => self.out.write_all(shown(name).as_bytes()),
        }
    }
}

/// Writes what was measured.
///
/// # Errors
/// Those of writing.
pub(crate) fn write(usage: &Usage, view: &View, output: &mut Output<impl Write>) -> io::Result<()> {
    match view.format {
        Format::Text if view.by_extension => extensions::write_text(usage, view, output),
        Format::Text => text::write(usage, view, output),
        Format::Du => gnu::write(usage, view, output),
        Format::Json => json::write(usage, view, &mut output.out),
        Format::Ncdu => ncdu::write(usage, output),
        Format::Csv if view.by_extension => extensions::write_csv(usage, view, output),
        Format::Csv => csv::write(usage, view, output),
    }?;
    output.out.flush()
}

/// A name, fit to be seen by a terminal.
fn shown(name: &[u8]) -> std::borrow::Cow<'_, str> {
    escape::for_terminal(os_str(name))
}

#[cfg(unix)]
fn os_str(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

#[cfg(not(unix))]
fn os_str(bytes: &[u8]) -> &OsStr {
    // Names come from the system as text there, and roots from the command line do, too.
    OsStr::new(std::str::from_utf8(bytes).unwrap_or("?"))
}

/// What a root is, where there is no tree that says so.
fn root_kind(path: &Path, view: &View) -> FileKind {
    let asked = if view.follows_roots { path.metadata() } else { path.symlink_metadata() };
    // It was there a moment ago.
    asked.map_or(FileKind::Other, |metadata| metadata.file_type().into())
}

/// What a kind of entry is called in `json` and `csv`.
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
