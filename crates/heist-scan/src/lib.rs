//! Finds secrets in files, streams and memory, at the speed of reading.
//!
//! For bytes in memory, call [`SecretDetector::find`]:
//!
//! ```
//! use heist_scan::rules::RuleSet;
//! use heist_scan::{DetectorOptions, SecretDetector};
//!
//! let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
//! for finding in detector.find(b"password = \"7tRmq!x2Lw9z\"") { // heist:allow
//!     println!("line {}: {} {}", finding.line, finding.rule, finding.secret);
//! }
//! ```
//!
//! For everything else there is [`Scan`], which takes three things:
//!
//! - a [`Detector`], usually the [`SecretDetector`]. All workers share it, and it never changes;
//!   each worker has a scratch of its own;
//! - the objects to scan: the files of a [`Walk`](heist_walk::Walk), or those of a [`Source`], such
//!   as the files of a list, a stream, or the standard input;
//! - a [`Sink`], which receives the findings. A finding has a path and a line, an excerpt in which
//!   secrets are masked, a confidence, and the reason for it.
//!
//! ```
//! use heist_scan::rules::RuleSet;
//! use heist_scan::{DetectorOptions, Finding, Scan, SecretDetector, Sink};
//! use heist_walk::Walk;
//!
//! /// Prints the findings.
//! struct Printer;
//!
//! impl Sink for Printer {
//!     fn finding(&self, finding: Finding) {
//!         println!("{}:{}: {}", finding.path.display(), finding.line, finding.excerpt);
//!     }
//! }
//!
//! let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
//! let report = Scan::new(detector).walk(Walk::new("src/window")).run(Printer)?;
//! assert!(report.is_complete());
//! # Ok::<(), heist_scan::ScanError>(())
//! ```
//!
//! To search for something else, implement [`Detector`]:
//!
//! ```
//! use heist_scan::{
//!     Chunk, Confidence, Detector, Match, Overlap, ReaderSource, RuleIndex, RuleInfo, Scan,
//! };
//! use std::sync::{Arc, Mutex};
//!
//! /// Finds `pin=` followed by four bytes.
//! struct Pins;
//!
//! impl Detector for Pins {
//!     type Scratch = ();
//!     fn scratch(&self) {}
//!     fn required_overlap(&self) -> Overlap {
//!         Overlap::new(0, 8)
//!     }
//!     fn scan(&self, chunk: &Chunk<'_>, _scratch: &mut (), matches: &mut Vec<Match>) {
//!         for at in chunk.owned.clone() {
//!             if chunk.bytes[at..].starts_with(b"pin=") && chunk.bytes.len() >= at + 8 {
//!                 let begin = chunk.offset + at as u64;
//!                 let pin = begin + 4..begin + 8;
//!                 let found = Match::new(RuleIndex(0), pin, Confidence::Medium);
//!                 matches.push(found.whole(begin..begin + 8).reason("it follows `pin=`"));
//!             }
//!         }
//!     }
//!     fn rule(&self, _rule: RuleIndex) -> RuleInfo<'_> {
//!         RuleInfo::new("pin", "a PIN", "change it")
//!     }
//! }
//!
//! let findings = Arc::new(Mutex::new(Vec::new()));
//! let source = ReaderSource::new("notes", &b"remember:\n  the pin=1234\n"[..]);
//! let report = Scan::new(Pins).source(source).run(Arc::clone(&findings))?;
//! assert!(report.is_complete());
//! let finding = &findings.lock().unwrap()[0];
//! assert_eq!((finding.line, finding.column), (2, 11));
//! assert_eq!(finding.excerpt, "  the pin=1******");
//! # Ok::<(), heist_scan::ScanError>(())
//! ```
//!
//! # How a scan works
//!
//! The same workers walk a tree and scan its files, on one executor ([`heist_walk`]). Files come in
//! batches by directory and are opened relative to it. The worker that read a directory scans its
//! files at once, while other workers can steal the directories below it and whole batches of a
//! large one. A small file is opened, read and closed: its first read decides whether it is binary,
//! and is also its only chunk. A larger file moves through the worker's buffer as a window, and a
//! file of more than 8 MiB is scanned by several workers, a range each.
//!
//! # What is guaranteed
//!
//! - **The findings do not depend on how an object is cut.** Chunk size, range size and the number
//!   of workers change neither the findings of an object nor their lines, excerpts or order.
//! - **Nothing is skipped silently.** Every object has an [`Outcome`], and
//!   [`ScanReport::incomplete`] lists what could not be scanned.
//! - **Only regular files are opened**: no pipe, no socket, no device, and no symbolic link that
//!   the walk does not follow ([`Walk::symlinks`](heist_walk::Walk::symlinks)).
//! - **Memory is bounded**: one buffer per worker and 1,024 objects in flight. It does not grow
//!   with the tree or with a file. (Matches are held until everything that could overlap them is
//!   known.)
//! - **A panic in a detector ends one object** ([`Outcome::Panicked`]) and nothing else.
//! - **Excerpts show only what is clearly ordinary text**, whatever the detector looks for. A
//!   [`Secret`] prints as a mask.
//!
//! # What is not guaranteed
//!
//! - An order between objects: their findings arrive as workers finish them.
//! - A snapshot: if a file changes during the scan, the scan sees each byte as it was when it was
//!   read.

#![deny(unsafe_code)]

mod atomic_file;
mod checksum;
mod chunk;
mod confidence;
pub mod decode;
mod detector;
mod detector_options;
pub mod diff;
mod encoding;
mod finding;
mod history_place;
mod masked;
mod newline;
pub mod noise;
mod null_detector;
#[cfg(unix)]
mod open_directory;
pub mod parsers;
mod placement;
mod printable;
mod report;
pub mod rules;
mod scan;
mod secrets;
mod sink;
mod small_file;
mod source;
pub mod suppress;
mod tree_rules;
mod version;
mod window;

pub use atomic_file::{
    AtomicFile, AtomicFileOptions, NoUnfinishedFiles, OutputPathError, remove_unfinished_files,
};
pub use checksum::{Checksum, UnknownChecksum};
pub use chunk::Chunk;
pub use confidence::{Confidence, UnknownConfidence};
pub use detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};
pub use encoding::Encoding;
pub use finding::Finding;
pub use history_place::{CommitInfo, HistoryFate, HistoryPlace, HistoryText};
pub use masked::{Fingerprint, Secret, mask};
pub use null_detector::NullDetector;
pub use placement::Placement;
pub use printable::is_printable;
pub use report::{Incomplete, Outcome, OutcomeCounts, ScanError, ScanReport, Stopped};
pub use scan::{
    BlobScan, BlobScanner, RootPlace, Scan, ScanCounts, ScanProgress, ScannedBlob, WorkLimit,
    parallel_scan_dir, scan_source,
};
pub use secrets::{
    DetectorOptions, ExplainedStep, Explanation, PrefilterKind, Scratch, SecretDetector, Step,
    StepOutcome, Verdict,
};
pub use sink::{ObjectOutcome, Sink};
pub use small_file::{read_small_file, read_small_file_below};
pub use source::{FileSource, Object, ReaderSource, Source, SourceError, StdinSource};
pub use tree_rules::{HiddenBy, Standing, TreeRules};
pub use version::{Copied, Memory, PathFreeMatch, Version};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
