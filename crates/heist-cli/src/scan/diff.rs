//! Scans stdin, which may be a diff.

use super::engine::STDIN_NAME;
use super::path_filter::PathFilter;
use super::settings::Settings;
use super::stdin::Stdin;
use crate::error::CliError;
use heist_scan::diff::DiffSource;
use heist_scan::{ReaderSource, Scan, ScanReport, SecretDetector, Sink};
use std::sync::Arc;

/// Of a diff with many small files, at most this many wait for a worker, so that their memory stays
/// small.
const OBJECTS_IN_FLIGHT: usize = 128;

/// Scans stdin: what it adds, if it is a diff, and all of it otherwise.
///
/// # Errors
/// The scan cannot be started.
pub(super) fn scan_stdin(
    settings: &Settings,
    scan: Scan<Arc<SecretDetector>>,
    sink: &Arc<dyn Sink>,
    stdin: Stdin,
) -> Result<ScanReport, CliError> {
    let sink = Arc::clone(sink);
    if !settings.diff {
        let source = ReaderSource::new(STDIN_NAME, stdin);
        return scan.source(source).run(sink).map_err(CliError::StartScan);
    }
    let filter = PathFilter::new(&settings.filter);
    let wanted = filter.clone();
    let source = DiffSource::new(STDIN_NAME, stdin).only(move |path| wanted.wants(path));
    let counts = source.counts();
    let scan = scan.max_objects_in_flight(OBJECTS_IN_FLIGHT).source(source);
    let mut report = scan.run(sink).map_err(CliError::StartScan)?;
    filter.add_to(&mut report);
    report.outcomes.binary += counts.binary_files();
    // The pieces of text between the files are one file, stdin.
    let more_texts = counts.texts().saturating_sub(1);
    report.outcomes.scanned = report.outcomes.scanned.saturating_sub(more_texts);
    Ok(report)
}
