//! The scan of staged files. What was there before is scanned first, so that only new secrets are
//! reported.

use super::StagedPlace;
use super::changes::{Changes, Version};
use super::source::BlobSource;
use crate::error::CliError;
use crate::escape;
use crate::messages::Messages;
use crate::scan::path_filter::PathFilter;
use crate::scan::settings::Settings;
use crate::trace_file::TraceFile;
use crate::units::grouped;
use heist_scan::{
    Finding, Fingerprint, Incomplete, Placement, RootPlace, Scan, ScanReport, SecretDetector, Sink,
};
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of secrets of the versions before that are kept. If there are more, some secrets that
/// are not new are reported.
const KNOWN_MAX: usize = 1 << 20;

/// The secrets that were there before.
#[derive(Default)]
struct Known(Mutex<HashSet<Fingerprint>>);

impl Sink for Known {
    fn finding(&self, finding: Finding) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < KNOWN_MAX {
            known.insert(finding.fingerprint);
        }
    }
}

/// Declines the findings whose secrets were there before.
struct OnlyNew(HashSet<Fingerprint>);

impl Placement for OnlyNew {
    fn place(&self, finding: &mut Finding) -> bool {
        !self.0.contains(&finding.fingerprint)
    }

    fn place_path(&self, finding: &mut Finding) -> bool {
        self.place(finding)
    }
}

/// Scans what is staged. Returns the number of submodules with changes, too, which are repositories
/// of their own.
///
/// # Errors
/// The repository cannot be read, or the scan cannot be started.
pub(in crate::scan) fn scan(
    place: &StagedPlace,
    settings: &Settings,
    scan: &Scan<Arc<SecretDetector>>,
    sink: &Arc<dyn Sink>,
    trace: Option<&TraceFile>,
    messages: &Messages,
) -> Result<(ScanReport, u64), CliError> {
    let Changes { store, new, old, problems, submodules, unmerged, left_out } =
        Changes::read(place).map_err(CliError::Staged)?;
    let filter = PathFilter::new(&settings.filter);
    let new: Vec<Version> = new.into_iter().filter(|file| filter.wants(&file.path)).collect();
    if !settings.quiet {
        for problem in store.problems() {
            messages.say(&format!("note: {}", escape::visible(&problem.to_string())));
        }
        if unmerged > 0 {
            messages.say(
                "note: some paths have conflicts; both sides of them are scanned, and not what \
                 they will be",
            );
        }
    }
    let root_place = RootPlace::of(place.root());
    let source = |versions: Vec<Version>, placement| BlobSource {
        store: Arc::clone(&store),
        versions: versions.into_iter(),
        root: place.root().to_owned(),
        place: root_place.clone(),
        placement,
    };
    let mut known = HashSet::new();
    if !old.is_empty() && !new.is_empty() {
        let sink = Arc::new(Known::default());
        let before = scan.clone().progress(&Default::default()).source(source(old, None));
        before.run(Arc::clone(&sink)).map_err(CliError::StartScan)?;
        known = std::mem::take(&mut *sink.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let placement = Arc::new(OnlyNew(known)) as Arc<dyn Placement>;
    let after = scan.clone().source(source(new, Some(placement)));
    let report = match trace {
        None => after.run(Arc::clone(sink)),
        Some(trace) => after.trace(trace.tracer()).run(Arc::clone(sink)),
    };
    let mut report = report.map_err(CliError::StartScan)?;
    filter.add_to(&mut report);
    for (path, problem) in problems {
        let why = Incomplete::Unreadable(io::Error::other(problem));
        report.incomplete.push((place.root().join(path), why));
        report.incomplete_count += 1;
    }
    if left_out > 0 {
        let reason = format!("too many files are staged: {} are left out", grouped(left_out));
        let why = Incomplete::Unreadable(io::Error::other(reason));
        report.incomplete.push((place.root().to_owned(), why));
        report.incomplete_count += 1;
    }
    Ok((report, submodules))
}
