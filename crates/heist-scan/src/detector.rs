//! [`Detector`]: what looks for secrets in bytes. Shared by all workers and never changed; what changes is each
//! worker's scratch.

use crate::chunk::Chunk;
use crate::confidence::Confidence;
use crate::encoding::Encoding;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// How far around a position a detector looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Bytes before it.
    pub before: usize,
    /// Bytes from it on.
    pub after: usize,
}

/// Which of a detector's rules: its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleIndex(pub u32);

/// What a finding says about its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo<'a> {
    /// The rule's name, for example `github-pat`.
    pub id: &'a str,
    /// What it finds, in a few words.
    pub description: &'a str,
    /// What to do about a finding.
    pub remedy: &'a str,
}

/// What a detector found. Offsets are the object's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// By which rule.
    pub rule: RuleIndex,
    /// Everything that the rule matched.
    pub whole: Range<u64>,
    /// The secret in it, as it stands in the object: encoded, if it is.
    pub secret: Range<u64>,
    /// The secret after decoding; `None` if it stands there as it is.
    pub decoded: Option<Box<[u8]>>,
    /// How it was encoded.
    pub encoding: Encoding,
    /// How sure it is ...
    pub confidence: Confidence,
    /// ... and why.
    pub reason: Cow<'static, str>,
}

/// Looks for secrets in bytes.
pub trait Detector: Send + Sync + 'static {
    /// What a worker needs while it looks: caches and buffers.
    type Scratch: Send + 'static;

    /// Makes one worker's scratch.
    fn scratch(&self) -> Self::Scratch;

    /// How far around a position [`Detector::scan`] looks.
    fn required_overlap(&self) -> Overlap;

    /// Whether an object is worth opening, by its [path](Chunk::path).
    fn wants(&self, path: &Path) -> bool {
        let _ = path;
        true
    }

    /// What the path alone says: a file that is a secret by its name. Offsets are 0.
    fn scan_path(&self, path: &Path, matches: &mut Vec<Match>) {
        let _ = (path, matches);
    }

    /// Adds what is found at the positions that the chunk owns, in any order. The same secret may come several times,
    /// by several rules.
    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut Self::Scratch, matches: &mut Vec<Match>);

    /// What a finding says about a rule.
    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_>;
}
