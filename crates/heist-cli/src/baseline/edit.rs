//! `heist baseline add`, `remove` and `list`: single entries of a baseline.

use super::{load_or_create, save};
use crate::error::CliError;
use crate::escape;
use crate::exit::Exit;
use crate::messages::Messages;
use crate::stdout::print;
use heist_scan::Fingerprint;
use heist_scan::suppress::{Baseline, Date};
use std::fmt::Write as _;
use std::path::Path;

/// Accepts the secret with this fingerprint in reports.
///
/// # Errors
/// The baseline cannot be read or written.
pub(super) fn add(
    file: &Path,
    fingerprint: Fingerprint,
    reason: Option<&str>,
    until: Option<Date>,
    messages: &Messages,
) -> Result<Exit, CliError> {
    let mut baseline = load_or_create(file)?;
    let before = baseline.len();
    let entry = baseline.entry_of_reported(fingerprint);
    if reason.is_some() {
        entry.reason = reason.map(str::to_owned);
    }
    // Without a date the secret is accepted for good, also if a date has passed.
    entry.until = until;
    let done = if baseline.len() > before { "added" } else { "changed" };
    save(&baseline, file, messages)?;
    let until = until.map(|until| format!(", accepted until {until}")).unwrap_or_default();
    let shown = escape::for_terminal(file.as_os_str());
    print(format!("{shown}: {fingerprint} {done}{until}\n").as_bytes())?;
    Ok(Exit::Success)
}

/// Removes an entry, by its fingerprint in reports or in the file.
///
/// # Errors
/// The baseline cannot be read or written, or does not contain the entry.
pub(super) fn remove(
    file: &Path,
    fingerprint: Fingerprint,
    messages: &Messages,
) -> Result<Exit, CliError> {
    let mut baseline = Baseline::load(file)?;
    if baseline.remove(fingerprint).is_none() {
        return Err(CliError::NotInBaseline { path: file.to_owned(), fingerprint });
    }
    save(&baseline, file, messages)?;
    let shown = escape::for_terminal(file.as_os_str());
    print(format!("{shown}: {fingerprint} removed\n").as_bytes())?;
    Ok(Exit::Success)
}

/// Lists the entries.
///
/// # Errors
/// The baseline cannot be read.
pub(super) fn list(file: &Path) -> Result<Exit, CliError> {
    let baseline = Baseline::load(file)?;
    let today = Date::today();
    let mut text = String::new();
    for (fingerprint, entry) in baseline.entries() {
        // (Writing to a string cannot fail.)
        let _ = write!(text, "{fingerprint}");
        if !entry.rule.is_empty() {
            let _ = write!(text, "  {}", escape::visible(&entry.rule));
        }
        if !entry.places.is_empty() {
            let more = if entry.more_places { ", ..." } else { "" };
            let _ = write!(text, "  {}{more}", escape::visible(&entry.places.join(", ")));
        }
        if let Some(until) = entry.until {
            let expired = if entry.has_expired(today) { " (expired)" } else { "" };
            let _ = write!(text, "  until {until}{expired}");
        }
        if let Some(reason) = &entry.reason {
            let _ = write!(text, "  {}", escape::visible(reason));
        }
        text.push('\n');
    }
    print(text.as_bytes())?;
    Ok(Exit::Success)
}
