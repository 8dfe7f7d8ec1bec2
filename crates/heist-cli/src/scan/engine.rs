//! The scan itself: settings and a detector become a run of the library, and its report what is told of it.

use super::settings::{Settings, is_stdin};
use super::summary::{Ended, Gap, Skipped};
use crate::escape;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, ProgressLine, reason};
use crate::units::{Unit, grouped};
use heist::trace::ChromeTrace;
use heist_scan::{ScanConfig, ScanProgress, ScanReport, SecretDetector, Sink};
use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What stdin is called in reports.
pub(crate) const STDIN_NAME: &str = "stdin";

/// What a scan came to.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// Of the paths, and of stdin.
    pub(crate) reports: Vec<ScanReport>,
    pub(crate) elapsed: Duration,
}

/// Where a trace goes.
type Trace = ChromeTrace<BufWriter<File>>;

/// Scans.
///
/// # Errors
/// The scan could not be started, or its trace not be made; the text says why.
pub(crate) fn scan(
    settings: &Settings,
    detector: SecretDetector,
    sink: &Arc<dyn Sink>,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Scanned, String> {
    let started = Instant::now();
    // A time that is too far away never comes.
    let deadline = settings.timeout.and_then(|timeout| started.checked_add(timeout));
    let config = ScanConfig::new()
        .workers(settings.threads.map(NonZeroUsize::get))
        .max_file_size(settings.max_size)
        .binary(settings.binary)
        .filter(settings.filter.clone())
        .symlinks(settings.symlinks)
        .same_file_system(settings.one_file_system)
        .cancel(interrupt.token())
        .deadline(deadline);
    let progress = ScanProgress::new();
    let shown = progress.clone();
    let line = settings
        .progress
        .then(|| ProgressLine::start_with(messages, move |elapsed| progress_line(&shown, elapsed)))
        .flatten();
    let reports = scan_all(settings, &Arc::new(detector), sink, &config, &progress);
    drop(line);
    Ok(Scanned { reports: reports?, elapsed: started.elapsed() })
}

fn progress_line(progress: &ScanProgress, elapsed: Duration) -> String {
    let now = progress.snapshot();
    let rate = (now.bytes as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let findings = match now.findings {
        1 => "1 finding".to_owned(),
        count => format!("{} findings", grouped(count)),
    };
    format!(
        "{} files  {}  {}/s  {findings}",
        grouped(now.files),
        Unit::HUMAN.show(now.bytes),
        Unit::HUMAN.show(rate)
    )
}
