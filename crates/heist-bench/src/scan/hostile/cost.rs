//! [`Meter`]: measures the CPU time of scans in this process, as a multiple of the time for prose.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use heist_scan::rules::RuleSet;
use heist_scan::{
    DetectorOptions, Finding, ObjectOutcome, ReaderSource, Scan, SecretDetector, Sink,
};

use crate::clock::process_cpu_time;
use crate::scan::prose::prose;
use crate::walk::trees::random::Random;

/// The size of the texts that are measured. Starting and ending a scan takes less than a tenth of
/// the time that this much of the worst text that is accepted takes.
pub(crate) const TEXT_BYTES: usize = 256 << 10;

const PROSE_BYTES: usize = 16 << 20;

/// Measures scans.
pub(crate) struct Meter {
    detector: Arc<SecretDetector>,
    /// Seconds per byte of prose.
    pub(crate) prose: f64,
}

/// Ignores the findings. Making them is part of the cost; writing them is not.
struct Ignored;

impl Sink for Ignored {
    fn finding(&self, finding: Finding) {
        std::hint::black_box(finding);
    }

    fn object(&self, _: &ObjectOutcome<'_>) {}
}

impl Meter {
    pub(crate) fn new() -> Self {
        let detector =
            Arc::new(SecretDetector::new(RuleSet::builtin(), DetectorOptions::default()));
        let mut meter = Self { detector, prose: 1.0 };
        let text = prose(&mut Random::new(1), PROSE_BYTES);
        meter.prose = meter.seconds(&text, 5) / text.len() as f64;
        meter
    }

    /// Returns the CPU time for each byte of a text as a multiple of the time for prose: the least
    /// of `times` measurements.
    pub(crate) fn ratio(&self, text: &[u8], times: usize) -> f64 {
        self.seconds(text, times) / text.len().max(1) as f64 / self.prose
    }

    fn seconds(&self, text: &[u8], times: usize) -> f64 {
        (0..times).map(|_| self.scan(text)).min().unwrap_or_default().as_secs_f64()
    }

    fn scan(&self, text: &[u8]) -> Duration {
        let source = ReaderSource::new("settings.py", Cursor::new(text.to_vec()));
        let before = process_cpu_time();
        let scan = Scan::new(Arc::clone(&self.detector)).threads(Some(1)).source(source);
        scan.run(Arc::new(Ignored)).expect("a thread can be started");
        process_cpu_time().saturating_sub(before)
    }
}
