//! Every secret in a tree, at the speed of reading.
//!
//! Three things make a scan:
//!
//! - a [`Detector`] looks for secrets in bytes: shared by all workers, never changed, with a scratch for each of them;
//! - objects to look at: what is below some paths ([`parallel_scan_dir`]), or what a [`Source`] gives out
//!   ([`scan_local`]): files of a list, a stream, the standard input;
//! - a [`Sink`], where findings go: each with its place, its line (masked), how sure it is, and why.
//!
//! ```
//! use heist_scan::{
//!     Chunk, Confidence, Detector, Encoding, Finding, Match, Overlap, ReaderSource, RuleIndex, RuleInfo, ScanConfig,
//!     Sink, scan_local,
//! };
//! use std::sync::{Arc, Mutex};
//!
//! /// Finds `pin=` and four bytes.
//! struct Pins;
//!
//! impl Detector for Pins {
//!     type Scratch = ();
//!     fn scratch(&self) {}
//!     fn required_overlap(&self) -> Overlap {
//!         Overlap { before: 0, after: 8 }
//!     }
//!     fn scan(&self, chunk: &Chunk<'_>, _scratch: &mut (), matches: &mut Vec<Match>) {
//!         for at in chunk.owned.clone() {
//!             if chunk.bytes[at..].starts_with(b"pin=") && chunk.bytes.len() >= at + 8 {
//!                 let begin = chunk.offset + at as u64;
//!                 matches.push(Match {
//!                     rule: RuleIndex(0),
//!                     whole: begin..begin + 8,
//!                     secret: begin + 4..begin + 8,
//!                     decoded: None,
//!                     encoding: Encoding::Plain,
//!                     confidence: Confidence::Medium,
//!                     reason: "it follows `pin=`".into(),
//!                 });
//!             }
//!         }
//!     }
//!     fn rule(&self, _rule: RuleIndex) -> RuleInfo<'_> {
//!         RuleInfo { id: "pin", description: "a PIN", remedy: "change it" }
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Lines(Mutex<Vec<String>>);
//!
//! impl Sink for Lines {
//!     fn finding(&self, finding: Finding) {
//!         let place = format!("{}:{}:{}", finding.path.display(), finding.line, finding.column);
//!         self.0.lock().unwrap().push(format!("{place}: {}: {}", finding.rule, finding.excerpt));
//!     }
//! }
//!
//! let lines = Arc::new(Lines::default());
//! let source = ReaderSource::new("notes", &b"remember:\n  pin=1234, of course\n"[..]);
//! let sink = Arc::clone(&lines) as Arc<dyn Sink>;
//! let report = scan_local(Arc::new(Pins), source, sink, &ScanConfig::new())?;
//! assert!(report.is_complete());
//! assert_eq!(*lines.0.lock().unwrap(), ["notes:2:7: pin:   pin=1******, of course"]);
//! # Ok::<(), heist_scan::ScanError>(())
//! ```
//!
//! # How it goes
//!
//! A tree is walked and scanned by the same workers, on one executor ([`heist_walk`]). Files come in batches by
//! directory and are opened relative to it; the worker that read a directory scans its files at once, while others can
//! have the directories below it, and whole batches of a large one. A small file is opened, read and closed: its
//! first read is the probe for binary contents and the only chunk. What does not fit into a worker's buffer moves
//! through it as a window; a file of more than 8 MiB is read by several workers, a range each.
//!
//! # What is guaranteed
//!
//! - **The same findings for every cut.** Chunk size, range size and the number of workers change nothing: neither what
//!   is found nor its line, its excerpt or its order within the object.
//! - **Nothing is silently skipped.** Every object has an [`Outcome`]; what is missing is in
//!   [`ScanReport::incomplete`].
//! - **Nothing but regular files is opened**: no pipe, no socket, no device; no link unless [`ScanConfig::symlinks`]
//!   says so.
//! - **Bounded memory**: a buffer for each worker, 1,024 objects in flight; nothing grows with the tree or with a file.
//!   (Matches are kept until everything is known that could overlap them.)
//! - **A panic in a detector ends its object** ([`Outcome::Panicked`]), and nothing else.
//! - **Masked**: every secret in an excerpt, of any confidence. [`Secret`]s print as masks.
//!
//! # What is not
//!
//! - Order between objects: they come as they are done.
//! - A snapshot: of a file that changes while it is scanned, each byte is seen as it was when it was read.

#![deny(unsafe_code)]

mod checksum;
mod chunk;
mod confidence;
mod config;
pub mod decode;
mod detector;
mod encoding;
mod finding;
pub mod noise;
pub mod parsers;
mod read;
mod read_only;
mod regular_file;
mod report;
pub mod rules;
mod scan;
mod secret;
mod secrets;
mod sink;
mod source;
pub mod suppress;
mod whole_file;

pub use checksum::{Checksum, UnknownChecksum};
pub use chunk::Chunk;
pub use confidence::{Confidence, UnknownConfidence};
pub use config::ScanConfig;
pub use detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};
pub use encoding::Encoding;
pub use finding::Finding;
pub use read_only::ReadOnly;
pub use regular_file::read_regular;
pub use report::{Incomplete, Outcome, OutcomeCounts, ScanError, ScanReport, Stopped};
pub use rules::{
    Allowlist, Condition, Loaded, ParserKind, Pattern, RegexTarget, Rule, RuleError, RuleNote,
    RuleSet,
};
pub use scan::{
    ScanCounts, ScanProgress, parallel_scan_dir, parallel_scan_dir_traced, scan_local,
    scan_local_with_progress,
};
pub use secret::{Fingerprint, Secret, mask};
pub use secrets::{
    DetectorOptions, ExplainedStep, Explanation, PrefilterKind, Scratch, SecretDetector, Step,
    StepOutcome, Verdict,
};
pub use sink::{ObjectOutcome, Sink};
pub use source::{FileSource, Object, ReaderSource, Source, SourceError, StdinSource};
pub use whole_file::WholeFile;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
