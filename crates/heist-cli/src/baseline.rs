//! `heist baseline`: records the secrets that exist now, so that `heist scan --baseline` reports
//! only new ones.
//!
//! Invariants: the file is replaced as a whole, after the scan. It contains no secret, not even as
//! part of a path. Existing entries stay, unless `--prune` is given and everything was scanned.

use crate::error::CliError;
use crate::escape;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::messages::Messages;
use crate::path_masker::PathMasker;
use crate::scan::arguments::{
    DetectionArguments, RunArguments, SelectionArguments, parse_confidence,
};
use crate::scan::settings::{self, Settings};
use crate::scan::suppression::{Suppression, SuppressionReason};
use crate::scan::{engine, rules};
use crate::stdout::print;
use crate::units::grouped;
use clap::Args;
use heist_scan::suppress::{Baseline, BaselineEntry};
use heist_scan::{Confidence, Finding, Fingerprint, Secret, SecretDetector, Sink};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The text at the end of the help.
const AFTER_HELP: &str = "\
For each secret the baseline has a hash, the rule and the location, but never the secret
itself: the hash uses a random key of the file, and secrets in file names are masked. An entry
applies even if the secret moves. Keep the file with the code, and give it to every scan:

  heist baseline --output heist-baseline.toml
  heist scan --baseline heist-baseline.toml

Exit codes:
  0    the baseline was written
  1    the baseline could not be written
  2    the options cannot be used, or not everything was scanned; then the baseline has the
       secrets that were found
  130  Ctrl-C ended the scan; the baseline is unchanged";

/// Record the secrets that exist now, so that scans report only new ones
///
/// heist scans like `heist scan` and writes the findings to a baseline. If the file exists, new
/// secrets are added and all other entries stay.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct BaselineArguments {
    /// The directories or files to scan, or `-` for stdin [default: .]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The baseline to create or update
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Remove entries whose secrets no longer exist
    #[arg(long)]
    prune: bool,

    /// Record findings of at least this confidence: low, medium, high, certain [default: medium]
    #[arg(short, long, value_name = "LEVEL", value_parser = parse_confidence)]
    confidence: Option<Confidence>,

    #[command(flatten)]
    detection: DetectionArguments,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    run: RunArguments,
}

/// A secret with its first location.
#[derive(Debug)]
struct FoundSecret {
    secret: Secret,
    rule: Arc<str>,
    path: Arc<std::path::Path>,
    line: u64,
    /// Whether the file itself is the secret, because of its name.
    is_file_itself: bool,
}

/// Receives findings and keeps each secret once.
#[derive(Debug)]
struct SecretCollector {
    suppression: Suppression,
    confidence: Confidence,
    found: Mutex<HashMap<Fingerprint, FoundSecret>>,
}

impl Sink for SecretCollector {
    fn finding(&self, finding: Finding) {
        let known = self.suppression.check(&finding);
        if finding.confidence < self.confidence
            || matches!(
                known,
                Some(
                    SuppressionReason::AllowedByComment
                        | SuppressionReason::InGitleaksIgnore
                        | SuppressionReason::InOwnFile
                )
            )
        {
            return;
        }
        let Finding { secret, rule, path, line, offset, .. } = finding;
        let found = FoundSecret { secret, rule, path, line, is_file_itself: offset.is_empty() };
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match all.entry(finding.fingerprint) {
            std::collections::hash_map::Entry::Vacant(entry) => _ = entry.insert(found),
            std::collections::hash_map::Entry::Occupied(mut entry) => {
                // Keep the first location in sorted order, so that the result does not depend on
                // which worker is faster.
                let known = entry.get();
                if (&found.path, found.line, &found.rule) < (&known.path, known.line, &known.rule) {
                    entry.insert(found);
                }
            }
        }
    }
}

