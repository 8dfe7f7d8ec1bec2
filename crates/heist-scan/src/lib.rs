//! Every secret in a tree, at the speed of reading.

mod checksum;
mod chunk;
mod confidence;
pub mod decode;
mod detector;
mod encoding;
mod finding;
pub mod hand;
pub mod noise;
pub mod rules;
mod secret;
mod secrets;
pub mod suppress;
mod whole_file;

pub use checksum::{Checksum, UnknownChecksum};
pub use chunk::Chunk;
pub use confidence::{Confidence, UnknownConfidence};
pub use detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};
pub use encoding::Encoding;
pub use finding::Finding;
pub use rules::{
    Allowlist, Condition, HandKind, Loaded, Pattern, RegexTarget, Rule, RuleError, RuleNote,
    RuleSet,
};
pub use secret::{Fingerprint, Secret, mask};
pub use secrets::{DetectorOptions, PrefilterKind, Scratch, SecretDetector};
pub use whole_file::WholeFile;
