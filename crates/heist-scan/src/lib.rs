//! Every secret in a tree, at the speed of reading.

mod checksum;
mod chunk;
mod confidence;
mod config;
pub mod decode;
mod detector;
mod encoding;
mod finding;
pub mod hand;
pub mod noise;
mod read;
mod read_only;
mod report;
pub mod rules;
mod scan;
mod secret;
mod secrets;
mod sink;
mod source;

pub use checksum::{Checksum, UnknownChecksum};
pub use chunk::Chunk;
pub use confidence::{Confidence, UnknownConfidence};
pub use config::ScanConfig;
pub use detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};
pub use encoding::Encoding;
pub use finding::Finding;
pub use read_only::ReadOnly;
pub use report::{Incomplete, Outcome, OutcomeCounts, ScanError, ScanReport, Stopped};
pub use rules::{
    Allowlist, Condition, HandKind, Loaded, Pattern, RegexTarget, Rule, RuleError, RuleNote,
    RuleSet,
};
pub use scan::{
    ScanCounts, ScanProgress, parallel_scan_dir, parallel_scan_dir_traced, scan_local,
    scan_local_with_progress,
};
pub use secret::{Fingerprint, Secret, mask};
pub use secrets::{DetectorOptions, PrefilterKind, Scratch, SecretDetector};
pub use sink::{ObjectOutcome, Sink};
pub use source::{FileSource, Object, ReaderSource, Source, SourceError, StdinSource};
