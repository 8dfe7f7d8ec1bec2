//! `--format text`: for people. Each secret once, with all of its places; then what it comes to, and what to do next.

use super::{Look, Report};
use crate::color::Role;
use crate::escape;
use crate::scan::advice::Advice;
use crate::scan::place::{Group, Place, groups};
use crate::scan::summary::Summary;
use crate::units::{Unit, grouped};
use heist_scan::Confidence;
use std::borrow::Cow;
use std::io::{self, Write};

/// What stands before an excerpt.
const EXCERPT_INDENT: &str = "      ";

/// Writes the report.
pub(super) fn write(report: &Report<'_>, look: Look, out: &mut impl Write) -> io::Result<()> {
    let groups = groups(report.places);
    for group in &groups {
        write_group(group, look, out)?;
    }
    write_total(&groups, report, look, out)?;
    write_left_out(report.summary, out)?;
    if !groups.is_empty() {
        write_next_steps(report.advice, look, out)?;
    }
    Ok(())
}

fn write_group(group: &Group<'_>, look: Look, out: &mut impl Write) -> io::Result<()> {
    let surest = group.surest();
    let colors = look.colors;
    // Of a file that is a secret by its name there is nothing to be masked.
    let secret =
        if surest.offset.is_empty() { "the file itself".to_owned() } else { shown(&surest.secret) };
    writeln!(
        out,
        "{}  {}  {}",
        colors.paint(Role::Heading, escape::visible(surest.title())),
        colors.paint(Role::Alarm, secret),
        colors.paint(
            Role::Faint,
            format_args!("({}, {})", escape::visible(&surest.rule), surest.fingerprint)
        ),
    )?;
    for place in &group.places {
        write_place(place, surest, look, out)?;
    }
    writeln!(
        out,
        "    {}: {}",
        colors.paint(role_of(surest.confidence), surest.confidence),
        escape::visible(&surest.reason)
    )?;
    writeln!(
        out,
        "    {}: {}\n",
        colors.paint(Role::Good, "remedy"),
        escape::visible(&surest.remedy)
    )
}

fn write_place(place: &Place, surest: &Place, look: Look, out: &mut impl Write) -> io::Result<()> {
    let path = escape::for_terminal(place.path.as_os_str());
    let colors = look.colors;
    write!(out, "    {}", colors.paint(Role::Directory, path))?;
    // A file that is a secret by its name has no line.
    if !place.offset.is_empty() {
        write!(out, ":{}:{}", place.line, place.column)?;
    }
    if place.encoding != heist_scan::Encoding::Plain {
        write!(out, "  {}", colors.paint(Role::Faint, format_args!("in {}", place.encoding)))?;
    }
    if place.confidence != surest.confidence {
        let text = format!("{}: {}", place.confidence, escape::visible(&place.reason));
        write!(out, "  {}", colors.paint(Role::Faint, text))?;
    }
    writeln!(out)?;
    let excerpt = shown(place.excerpt.trim_ascii());
    if excerpt.is_empty() {
        return Ok(());
    }
    let excerpt = match look.columns {
        Some(columns) => {
            escape::shortened(&excerpt, columns.saturating_sub(EXCERPT_INDENT.len()).max(1))
        }
        None => Cow::Borrowed(&*excerpt),
    };
    writeln!(out, "{EXCERPT_INDENT}{excerpt}")
}

