//! [`Finding`]: a secret at a place, as a [`Sink`](crate::Sink) gets it.

use crate::confidence::Confidence;
use crate::encoding::Encoding;
use crate::secret::{Fingerprint, Secret};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A secret at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The object that it is in, as it was named to the scan.
    pub path: Arc<Path>,
    /// The rule's name.
    pub rule: Arc<str>,
    /// What the rule finds, in a few words.
    pub description: Arc<str>,
    /// What to do about it.
    pub remedy: Arc<str>,
    /// The secret, decoded. Prints as a mask.
    pub secret: Secret,
    /// By what the secret is known in reports and baselines.
    pub fingerprint: Fingerprint,
    /// Where it is in the object, in bytes.
    pub offset: Range<u64>,
    /// Where it begins: the line, counted from 1.
    pub line: u64,
    /// ... and the byte in that line, counted from 1.
    pub column: u64,
    /// The line that it ends in.
    pub end_line: u64,
    /// The byte after its last one in that line, counted from 1.
    pub end_column: u64,
    /// The line around it, cut to what is near; every secret in it is masked.
    pub excerpt: String,
    /// The same with the secrets in it.
    pub excerpt_revealed: Secret,
    /// How the secret was encoded.
    pub encoding: Encoding,
    /// How sure it is ...
    pub confidence: Confidence,
    /// ... and why.
    pub reason: Cow<'static, str>,
    /// Whether a comment in its line allows it.
    pub allowed: bool,
}
