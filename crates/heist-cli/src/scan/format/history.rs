//! How formats show a place in a git history.
//!
//! ```json
//! {"repository": ".", "text": "file", "path": "src/a.rs", "object": "40 hexadecimal digits",
//!  "commit": {"id": "...", "date": "2026-11-19T22:40:00Z", "author": "A U Thor",
//!             "email": "author@example.com", "subject": "Add a file"},
//!  "may_be_older": false, "status": "removed", "removed_by": {"id": "...", ...},
//!  "refs": ["main", "v1.0"], "ref_count": 2}
//! ```
//!
//! - `text` is `file`, `commit` or `tag`: what contains the secret, a version of a file or a
//!   message. `object` is its id.
//! - `commit` introduced the secret at this path. With `may_be_older`, the clone does not have the
//!   commit's parents.
//! - `status` is `in_head`, `removed` (by `removed_by`), `not_in_head` or `unreachable`.
//! - `refs` has the first names that lead to the commit, and `ref_count` counts all of them.

use super::TextStyle;
use super::text::counted;
use crate::color::Role;
use crate::escape;
use crate::json::JsonObject;
use crate::scan::history::{self, ScannedHistory};
use crate::scan::history_place::{ReportedCommit, ReportedFate, ReportedPlace};
use crate::scan::summary::Summary;
use crate::shell::quoted;
use heist_scan::HistoryText;
use std::ffi::OsString;
use std::io::{self, Write};

/// What to do about secrets in a history.
pub(super) const NEXT_STEPS: &str = "  \
     1. Revoke each secret where it was issued: every clone and fork has it, and keeps it.\n  \
     2. If it is still in HEAD, remove it from the file, and load it from the environment or a\n     \
     secret store.\n  \
     3. Rewriting the history (with git filter-repo) comes last, and only helps those who clone\n     \
     afterwards. It changes the ids of all later commits.";

/// The digits of an id that `text` shows.
const SHORT_ID: usize = 12;

/// Writes the lines of a place in `text`.
pub(super) fn write_text(
    place: &ReportedPlace,
    look: TextStyle,
    out: &mut impl Write,
) -> io::Result<()> {
    let colors = look.colors;
    let faint = |text: String| colors.paint(Role::Faint, text).to_string();
    if let Some(commit) = &place.commit {
        let older = if place.may_be_older { "  (or before: the clone is cut here)" } else { "" };
        writeln!(out, "      commit {}{older}", faint(commit_line(commit)))?;
    }
    match (&place.fate, place.text) {
        (ReportedFate::Unreachable, _) => writeln!(
            out,
            "      in object {}, which no branch and no tag leads to",
            short(&place.object)
        )?,
        (_, HistoryText::CommitMessage) => writeln!(out, "      in the message of this commit")?,
        (_, HistoryText::TagMessage) => {
            writeln!(out, "      in the message of tag {}", short(&place.object))?;
        }
        (ReportedFate::InHead, _) => writeln!(out, "      still in HEAD")?,
        (ReportedFate::Removed(by), _) => {
            writeln!(out, "      removed by {}", faint(commit_line(by)))?;
        }
        _ => writeln!(out, "      not in HEAD")?,
    }
    if !place.refs.is_empty() {
        let names: Vec<_> = place.refs.iter().map(|name| escape::visible(name)).collect();
        let more = place.ref_count.unwrap_or(0).saturating_sub(names.len() as u64);
        let more = match more {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more", "more")),
        };
        writeln!(out, "      on {}{more}", names.join(", "))?;
    }
    writeln!(out, "      {}", faint(look_command(place)))
}