fn write_total(
    groups: &[Group<'_>],
    report: &Report<'_>,
    look: Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let summary = report.summary;
    let scanned = format!("{} ({})", files(summary.files), size(summary.bytes));
    if groups.is_empty() {
        let text = if summary.unreported.unsure > 0 {
            format!("No secrets of {} confidence or more", summary.confidence)
        } else {
            "No secrets".to_owned()
        };
        return writeln!(out, "{} in {scanned}.", look.colors.paint(Role::Good, text));
    }
    let mut levels = Vec::new();
    for confidence in Confidence::ALL.into_iter().rev() {
        match groups.iter().filter(|group| group.surest().confidence == confidence).count() {
            0 => {}
            count => levels.push(format!("{} {confidence}", grouped(count as u64))),
        }
    }
    let secrets = counted(groups.len() as u64, "secret", "secrets");
    let places = counted(report.places.len() as u64, "place", "places");
    let text = format!("{secrets} in {places}");
    writeln!(out, "{} ({}), in {scanned}.", look.colors.paint(Role::Alarm, text), levels.join(", "))
}

/// What is not in the report, and how to see it.
fn write_left_out(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let unreported = &summary.unreported;
    let below = format!("less sure (--confidence low shows {})", them(unreported.unsure));
    write_counts(
        "Not reported: ",
        &[
            (unreported.unsure, &below),
            (unreported.allowed, "allowed by a comment"),
            (unreported.in_baseline, "in the baseline"),
            (unreported.ignored, "named by .gitleaksignore"),
            (unreported.own, "in the output or the baseline itself"),
            (
                unreported.too_many,
                "too many to be listed (--format jsonl without --sorted lists any number)",
            ),
        ],
        out,
    )?;
    let skipped = &summary.skipped;
    let binary = format!("binary (--binary scans {})", them(skipped.binary));
    let word = if skipped.symlinks == 1 { "link" } else { "links" };
    let links = format!("symbolic {word} (--follow follows {})", them(skipped.symlinks));
    write_counts(
        "Not scanned: ",
        &[
            (skipped.binary, &binary),
            (skipped.too_large, "larger than --max-size"),
            (skipped.special, "special (pipes, sockets, devices)"),
            (skipped.symlinks, &links),
            (skipped.excluded, "excluded"),
        ],
        out,
    )?;
    if let Some(configuration) = &summary.configuration {
        writeln!(out, "Configuration: {}.", escape::for_terminal(configuration.as_os_str()))?;
    }
    if let Some(ended) = summary.ended {
        writeln!(out, "Not complete: {}.", ended.text())?;
    }
    if !summary.failed_rules.is_empty() {
        writeln!(out, "Not complete: rules that could not be used; stderr names them.")?;
    }
    let count = summary.gap_count();
    if count == 0 {
        return Ok(());
    }
    let paths = counted(count, "path", "paths");
    let has = if count == 1 { "has" } else { "have" };
    let what = match summary.gaps.iter().filter(|gap| gap.is_cut).count() as u64 {
        0 => format!("{paths} could not be scanned"),
        cut if cut == count => format!("{paths} {has} too many findings to be listed"),
        _ => format!("{paths} could not be scanned, or {has} too many findings to be listed"),
    };
    let them = them(count);
    match summary.gaps_are_named {
        true => writeln!(out, "Not complete: {what}; stderr names {them}."),
        false => writeln!(out, "Not complete: {what} (without --quiet, stderr names {them})."),
    }
}

fn write_counts(label: &str, counts: &[(u64, &str)], out: &mut impl Write) -> io::Result<()> {
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    if parts.is_empty() { Ok(()) } else { writeln!(out, "{label}{}.", parts.join("; ")) }
}

fn write_next_steps(advice: &Advice, look: Look, out: &mut impl Write) -> io::Result<()> {
    let colors = look.colors;
    writeln!(
        out,
        "\n{}\n\
         \x20 1. Revoke each secret where it was issued: everyone who could read the file may have it.\n\
         \x20 2. Remove it from the file, and load it from the environment or a secret store.\n\
         \x20 3. If the file was committed, the secret is in the history, too: only revoking it helps.",
        colors.paint(Role::Heading, "What to do next:")
    )?;
    let with_input = match advice.read_stdin {
        true => " (give the same input to both of these commands)",
        false => "",
    };
    writeln!(
        out,
        "\n{}\n\
         \x20 To allow one, write `heist:allow` in a comment on its line. To accept all of these findings, so that\n\
         \x20 only new ones are reported{with_input}:\n\
         \x20   {}\n\
         \x20   {}",
        colors.paint(Role::Heading, "Not secrets?"),
        advice.baseline,
        advice.scan,
    )
}

fn role_of(confidence: Confidence) -> Role {
    match confidence {
        Confidence::Certain | Confidence::High => Role::Alarm,
        Confidence::Medium => Role::Warning,
        Confidence::Low => Role::Faint,
    }
}

/// Bytes of a file, fit to be seen by a terminal.
fn shown(bytes: &[u8]) -> String {
    escape::visible(&String::from_utf8_lossy(bytes)).into_owned()
}

/// A size; small ones look like counts without their unit.
fn size(bytes: u64) -> String {
    if bytes < 1024 { counted(bytes, "byte", "bytes") } else { Unit::HUMAN.show(bytes) }
}

fn files(count: u64) -> String {
    counted(count, "file", "files")
}

fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(count)) }
}

fn them(count: u64) -> &'static str {
    if count == 1 { "it" } else { "them" }
}
