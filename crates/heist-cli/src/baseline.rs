//! `heist baseline`: makes the secrets that are there now known, so that `heist scan --baseline` reports only new
//! ones.
//!
//! Invariant: the file is replaced whole, after the scan; it has no secret in it, not even in the name of a file. What
//! was known stays known unless `--prune` is given and everything was scanned.

use crate::escape;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::masked_path::PathMask;
use crate::messages::Messages;
use crate::scan::arguments::{
    DetectionArguments, RunArguments, SelectionArguments, parse_confidence,
};
use crate::scan::settings::{self, Settings};
use crate::scan::summary::Unreported;
use crate::scan::suppression::{Known, Suppression};
use crate::scan::{engine, rules};
use crate::units::grouped;
use clap::Args;
use heist_scan::suppress::{Baseline, BaselineEntry};
use heist_scan::{Confidence, Finding, Fingerprint, Secret, SecretDetector, Sink};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What the help ends with.
const AFTER_HELP: &str = "\
The file has a hash of each secret, made with a key of the file's own, its rule, and where
it was. Secrets that were found are masked also in the names of files. An entry holds for its
secret wherever that moves. Keep the file with the code, and give it to every scan:

  heist baseline --output heist-baseline.toml
  heist scan --baseline heist-baseline.toml

Exit codes:
  0    the file was written
  1    the file could not be written
  2    wrong usage, or not everything was scanned; stderr says what. The file has what was found
  130  ended by Ctrl-C; the file is as it was";

/// Make the secrets that are there now known, so that a scan reports only new ones
///
/// Scans as `heist scan` does and writes what it finds into a baseline. A file that is there is updated: new secrets
/// are added, and all others stay.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct BaselineArguments {
    /// What to scan: directories, files, or `-` for stdin [default: .]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The baseline to write or update
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Take secrets out of the baseline that are not found any more
    #[arg(long)]
    prune: bool,

    /// Make findings known of at least this confidence [default: medium]
    #[arg(short, long, value_name = "LEVEL", value_parser = parse_confidence)]
    confidence: Option<Confidence>,

    #[command(flatten)]
    detection: DetectionArguments,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    run: RunArguments,
}

/// A secret that was found, and the first of its places.
#[derive(Debug)]
struct Found {
    secret: Secret,
    rule: Arc<str>,
    path: Arc<std::path::Path>,
    line: u64,
    /// A file that is a secret by its name: what is known of it is its name.
    is_file_itself: bool,
}

/// Takes findings, and keeps each secret once.
#[derive(Debug)]
struct Secrets {
    suppression: Suppression,
    confidence: Confidence,
    found: Mutex<HashMap<Fingerprint, Found>>,
}

impl Sink for Secrets {
    fn finding(&self, finding: Finding) {
        let known = self.suppression.check(&finding);
        if finding.confidence < self.confidence
            || matches!(known, Some(Known::Allowed | Known::Ignored | Known::Own))
        {
            return;
        }
        let Finding { secret, rule, path, line, offset, .. } = finding;
        let found = Found { secret, rule, path, line, is_file_itself: offset.is_empty() };
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match all.entry(finding.fingerprint) {
            std::collections::hash_map::Entry::Vacant(entry) => _ = entry.insert(found),
            std::collections::hash_map::Entry::Occupied(mut entry) => {
                // The first place by name, whichever worker comes first.
                let known = entry.get();
                if (&found.path, found.line, &found.rule) < (&known.path, known.line, &known.rule) {
                    entry.insert(found);
                }
            }
        }
    }
}

