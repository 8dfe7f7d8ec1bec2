//! [`Finding`]: a secret and where it is, as a [`Sink`](crate::Sink) gets it.

use crate::confidence::Confidence;
use crate::encoding::Encoding;
use crate::history_place::HistoryPlace;
use crate::masked::{Fingerprint, Secret};
use crate::tree_rules::Standing;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A secret and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The path of the object that contains the secret, in the form the scan was given it.
    pub path: Arc<Path>,
    /// The name of the rule that found it.
    pub rule: Arc<str>,
    /// What the rule finds, in a few words.
    pub description: Arc<str>,
    /// What to do about the finding.
    pub remedy: Arc<str>,
    /// The decoded secret. It prints as a mask.
    pub secret: Secret,
    /// The secret as reports show it: its mask, or an identifier in full.
    pub shown: String,
    /// The hash that stands for the secret in reports.
    pub fingerprint: Fingerprint,
    /// The byte offsets of the secret in the object.
    pub offset: Range<u64>,
    /// The line in which the secret begins, counted from 1.
    pub line: u64,
    /// The first byte of the secret in that line, counted from 1.
    pub column: u64,
    /// The line in which the secret ends, counted from 1.
    pub end_line: u64,
    /// The byte after the last byte of the secret in that line, counted from 1.
    pub end_column: u64,
    /// The part of the line near the secret. Every secret in it is masked.
    pub excerpt: String,
    /// The same part of the line with its secrets.
    pub excerpt_revealed: Secret,
    /// How the secret is encoded in the object.
    pub encoding: Encoding,
    /// How likely the finding is a real secret.
    pub confidence: Confidence,
    /// Why it has this confidence, for a person to read.
    pub reason: Cow<'static, str>,
    /// Whether a comment in the same line allows the secret.
    pub allowed: bool,
    /// Who wants the finding, and whether the scanned tree hides it.
    pub standing: Standing,
    /// Where in a git history it is, if a history was scanned. Then [`path`](Finding::path) is no
    /// file that could be opened.
    pub history: Option<Arc<HistoryPlace>>,
}

impl Finding {
    /// Creates a finding at the beginning of the object `path`, with empty texts: a start for tests
    /// of a [`Sink`](crate::Sink), which set the fields they need.
    ///
    /// # Examples
    /// ```
    /// use heist_scan::{Confidence, Finding, Secret};
    ///
    /// let mut finding = Finding::new("config.ini", "password", Secret::new(*b"not a real one"));
    /// finding.line = 3;
    /// finding.confidence = Confidence::High;
    /// ```
    #[must_use]
    pub fn new(path: impl AsRef<Path>, rule: &str, secret: Secret) -> Self {
        Self {
            path: path.as_ref().into(),
            rule: rule.into(),
            description: "".into(),
            remedy: "".into(),
            fingerprint: secret.fingerprint(),
            shown: secret.masked(),
            secret,
            offset: 0..0,
            line: 1,
            column: 1,
            end_line: 1,
            end_column: 1,
            excerpt: String::new(),
            excerpt_revealed: Secret::new(Vec::new()),
            encoding: Encoding::Plain,
            confidence: Confidence::Medium,
            reason: Cow::Borrowed(""),
            allowed: false,
            standing: Standing::Chosen,
            history: None,
        }
    }
}
