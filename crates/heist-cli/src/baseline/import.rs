//! `heist baseline import`: accepts the findings in a JSON report of gitleaks.
//!
//! The fingerprints of gitleaks name a place, and those of heist a secret. So heist needs the
//! secrets in the report, and cannot import a report that was made with `--redact`. The places in
//! it are relative to wherever gitleaks ran, so the entries count as having other places, too.

use super::{load_or_create, save};
use crate::error::{CliError, one_line};
use crate::escape;
use crate::exit::Exit;
use crate::messages::Messages;
use crate::path_masker::PathMasker;
use crate::stdout::print;
use crate::units::grouped;
use heist_scan::{Secret, read_small_file};
use serde_json::Value;
use std::path::Path;

/// The largest report that heist reads.
const REPORT_BYTES_MAX: u64 = 256 << 20;

/// The number of findings that cannot be imported and are named.
const NAMED_MAX: u64 = 20;

/// A finding of gitleaks.
struct ImportedFinding {
    secret: Secret,
    rule: String,
    path: String,
    line: u64,
}

/// Adds the findings of a report to a baseline.
///
/// # Errors
/// The report or the baseline cannot be used, or the baseline cannot be written.
pub(super) fn run(report: &Path, file: &Path, messages: &Messages) -> Result<Exit, CliError> {
    let bytes = read_small_file(report, REPORT_BYTES_MAX).map_err(|source| CliError::ReadFile {
        what: "the report",
        path: report.to_owned(),
        source,
    })?;
    let invalid = |reason: String| CliError::GitleaksReport { path: report.to_owned(), reason };
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| invalid(format!("it is not JSON: {error}")))?;
    let Value::Array(findings) = &value else {
        return Err(invalid("it is not a list of findings".to_owned()));
    };
    let mut baseline = load_or_create(file)?;
    let mut imported = Vec::new();
    let mut left_out = 0;
    for (number, finding) in (1..).zip(findings) {
        match parse(finding) {
            Ok(finding) => imported.push(finding),
            Err(why) => {
                left_out += 1;
                if left_out <= NAMED_MAX {
                    messages.say(&format!("finding {number} is not imported: {why}"));
                }
            }
        }
    }
    if left_out > NAMED_MAX {
        messages.say(&format!("{} more are not imported", grouped(left_out - NAMED_MAX)));
    }
    let mask = PathMasker::new(imported.iter().map(|finding| &finding.secret));
    let mut added = 0;
    for ImportedFinding { secret, rule, path, line } in &imported {
        let path = mask.hide(path.as_bytes());
        let place = format!("{}:{line}", escape::bytes_for_terminal(&path));
        if !baseline.contains(secret) {
            baseline.insert(secret, rule, &place);
            baseline.entry(secret).more_places = true;
            added += 1;
        }
    }
    save(&baseline, file, messages)?;
    let shown = escape::for_terminal(file.as_os_str());
    let text = format!(
        "{shown}: {} added, {} not imported, {} in total\n",
        grouped(added),
        grouped(left_out),
        grouped(baseline.len() as u64)
    );
    print(text.as_bytes())?;
    Ok(if left_out > 0 { Exit::Incomplete } else { Exit::Success })
}

/// Reads a finding, or says why it cannot be imported.
fn parse(finding: &Value) -> Result<ImportedFinding, String> {
    let text = |field: &str| finding[field].as_str().unwrap_or_default();
    let line = finding["StartLine"].as_u64().unwrap_or_default();
    let place = || format!("'{}:{line}'", one_line(text("File")));
    let secret = finding["Secret"].as_str();
    let secret =
        secret.ok_or_else(|| "it has no `Secret`; is this a report of gitleaks?".to_owned())?;
    if secret.is_empty() {
        return Err(format!("the secret at {} is empty", place()));
    }
    if is_redacted(secret) {
        return Err(format!(
            "the secret at {} is redacted\n  help: run gitleaks again without --redact",
            place()
        ));
    }
    Ok(ImportedFinding {
        secret: Secret::new(secret.as_bytes()),
        rule: text("RuleID").to_owned(),
        path: text("File").to_owned(),
        line,
    })
}

/// Returns `true` for what `gitleaks --redact` writes in place of a secret: the whole of it, or the
/// rest of it, is left out.
fn is_redacted(secret: &str) -> bool {
    secret == "REDACTED" || secret.ends_with("...")
}
