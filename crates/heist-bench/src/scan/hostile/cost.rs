//! [`Meter`]: measures the CPU time of scans in this process, as a multiple of the time for prose.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use heist_scan::decode::utf16_guess;
use heist_scan::rules::RuleSet;
use heist_scan::{
    Chunk, Detector as _, DetectorOptions, Finding, ObjectOutcome, ReaderSource, Scan,
    SecretDetector, Sink, WorkLimit,
};

use crate::clock::process_cpu_time;
use crate::scan::prose::prose;
use crate::walk::trees::random::Random;

/// The size of the texts that are measured. Starting and ending a scan takes less than a tenth of
/// the time that this much of the worst text that is accepted takes.
pub(crate) const TEXT_BYTES: usize = 256 << 10;

const PROSE_BYTES: usize = 16 << 20;

/// What a text costs for each byte.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// The CPU time as a multiple of the time for prose.
    pub(crate) ratio: f64,
    /// The same in a large object, in which the allowance of the work limit no longer counts.
    pub(crate) limited: f64,
    /// The work that the detector counts.
    pub(crate) work: f64,
}

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

    /// Returns the cost of a text: the least of `times` measurements.
    pub(crate) fn cost(&self, text: &[u8], times: usize) -> Cost {
        let bytes = text.len().max(1) as f64;
        let ratio = self.seconds(text, times) / bytes / self.prose;
        let work = self.work(text) as f64 / bytes;
        // Of an object that takes more work than the limit, a part is scanned. The object may also
        // contain text without work, so the cost of what is scanned counts for all its bytes.
        let share = (WorkLimit::default().per_byte as f64 / work).min(1.0);
        Cost { ratio, limited: ratio * share, work }
    }

    /// Returns the work that the detector counts for a text.
    pub(crate) fn work(&self, text: &[u8]) -> u64 {
        let mut scratch = self.detector.scratch();
        let encoding = utf16_guess(text).unwrap_or_default();
        let chunk = Chunk::whole(text, "settings.py".as_ref()).with_encoding(encoding);
        self.detector.scan(&chunk, &mut scratch, &mut Vec::new());
        self.detector.take_work(&mut scratch)
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
