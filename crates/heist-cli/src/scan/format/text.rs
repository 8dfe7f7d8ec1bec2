//! `--format text`: a report for people. Each secret appears once with all its locations; totals
//! and next steps follow.

use super::{Report, TextStyle, history};
use crate::color::Role;
use crate::escape;
use crate::scan::advice::Advice;
use crate::scan::history::ScannedHistory;
use crate::scan::reported_finding::{ReportedFinding, SecretGroup, group_by_secret};
use crate::scan::summary::Summary;
use crate::units::{Unit, grouped};
use heist_scan::Confidence;
use std::borrow::Cow;
use std::io::{self, Write};

/// The indentation of an excerpt.
const EXCERPT_INDENT: &str = "      ";

/// Writes the report.
pub(super) fn write(report: &Report<'_>, look: TextStyle, out: &mut impl Write) -> io::Result<()> {
    let groups = group_by_secret(report.findings);
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

fn write_group(group: &SecretGroup<'_>, look: TextStyle, out: &mut impl Write) -> io::Result<()> {
    let surest = group.surest();
    let colors = look.colors;
    // If the file itself is the secret, because of its name, there is no text to mask.
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
    for finding in &group.findings {
        write_finding(finding, surest, look, out)?;
    }
    writeln!(
        out,
        "    {}: {}",
        colors.paint(role_of(surest.confidence), surest.confidence),
        escape::visible(&surest.reason)
    )?;
    let remedy = if surest.is_by_tree { "remedy, in the words of the tree" } else { "remedy" };
    writeln!(out, "    {}: {}\n", colors.paint(Role::Good, remedy), escape::visible(&surest.remedy))
}

fn write_finding(
    finding: &ReportedFinding,
    surest: &ReportedFinding,
    look: TextStyle,
    out: &mut impl Write,
) -> io::Result<()> {
    let path = escape::for_terminal(finding.path.as_os_str());
    let colors = look.colors;
    write!(out, "    {}", colors.paint(Role::Directory, path))?;
    // If the file itself is the secret, there is no line.
    if !finding.offset.is_empty() {
        write!(out, ":{}:{}", finding.line, finding.column)?;
    }
    if finding.encoding != heist_scan::Encoding::Plain {
        write!(out, "  {}", colors.paint(Role::Faint, format_args!("in {}", finding.encoding)))?;
    }
    if finding.confidence != surest.confidence {
        let text = format!("{}: {}", finding.confidence, escape::visible(&finding.reason));
        write!(out, "  {}", colors.paint(Role::Faint, text))?;
    }
    writeln!(out)?;
    let excerpt = shown(finding.excerpt.trim_ascii());
    if excerpt.is_empty() && finding.history.is_none() {
        return Ok(());
    }
    let excerpt = match look.columns {
        Some(columns) => {
            escape::shortened(&excerpt, columns.saturating_sub(EXCERPT_INDENT.len()).max(1))
        }
        None => Cow::Borrowed(&*excerpt),
    };
    writeln!(out, "{EXCERPT_INDENT}{excerpt}")?;
    match &finding.history {
        Some(place) => history::write_text(place, look, out),
        None => Ok(()),
    }
}

fn write_total(
    groups: &[SecretGroup<'_>],
    report: &Report<'_>,
    look: TextStyle,
    out: &mut impl Write,
) -> io::Result<()> {
    let summary = report.summary;
    let scanned = match &summary.histories[..] {
        [] => format!("{} ({})", files(summary.files), size(summary.bytes)),
        histories => {
            let sum = |of: fn(&ScannedHistory) -> u64| histories.iter().map(of).sum::<u64>();
            format!(
                "{} of files and {} of {} ({})",
                counted(sum(|one| one.blobs.scanned), "version", "versions"),
                counted(sum(|one| one.messages), "message", "messages"),
                counted(sum(|one| one.commits_scanned), "commit", "commits"),
                size(summary.bytes)
            )
        }
    };
    if groups.is_empty() {
        let text = if summary.unreported.below_confidence > 0 {
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
    let findings = counted(report.findings.len() as u64, "place", "places");
    let text = format!("{secrets} in {findings}");
    writeln!(out, "{} ({}), in {scanned}.", look.colors.paint(Role::Alarm, text), levels.join(", "))
}

/// Writes what the report does not contain, and how to see it.
fn write_left_out(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let unreported = &summary.unreported;
    let below = format!(
        "with lower confidence (--confidence low shows {})",
        them(unreported.below_confidence)
    );
    write_counts(
        "Not reported: ",
        &[
            (unreported.below_confidence, &below),
            (unreported.allowed, "allowed by a comment"),
            (unreported.in_baseline, "in the baseline"),
            (unreported.in_gitleaksignore, "listed in .gitleaksignore"),
            (unreported.in_own_files, "in the output, trace or baseline of this run"),
            (unreported.not_new, "not new (only what is added is reported)"),
            (
                unreported.over_limit,
                "over the memory limit (--format jsonl without --sorted has no limit)",
            ),
        ],
        out,
    )?;
    let skipped = &summary.skipped;
    let binary = format!("binary (--binary scans {})", them(skipped.binary));
    let word = if skipped.symlinks == 1 { "link" } else { "links" };
    let links = format!("symbolic {word} (--follow follows {})", them(skipped.symlinks));
    let word = if skipped.pseudo == 1 { "system" } else { "systems" };
    let paths: Vec<_> =
        summary.pseudo_paths.iter().map(|path| escape::for_terminal(path.as_os_str())).collect();
    let pseudo = format!("pseudo file {word} ({})", paths.join(", "));
    write_counts(
        "Not scanned: ",
        &[
            (skipped.binary, &binary),
            (skipped.too_large, "larger than --max-size"),
            (skipped.special, "special (pipes, sockets, devices)"),
            (skipped.symlinks, &links),
            (skipped.pseudo, &pseudo),
            (skipped.submodules, "in submodules, which are repositories of their own"),
            (skipped.excluded, "excluded"),
        ],
        out,
    )?;
    if !summary.hidden.entries.is_empty() {
        writeln!(out, "Hidden by the scanned tree (--untrusted shows it):")?;
        summary.hidden.entries.iter().try_for_each(|entry| writeln!(out, "  {entry}"))?;
    }
    history::write_notes(summary, out)?;
    for file in &summary.configurations {
        let whose = if file.is_of_tree { "Configuration of the tree" } else { "Configuration" };
        write!(out, "{whose}: {}", escape::for_terminal(file.path.as_os_str()))?;
        let refused: Vec<String> =
            file.refused.iter().map(|key| format!("`{}`", escape::visible(key))).collect();
        match refused.len() {
            0 => writeln!(out, ".")?,
            1 => writeln!(out, "; its {} has no effect.", refused[0])?,
            _ => writeln!(out, "; these keys have no effect: {}.", refused.join(", "))?,
        }
    }
    for policy in &summary.policies {
        writeln!(out, "Policy: {}.", escape::for_terminal(policy.as_os_str()))?;
    }
    summary.overruled.iter().try_for_each(|overruled| writeln!(out, "  {overruled}"))?;
    if let Some(ended) = summary.ended {
        writeln!(out, "Not complete: {}.", ended.text())?;
    }
    if !summary.failed_rules.is_empty() {
        writeln!(out, "Not complete: some rules could not be used; stderr names them.")?;
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

fn write_next_steps(advice: &Advice, look: TextStyle, out: &mut impl Write) -> io::Result<()> {
    let colors = look.colors;
    let heading = colors.paint(Role::Heading, "What to do next:");
    match advice.is_of_history {
        true => writeln!(out, "\n{heading}\n{}", history::NEXT_STEPS)?,
        false => writeln!(
            out,
            "\n{heading}\n\
         \x20 1. Revoke each secret where it was issued: anyone who could read the file may have it.\n\
         \x20 2. Remove it from the file, and load it from the environment or a secret store.\n\
         \x20 3. If the file was committed, the history still has the secret: only revoking it helps.",
        )?,
    }
    if advice.is_staged {
        return writeln!(
            out,
            "\n{}\n\
             \x20 To allow one finding, write `heist:allow` in a comment on its line, or record it by its\n\
             \x20 fingerprint: heist baseline add FINGERPRINT",
            colors.paint(Role::Heading, "Not secrets?"),
        );
    }
    let with_input = match advice.read_stdin {
        true => " (give the same input to both of these commands)",
        false => "",
    };
    writeln!(
        out,
        "\n{}\n\
         \x20 To allow one finding, write `heist:allow` in a comment on its line. To accept all of them and\n\
         \x20 report only new ones{with_input}:\n\
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

/// Returns bytes of a file as text that is safe to print.
fn shown(bytes: &[u8]) -> String {
    escape::visible(&String::from_utf8_lossy(bytes)).into_owned()
}

/// Formats a size. Small sizes get a unit, because they would look like counts.
fn size(bytes: u64) -> String {
    if bytes < 1024 { counted(bytes, "byte", "bytes") } else { Unit::HUMAN.show(bytes) }
}

fn files(count: u64) -> String {
    counted(count, "file", "files")
}

pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(count)) }
}

fn them(count: u64) -> &'static str {
    if count == 1 { "it" } else { "them" }
}
