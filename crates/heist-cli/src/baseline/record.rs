//! Scans, and records the secrets that exist now.
//!
//! Existing entries stay, unless `--prune` is given, everything was scanned, and the scan covers
//! the entry (see [`Coverage`]).

use super::coverage::Coverage;
use super::{BaselineArguments, create, load_or_create};
use crate::error::CliError;
use crate::escape;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::messages::Messages;
use crate::output_file::say_leftovers;
use crate::path_masker::PathMasker;
use crate::scan::history::HistorySettings;
use crate::scan::overwrite::refuse_own_file;
use crate::scan::settings::{self, Settings};
use crate::scan::summary::EndedEarly;
use crate::scan::suppression::{Suppression, SuppressionReason};
use crate::scan::{engine, rules};
use crate::stdout::print;
use crate::trace_file::TraceFile;
use crate::units::grouped;
use heist_scan::suppress::{Baseline, BaselineEntry, Date};
use heist_scan::{
    AtomicFile, Confidence, Finding, Fingerprint, ObjectOutcome, Secret, SecretDetector, Sink,
};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of places that an entry names. More of them are not worth their room.
const PLACES_MAX: usize = 10;

/// A secret with its first places, sorted.
#[derive(Debug)]
struct FoundSecret {
    secret: Secret,
    places: BTreeSet<FoundPlace>,
    /// Whether there are more places.
    more: bool,
    /// Whether the file itself is the secret, because of its name.
    is_file_itself: bool,
}

/// A path as the scan shows it, a line, and the rule.
type FoundPlace = (Arc<Path>, u64, Arc<str>);

/// Receives findings and keeps each secret once.
#[derive(Debug)]
struct SecretCollector {
    suppression: Suppression,
    confidence: Confidence,
    /// The baseline before the scan.
    baseline: Baseline,
    coverage: Coverage,
    found: Mutex<HashMap<Fingerprint, FoundSecret>>,
    /// The entries of the baseline whose secrets exist, with whatever confidence.
    still: Mutex<HashSet<Fingerprint>>,
}

impl Sink for SecretCollector {
    fn finding(&self, finding: Finding) {
        let suppressed = self.suppression.check(&finding);
        if suppressed == Some(SuppressionReason::InOwnFile) {
            return;
        }
        if let Some((fingerprint, _)) = self.baseline.find(&finding.secret) {
            self.still.lock().unwrap_or_else(PoisonError::into_inner).insert(fingerprint);
        }
        let is_hidden = finding.standing.is_hidden();
        if is_hidden || suppressed.is_some() || finding.confidence < self.confidence {
            return;
        }
        let Finding { secret, rule, path, line, offset, .. } = finding;
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match all.entry(finding.fingerprint) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(FoundSecret {
                secret,
                places: BTreeSet::new(),
                more: false,
                is_file_itself: offset.is_empty(),
            }),
        };
        found.places.insert((path, line, rule));
        // The first places in sorted order are kept, so that the result does not depend on which
        // worker is faster.
        if found.places.len() > PLACES_MAX {
            found.places.pop_last();
            found.more = true;
        }
    }

    fn object(&self, outcome: &ObjectOutcome<'_>) {
        self.coverage.see(outcome);
    }
}

/// Everything that a run needs, checked before it starts.
struct RecordPlan {
    settings: Settings,
    detector: SecretDetector,
    secrets: SecretCollector,
    file: PathBuf,
    output: AtomicFile,
    trace: Option<TraceFile>,
}

/// Scans and updates the baseline.
///
/// # Errors
/// The options or their values cannot be used, the scan cannot be started, or the baseline cannot
/// be written.
pub(super) fn run(
    arguments: &BaselineArguments,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Exit, CliError> {
    let RecordPlan { settings, detector, secrets, file, output, trace } =
        plan(arguments, messages)?;
    let secrets = Arc::new(secrets);
    let sink: Arc<dyn Sink> = Arc::clone(&secrets) as Arc<dyn Sink>;
    let scanned = engine::scan(&settings, detector, &sink, interrupt, trace, messages)?;
    interrupt.walk_is_over();
    let summary = engine::summary(&scanned, &settings, Default::default(), false);
    engine::say_gaps(&summary, messages);
    if summary.ended == Some(EndedEarly::Interrupted) {
        messages.say("the baseline is unchanged");
        return Ok(interrupt.exit());
    }
    let prune = arguments.prune && summary.is_complete() && settings.history.is_none();
    if arguments.prune && !prune {
        messages.say(match settings.history {
            None => "--prune removes nothing, because not everything was scanned",
            Some(_) => "--prune removes nothing after a scan of a history",
        });
    }
    let update = Update { secrets: &secrets, is_complete: summary.is_complete(), prune };
    let (baseline, printed) = update.apply(&settings, messages);
    super::write(&baseline, output, &file)?;
    let shown = escape::for_terminal(file.as_os_str());
    print(format!("{}{shown}: {}\n", printed.lines, printed.total(&baseline)).as_bytes())?;
    let is_done = summary.is_complete() && !scanned.trace_failed;
    Ok(if is_done { Exit::Success } else { Exit::NotAllScanned })
}

fn plan(arguments: &BaselineArguments, messages: &Messages) -> Result<RecordPlan, CliError> {
    let files = settings::configuration_files(&arguments.run, &arguments.paths, messages)?;
    let mut settings = Settings::new(
        &arguments.paths,
        arguments.confidence,
        None,
        (&arguments.detection, &arguments.selection, &arguments.run),
        &files,
    )?;
    settings.history = HistorySettings::of(&arguments.history);
    if let Some(demand) = settings.policies.forbids("baseline") {
        return Err(CliError::AgainstPolicy { what: "`heist baseline`".to_owned(), demand });
    }
    let file = arguments.file.path(&arguments.paths)?;
    let rules::Detection { detector, overruled, .. } = rules::detector(&settings, messages)?;
    let (path, roots) = (file.as_path(), settings.paths.as_slice());
    let output = create(path, roots)?;
    let trace = settings.trace.as_deref();
    refuse_own_file("--trace", trace, &[("the baseline", path)])?;
    let trace = trace.map(|path| TraceFile::create(path, roots)).transpose()?;
    let baseline = load_or_create(&file)?;
    let mut suppression = Suppression::read(&settings, messages);
    suppression.add_own(&file);
    let mut leftovers: Vec<PathBuf> = output.leftovers().collect();
    leftovers.extend(trace.iter().flat_map(TraceFile::leftovers).cloned());
    leftovers.iter().for_each(|path| suppression.add_own(path));
    if !settings.quiet {
        say_leftovers(&leftovers, messages);
    }
    settings.add_overruled([overruled, suppression.take_overruled()], messages);
    let secrets = SecretCollector {
        suppression,
        confidence: settings.confidence.value,
        coverage: Coverage::new(&file, &baseline, &settings, &detector),
        baseline,
        found: Mutex::default(),
        still: Mutex::default(),
    };
    Ok(RecordPlan { settings, detector, secrets, file, output, trace })
}

/// What has changed, for the user.
#[derive(Debug, Default)]
struct Printed {
    lines: String,
    added: u64,
    removed: u64,
}

impl Printed {
    fn total(&self, baseline: &Baseline) -> String {
        format!(
            "{} added, {} removed, {} in total",
            grouped(self.added),
            grouped(self.removed),
            grouped(baseline.len() as u64)
        )
    }
}

/// How a scan changes the baseline.
struct Update<'a> {
    secrets: &'a SecretCollector,
    is_complete: bool,
    prune: bool,
}