/// Runs `heist baseline`.
pub(crate) fn run(arguments: &BaselineArguments, messages: &Arc<Messages>) -> Exit {
    let (settings, detector, baseline, suppression) = match plan(arguments, messages) {
        Ok(plan) => plan,
        Err(text) => {
            messages.say(&text);
            messages.say("see `heist baseline --help`");
            return Exit::Usage;
        }
    };
    let interrupt = Interrupt::listen(messages);
    let secrets =
        Arc::new(Secrets { suppression, confidence: settings.confidence, found: Mutex::default() });
    let sink: Arc<dyn Sink> = Arc::clone(&secrets) as Arc<dyn Sink>;
    let scanned = match engine::scan(&settings, detector, &sink, &interrupt, messages) {
        Ok(scanned) => scanned,
        Err(text) => {
            messages.say(&text);
            return Exit::Usage;
        }
    };
    interrupt.walk_is_over();
    let summary = engine::summary(&scanned, &settings, Unreported::default(), false);
    engine::say_gaps(&summary, messages);
    if summary.ended == Some(crate::scan::summary::Ended::Interrupted) {
        messages.say("the baseline is as it was");
        return Exit::Interrupted;
    }
    let found = std::mem::take(&mut *secrets.found.lock().unwrap_or_else(PoisonError::into_inner));
    let prune = arguments.prune && summary.is_complete();
    if arguments.prune && !prune {
        messages.say("not everything was scanned, so nothing is taken out of the baseline");
    }
    let mut found: Vec<Found> = found.into_values().collect();
    if !settings.paths_were_given {
        for found in &mut found {
            if let Ok(below) = found.path.strip_prefix(".") {
                found.path = Arc::from(below);
            }
        }
    }
    let exit = update(baseline, found, prune, arguments, messages);
    if exit == Exit::Success && !summary.is_complete() { Exit::NotAllScanned } else { exit }
}

type Plan = (Settings, SecretDetector, Baseline, Suppression);

fn plan(arguments: &BaselineArguments, messages: &Messages) -> Result<Plan, String> {
    let configuration = settings::configuration(&arguments.run, &arguments.paths, messages)?;
    let settings = Settings::new(
        &arguments.paths,
        arguments.confidence,
        None,
        (&arguments.detection, &arguments.selection, &arguments.run),
        &configuration,
    )?;
    if settings::is_stdin(&arguments.output) {
        return Err(
            "--output '-': a baseline is a file, and no text to be printed; give a FILE".into()
        );
    }
    let detector = rules::detector(&settings, messages)?;
    // (A device has nothing in it to be updated. What else is wrong with it, writing says.)
    let baseline = if arguments.output.is_file() {
        Baseline::load(&arguments.output).map_err(|error| engine::baseline_error(&error))?
    } else {
        Baseline::new().map_err(|error| {
            format!(
                "the system has no random numbers for a key: {}",
                crate::messages::reason(&error)
            )
        })?
    };
    let mut suppression = Suppression::read(&settings.paths, messages, settings.quiet);
    suppression.add_own(&arguments.output);
    Ok((settings, detector, baseline, suppression))
}

fn update(
    mut baseline: Baseline,
    mut found: Vec<Found>,
    prune: bool,
    arguments: &BaselineArguments,
    messages: &Messages,
) -> Exit {
    found.sort_by(|first, second| {
        (&first.path, first.line, &first.rule).cmp(&(&second.path, second.line, &second.rule))
    });
    let mut printed = String::new();
    let mut added = 0;
    let mask = PathMask::new(
        found.iter().filter(|found| !found.is_file_itself).map(|found| &found.secret),
    );
    for Found { secret, rule, path, line, .. } in &found {
        let path = mask.hide(path.as_os_str().as_encoded_bytes());
        let place = format!("{}:{line}", escape::bytes_for_terminal(&path));
        if baseline.insert(secret, rule, &place) {
            added += 1;
            // (Writing to a string cannot fail.)
            let _ = writeln!(printed, "+ {place}  {}  {secret}", escape::visible(rule));
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
    if let Err(error) = baseline.save(&arguments.output) {
        messages.say(&engine::baseline_error(&error));
        return Exit::Incomplete;
    }
    let shown = escape::for_terminal(arguments.output.as_os_str());
    let _ = writeln!(
        printed,
        "{shown}: {} added, {} taken out, {} known",
        grouped(added),
        grouped(removed as u64),
        grouped(baseline.len() as u64)
    );
    let mut out = std::io::stdout().lock();
    match out.write_all(printed.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Success,
        Err(error) => crate::installed::output_failed(&error, messages),
    }
}
