//! Scans by the library `heist-scan`, as contenders of `scan`: the hidden subcommand
//! `scan-library`.
//!
//! With `--read-only` it is the yardstick: the same workers read the same files as `heist scan`
//! into the same buffers, and a detector ignores them. Without it, it is the detector without the
//! tool around it. It prints findings above low confidence in the fields of `heist scan --format
//! jsonl`, with the secrets in clear text.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use heist_scan::rules::RuleSet;
use heist_scan::{
    Chunk, Confidence, Detector, DetectorOptions, Finding, Match, NullDetector, Overlap, RuleIndex,
    RuleInfo, SecretDetector, Sink, parallel_scan_dir,
};

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    path: PathBuf,
    /// Read the files without searching them.
    #[arg(long)]
    read_only: bool,
    /// Search for candidates without confirming them.
    #[arg(long, conflicts_with = "read_only")]
    prefilter: bool,
    /// Leave out the generic kinds.
    #[arg(long)]
    no_generic: bool,
}

/// Scans the tree and prints the findings.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let output = BufWriter::new(io::stdout());
    if options.read_only {
        return scan(NullDetector, &options.path, output).map(drop);
    }
    let detection = DetectorOptions::default().generic(!options.no_generic);
    let detector = SecretDetector::new(RuleSet::builtin(), detection);
    if options.prefilter {
        return scan(PrefilterOnly(detector), &options.path, output).map(drop);
    }
    scan(detector, &options.path, output).map(drop)
}

/// The first half of a detector: one pass over each chunk.
struct PrefilterOnly(SecretDetector);

impl Detector for PrefilterOnly {
    type Scratch = heist_scan::Scratch;

    fn scratch(&self) -> Self::Scratch {
        self.0.scratch()
    }

    fn required_overlap(&self) -> Overlap {
        self.0.required_overlap()
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut Self::Scratch, _: &mut Vec<Match>) {
        std::hint::black_box(self.0.count_candidates(&chunk.bytes[chunk.owned.clone()], scratch));
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        self.0.rule(rule)
    }
}

/// Prints findings, one per line.
struct FindingPrinter<W>(Mutex<W>);

impl<W: Write + Send> Sink for FindingPrinter<W> {
    fn finding(&self, finding: Finding) {
        if finding.confidence == Confidence::Low || finding.allowed {
            return;
        }
        let line = serde_json::json!({
            "rule": &*finding.rule,
            "path": finding.path.to_string_lossy(),
            "line": finding.line,
            "end_line": finding.end_line,
            "secret": String::from_utf8_lossy(finding.secret.reveal()),
        });
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The reader may have closed the pipe; then the output is not needed.
        let _ = writeln!(output, "{line}");
    }
}

/// Scans the tree and returns the number of bytes read.
fn scan(
    detector: impl Detector,
    path: &Path,
    output: impl Write + Send + 'static,
) -> Result<u64, String> {
    parallel_scan_dir(path, detector, FindingPrinter(Mutex::new(output)))
        .map(|report| report.bytes)
        .map_err(|error| error.to_string())
}

/// Returns the literals that heist's rules search for first, sorted, one per line, as input for
/// tools that only search.
pub(crate) fn literals() -> String {
    let rules = RuleSet::builtin().rules;
    let mut literals: Vec<&str> =
        rules.iter().flat_map(|rule| rule.keywords.iter().map(String::as_str)).collect();
    literals.sort_unstable();
    literals.dedup();
    literals.iter().map(|literal| format!("{literal}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::corpus::kinds;
    use crate::scan::findings::ReportFormat;
    use crate::walk::trees::random::Random;
    use std::sync::Arc;

    /// Output that a test reads afterwards.
    #[derive(Clone, Default)]
    struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no thread panics").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_read_only_pass_reads_everything_and_the_detector_prints_findings() {
        let root = tempfile::tempdir().expect("can create a temporary folder");
        let kind = kinds::all().next().expect("there are kinds");
        let token = kind.make(&mut Random::new(4)).text;
        let text = format!("first line\ngithub_token = \"{token}\"\n");
        std::fs::write(root.path().join("settings.py"), &text).expect("is new");
        assert_eq!(scan(NullDetector, root.path(), io::sink()), Ok(text.len() as u64));
        let output = CapturedOutput::default();
        let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
        scan(detector, root.path(), output.clone()).expect("can be scanned");
        let printed = output.0.lock().expect("no thread panics").clone();
        let found = ReportFormat::Heist.read(&mut &printed[..]).expect("it is what we print");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0].lines, &found[0].texts), (&Some(2..=2), &vec![token]));
    }

    #[test]
    fn every_literal_is_listed_once() {
        let text = literals();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.len() > 50, "{}", lines.len());
        assert!(lines.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(lines.iter().all(|line| !line.is_empty()));
    }
}