fn commit_line(commit: &ReportedCommit) -> String {
    let day = commit.day().unwrap_or_else(|| "(no valid date)".to_owned());
    format!(
        "{}  {day}  {}  {}",
        short(&commit.id),
        escape::visible(&commit.author),
        escape::visible(&commit.subject)
    )
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// Returns the command that shows the text.
fn look_command(place: &ReportedPlace) -> String {
    let mut object = OsString::new();
    match (&place.commit, place.text) {
        (Some(commit), HistoryText::File) => {
            object.push(format!("{}:", short(&commit.id)));
            object.push(path_of(&place.path));
        }
        _ => object.push(short(&place.object)),
    }
    let repository = match place.repository.as_os_str() {
        here if here == "." => String::new(),
        there => format!("-C {} ", quoted(there)),
    };
    format!("git {repository}show {}", quoted(&object))
}

#[cfg(unix)]
fn path_of(path: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(path.to_vec())
}

#[cfg(not(unix))]
fn path_of(path: &[u8]) -> OsString {
    String::from_utf8_lossy(path).into_owned().into()
}

/// Writes what a report says about histories besides their counts.
pub(super) fn write_notes(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    history::notes(summary).iter().try_for_each(|note| writeln!(out, "Note: {note}."))
}

/// Writes the object of a place.
pub(super) fn write(place: &ReportedPlace, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.bytes("repository", place.repository.as_os_str().as_encoded_bytes())?;
    object.text(
        "text",
        match place.text {
            HistoryText::CommitMessage => "commit",
            HistoryText::TagMessage => "tag",
            _ => "file",
        },
    )?;
    if place.text == HistoryText::File {
        object.bytes("path", &place.path)?;
    }
    object.text("object", &place.object)?;
    if let Some(commit) = &place.commit {
        write_commit(commit, object.field("commit")?)?;
        object.plain("may_be_older", place.may_be_older)?;
    }
    let (status, removed_by) = match &place.fate {
        ReportedFate::InHead => ("in_head", None),
        ReportedFate::Removed(by) => ("removed", Some(by)),
        ReportedFate::NotInHead => ("not_in_head", None),
        ReportedFate::Unreachable => ("unreachable", None),
    };
    object.text("status", status)?;
    if let Some(by) = removed_by {
        write_commit(by, object.field("removed_by")?)?;
    }
    // In one line, as `jsonl` needs it.
    let out = object.field("refs")?;
    for (number, name) in place.refs.iter().enumerate() {
        out.write_all(if number == 0 { b"[" } else { b"," })?;
        escape::write_json_string(out, name.as_bytes())?;
    }
    out.write_all(if place.refs.is_empty() { b"[]" } else { b"]" })?;
    if let Some(count) = place.ref_count {
        object.number("ref_count", count)?;
    }
    object.end()
}

fn write_commit(commit: &ReportedCommit, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("id", &commit.id)?;
    if let Some(time) = commit.time() {
        object.text("date", &time)?;
    }
    object.text("author", &commit.author)?;
    object.text("email", &commit.email)?;
    object.text("subject", &commit.subject)?;
    object.end()
}

/// Writes the counts of a scanned history.
pub(super) fn write_scanned(scanned: &ScannedHistory, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.bytes("repository", scanned.repository.as_os_str().as_encoded_bytes())?;
    object.number("commits", scanned.commits)?;
    object.number("scanned", scanned.commits_scanned)?;
    object.number("refs", scanned.refs)?;
    let mut blobs = JsonObject::begin(object.field("blobs")?)?;
    blobs.number("scanned", scanned.blobs.scanned)?;
    blobs.number("binary", scanned.blobs.binary)?;
    blobs.number("too_large", scanned.blobs.too_large)?;
    blobs.number("interrupted", scanned.blobs.interrupted)?;
    blobs.end()?;
    object.number("messages", scanned.messages)?;
    object.number("bytes", scanned.bytes)?;
    let mut unreadable = JsonObject::begin(object.field("unreadable")?)?;
    unreadable.number("missing", scanned.missing)?;
    unreadable.number("damaged", scanned.damaged)?;
    unreadable.end()?;
    object.number("unreachable", scanned.unreachable)?;
    object.plain("shallow", scanned.is_shallow)?;
    object.plain("partial", scanned.is_partial)?;
    object.end()
}