impl Update<'_> {
    /// Returns the new baseline and what has changed.
    fn apply(&self, settings: &Settings, messages: &Messages) -> (Baseline, Printed) {
        let mut baseline = self.secrets.baseline.clone();
        let mut printed = Printed::default();
        if self.prune {
            let kept = self.remove_obsolete(&mut baseline, &mut printed);
            if kept > 0 && !settings.quiet {
                let text = format!(
                    "note: kept entries whose secrets were not found, because this run did not look for \
                     them, or not where they were: {}",
                    grouped(kept)
                );
                messages.say(&text);
            }
        }
        let mut found = self.secrets.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<FoundSecret> = std::mem::take(&mut *found).into_values().collect();
        found.sort_by(|first, second| first.places.cmp(&second.places));
        let hide = PathMasker::new(
            found.iter().filter(|found| !found.is_file_itself).map(|found| &found.secret),
        );
        let (mut expired, today) = (0, Date::today());
        for found in &found {
            let FoundSecret { secret, places, more, .. } = found;
            let Some((path, line, rule)) = places.first() else { continue };
            let is_new = !baseline.contains(secret);
            let entry = baseline.entry(secret);
            expired += u64::from(entry.has_expired(today));
            rule.as_ref().clone_into(&mut entry.rule);
            self.set_places(entry, found, &hide);
            entry.more_places |= *more;
            if is_new {
                printed.added += 1;
                let path = match path.strip_prefix(".") {
                    Ok(below) if !settings.paths_were_given => below,
                    _ => path,
                };
                let path = hide.hide(path.as_os_str().as_encoded_bytes());
                let location = format!("{}:{line}", escape::bytes_for_terminal(&path));
                // (Writing to a string cannot fail.)
                let lines = &mut printed.lines;
                let _ = writeln!(lines, "+ {location}  {}  {secret}", escape::visible(rule));
            }
        }
        if expired > 0 && !settings.quiet {
            messages.say(&format!(
                "note: entries that have expired, so that scans report their secrets: {}\n  \
                 help: `heist baseline add FINGERPRINT` accepts a secret again",
                grouped(expired)
            ));
        }
        (baseline, printed)
    }

    /// Removes obsolete entries. Returns the number of entries that were not found but stay.
    fn remove_obsolete(&self, baseline: &mut Baseline, printed: &mut Printed) -> u64 {
        let still = self.secrets.still.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = 0;
        let removed = baseline.retain(|fingerprint, entry| {
            if still.contains(&fingerprint) {
                return true;
            }
            if !self.secrets.coverage.is_obsolete(entry) {
                kept += 1;
                return true;
            }
            let places = escape::visible(&entry.places.join(", ")).into_owned();
            let _ = writeln!(printed.lines, "- {places}  {}", escape::visible(&entry.rule));
            false
        });
        printed.removed = removed as u64;
        kept
    }

    /// Sets the places of an entry: those that were found, and the known ones that the scan did not
    /// look at.
    fn set_places(&self, entry: &mut BaselineEntry, found: &FoundSecret, hide: &PathMasker<'_>) {
        let coverage = &self.secrets.coverage;
        if self.is_complete && coverage.is_everything() {
            entry.places.clear();
            entry.more_places = false;
        }
        entry.places.retain(|place| !(self.is_complete && coverage.is_looked_at(place)));
        for (path, line, _) in &found.places {
            let relative = coverage.relative(path);
            // What is not below a root, such as stdin, cannot be looked at again.
            entry.more_places |= relative.is_none();
            let path = relative.as_deref().unwrap_or(path);
            let path = hide.hide(path.as_os_str().as_encoded_bytes());
            let place = format!("{}:{line}", escape::bytes_for_terminal(&path));
            if !entry.places.contains(&place) {
                entry.places.push(place);
            }
        }
        entry.places.sort();
        entry.more_places |= entry.places.len() > PLACES_MAX;
        entry.places.truncate(PLACES_MAX);
    }
}