/// Runs `heist baseline`.
///
/// # Errors
/// The options or their values cannot be used, the scan cannot be started, or the baseline cannot
/// be written.
pub(crate) fn run(
    arguments: &BaselineArguments,
    messages: &Arc<Messages>,
) -> Result<Exit, CliError> {
    let BaselinePlan { settings, detector, baseline, suppression } = plan(arguments, messages)?;
    let interrupt = Interrupt::listen(messages);
    let secrets = Arc::new(SecretCollector {
        suppression,
        confidence: settings.confidence.value,
        found: Mutex::default(),
    });
    let sink: Arc<dyn Sink> = Arc::clone(&secrets) as Arc<dyn Sink>;
    let scanned = engine::scan(&settings, detector, &sink, &interrupt, messages)?;
    interrupt.walk_is_over();
    let summary = engine::summary(&scanned, &settings, Default::default(), false);
    engine::say_gaps(&summary, messages);
    if summary.ended == Some(crate::scan::summary::EndedEarly::Interrupted) {
        messages.say("the baseline is unchanged");
        return Ok(Exit::Interrupted);
    }
    let found = std::mem::take(&mut *secrets.found.lock().unwrap_or_else(PoisonError::into_inner));
    let prune = arguments.prune && summary.is_complete();
    if arguments.prune && !prune {
        messages.say("--prune removes nothing, because not everything was scanned");
    }
    let mut found: Vec<FoundSecret> = found.into_values().collect();
    if !settings.paths_were_given {
        for found in &mut found {
            if let Ok(below) = found.path.strip_prefix(".") {
                found.path = Arc::from(below);
            }
        }
    }
    update(baseline, found, prune, &arguments.output)?;
    Ok(if summary.is_complete() { Exit::Success } else { Exit::NotAllScanned })
}

/// Everything that a run needs, checked before it starts.
struct BaselinePlan {
    settings: Settings,
    detector: SecretDetector,
    baseline: Baseline,
    suppression: Suppression,
}

fn plan(arguments: &BaselineArguments, messages: &Messages) -> Result<BaselinePlan, CliError> {
    let configuration = settings::configuration_files(&arguments.run, &arguments.paths, messages)?;
    let settings = Settings::new(
        &arguments.paths,
        arguments.confidence,
        None,
        (&arguments.detection, &arguments.selection, &arguments.run),
        &configuration,
    )?;
    if settings::is_stdin(&arguments.output) {
        return Err(CliError::NeedsFile { option: "--output", what: "a baseline" });
    }
    let detector = rules::detector(&settings, messages)?;
    // A device has no entries to update.
    let baseline = if arguments.output.is_file() {
        Baseline::load(&arguments.output)?
    } else {
        Baseline::new().map_err(CliError::BaselineKey)?
    };
    let mut suppression = Suppression::read(&settings.paths, messages, settings.quiet);
    suppression.add_own(&arguments.output);
    Ok(BaselinePlan { settings, detector, baseline, suppression })
}

/// Adds the secrets to the baseline, saves it, and prints what has changed.
fn update(
    mut baseline: Baseline,
    mut found: Vec<FoundSecret>,
    prune: bool,
    output: &Path,
) -> Result<(), CliError> {
    found.sort_by(|first, second| {
        (&first.path, first.line, &first.rule).cmp(&(&second.path, second.line, &second.rule))
    });
    let mut printed = String::new();
    let mut added = 0;
    let mask = PathMasker::new(
        found.iter().filter(|found| !found.is_file_itself).map(|found| &found.secret),
    );
    for FoundSecret { secret, rule, path, line, .. } in &found {
        let path = mask.hide(path.as_os_str().as_encoded_bytes());
        let location = format!("{}:{line}", escape::bytes_for_terminal(&path));
        if baseline.insert(secret, rule, &location) {
            added += 1;
            // Writing to a string cannot fail.
            let _ = writeln!(printed, "+ {location}  {}  {secret}", escape::visible(rule));
        }
    }
    let mut removed = 0;
    if prune {
        let still: std::collections::HashSet<Fingerprint> =
            found.iter().map(|found| baseline.fingerprint(&found.secret)).collect();
        removed = baseline.retain(|fingerprint, BaselineEntry { rule, place, .. }| {
            let stays = still.contains(&fingerprint);
            if !stays {
                let _ =
                    writeln!(printed, "- {}  {}", escape::visible(place), escape::visible(rule));
            }
            stays
        });
    }
    baseline.save(output)?;
    let shown = escape::for_terminal(output.as_os_str());
    let _ = writeln!(
        printed,
        "{shown}: {} added, {} removed, {} in total",
        grouped(added),
        grouped(removed as u64),
        grouped(baseline.len() as u64)
    );
    print(printed.as_bytes())
}
