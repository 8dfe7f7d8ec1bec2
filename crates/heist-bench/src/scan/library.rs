//! Scans by the library `heist-scan`, as programs that take part in the race: the hidden subcommand `scan-library`.
//!
//! With `--read-only` it is the least that a scan costs: the same files as `heist scan` reads, by the same workers into
//! the same buffers, and nobody looks at them. Without, it is the detector alone, without the tool around it; findings
//! above low confidence are printed in the fields that `heist scan --format jsonl` has, secrets as they are.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use heist_scan::{
    Chunk, Confidence, Detector, DetectorOptions, Finding, Match, NullDetector, Overlap, RuleIndex,
    RuleInfo, RuleSet, SecretDetector, Sink, parallel_scan_dir,
};

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    path: PathBuf,
    /// Read and do not look.
    #[arg(long)]
    read_only: bool,
    /// Look for candidates and do not confirm them.
    #[arg(long, conflicts_with = "read_only")]
    prefilter: bool,
    /// Leave out the generic kinds.
    #[arg(long)]
    no_generic: bool,
}

/// Scans and prints what was found.
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

/// The first half of a detector: one sweep over each chunk.
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

/// Prints findings, a line each.
struct Printing<W>(Mutex<W>);

impl<W: Write + Send> Sink for Printing<W> {
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
        // If nobody listens any more, nobody misses it.
        let _ = writeln!(output, "{line}");
    }
}

/// The number of bytes that were read.
fn scan(
    detector: impl Detector,
    path: &Path,
    output: impl Write + Send + 'static,
) -> Result<u64, String> {
    parallel_scan_dir(path, detector, Printing(Mutex::new(output)))
        .map(|report| report.bytes)
        .map_err(|error| error.to_string())
}

/// What our rules look for first, in the order of its letters, a line each: for those who only search.
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
    use crate::scan::findings::Format;
    use crate::walk::trees::random::Random;
    use std::sync::Arc;

    /// Output that is looked at afterwards.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_pass_reads_everything_and_the_detector_prints_what_it_finds() {
        let root = tempfile::tempdir().expect("a place for a test");
        let kind = kinds::all().next().expect("there are kinds");
        let token = kind.make(&mut Random::new(4)).text;
        let text = format!("first line\ngithub_token = \"{token}\"\n");
        std::fs::write(root.path().join("settings.py"), &text).expect("is new");
        assert_eq!(scan(NullDetector, root.path(), io::sink()), Ok(text.len() as u64));
        let output = Shared::default();
        let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
        scan(detector, root.path(), output.clone()).expect("can be scanned");
        let printed = output.0.lock().expect("nobody panics").clone();
        let found = Format::Heist.read(&mut &printed[..]).expect("it is what we print");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0].lines, &found[0].texts), (&Some(2..=2), &vec![token]));
    }

    #[test]
    fn literals_are_there_once_each() {
        let text = literals();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.len() > 50, "{}", lines.len());
        assert!(lines.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(lines.iter().all(|line| !line.is_empty()));
    }
}
