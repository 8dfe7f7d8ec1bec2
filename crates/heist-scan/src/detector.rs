//! [`Detector`]: finds secrets in bytes.
//!
//! All workers of a scan share one detector, which never changes. Whatever a worker has to change
//! while it searches is in that worker's own scratch.

use crate::chunk::Chunk;
use crate::confidence::Confidence;
use crate::encoding::Encoding;
use crate::tree_rules::Standing;
use crate::version::{Memory, PathFreeMatch, Version};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// How far around a position a detector looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overlap {
    /// The number of bytes before the position.
    pub before: usize,
    /// The number of bytes from the position on.
    pub after: usize,
}

impl Overlap {
    /// Creates an overlap of `before` bytes before a position and `after` bytes from it on.
    #[must_use]
    pub const fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}

/// The index of a rule among the rules of its detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleIndex(pub u32);

/// The texts that a finding takes from its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleInfo<'a> {
    /// The rule's name, for example `github-pat`.
    pub id: &'a str,
    /// What the rule finds, in a few words.
    pub description: &'a str,
    /// What to do about a finding.
    pub remedy: &'a str,
}

impl<'a> RuleInfo<'a> {
    /// Creates the texts of a rule.
    #[must_use]
    pub const fn new(id: &'a str, description: &'a str, remedy: &'a str) -> Self {
        Self { id, description, remedy }
    }
}

/// A place where a rule of a detector matched. All offsets are offsets in the object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The rule that matched.
    pub rule: RuleIndex,
    /// Everything that the rule matched.
    pub whole: Range<u64>,
    /// The secret within `whole`, as it is written in the object (possibly encoded).
    pub secret: Range<u64>,
    /// The decoded secret, or `None` if the object contains it as plain text.
    pub decoded: Option<Box<[u8]>>,
    /// How the secret is encoded in the object.
    pub encoding: Encoding,
    /// How likely the match is a real secret.
    pub confidence: Confidence,
    /// Why it has this confidence, for a person to read.
    pub reason: Cow<'static, str>,
    /// Who wants it, and whether the scanned tree hides it.
    pub standing: Standing,
    /// Whether the match is not a secret itself but identifies one, such as the ID of a key. It is
    /// not masked: it is needed to revoke the secret.
    pub is_identifier: bool,
}

impl Match {
    /// Creates a match of `rule` at `secret`, in plain text and without a reason.
    ///
    /// # Examples
    /// ```
    /// use heist_scan::{Confidence, Match, RuleIndex};
    ///
    /// let found = Match::new(RuleIndex(0), 10..14, Confidence::Medium)
    ///     .whole(6..14)
    ///     .reason("it follows `pin=`");
    /// assert_eq!((found.whole, found.secret), (6..14, 10..14));
    /// ```
    #[must_use]
    pub fn new(rule: RuleIndex, secret: Range<u64>, confidence: Confidence) -> Self {
        Self {
            rule,
            whole: secret.clone(),
            secret,
            decoded: None,
            encoding: Encoding::Plain,
            confidence,
            reason: Cow::Borrowed(""),
            standing: Standing::Chosen,
            is_identifier: false,
        }
    }

    /// Sets everything that the rule matched, if that is more than the secret.
    #[must_use]
    pub fn whole(mut self, whole: Range<u64>) -> Self {
        self.whole = whole;
        self
    }

    /// Sets why the match has its confidence.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Sets the decoded secret and how the object encodes it.
    #[must_use]
    pub fn decoded(mut self, secret: impl Into<Box<[u8]>>, encoding: Encoding) -> Self {
        self.decoded = Some(secret.into());
        self.encoding = encoding;
        self
    }
}

/// Finds secrets in bytes.
///
/// An `Arc` of a detector is a detector, so several scans can share one. The [crate
/// documentation](crate) has an example of a detector.
pub trait Detector: Send + Sync + 'static {
    /// What one worker needs while it searches: caches and buffers.
    type Scratch: Send + 'static;

    /// Creates the scratch of one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Returns how far around a position [`Detector::scan`] looks.
    fn required_overlap(&self) -> Overlap;

    /// Returns `true` if the detector finds everything that the built-in rules find, or nothing at
    /// all. If it does not, a scan searches around each match with the built-in rules as well, so
    /// that excerpts mask secrets that this detector does not look for.
    fn finds_builtin(&self) -> bool {
        false
    }

    /// Returns `false` if an object with this [path](Chunk::path) is not worth opening.
    fn wants(&self, path: &Path) -> bool {
        let _ = path;
        true
    }

    /// Adds the matches that follow from the path alone, for example of a file whose name says that
    /// it is a key. Their offsets are 0.
    fn scan_path(&self, path: &Path, matches: &mut Vec<Match>) {
        let _ = (path, matches);
    }

    /// Adds the matches at the positions that `chunk` owns, in any order. Several rules may report
    /// the same secret, and one rule may report it several times.
    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut Self::Scratch, matches: &mut Vec<Match>);

    /// Scans an object that is completely in memory and whose path is not known yet. Adds its
    /// matches, in any order; [`settle`](Self::settle) decides about each under a path. Returns
    /// what the detector keeps of the object.
    ///
    /// If the version says what it was [made from](Version::based_on), the detector may look at the
    /// changed ranges alone. It must find what a scan of the whole object finds.
    ///
    /// By default, the whole object is scanned with [`scan`](Self::scan) under an empty path, and
    /// nothing is kept. That is right for detectors whose `scan` does not look at the path.
    fn scan_changed(
        &self,
        version: &Version<'_>,
        scratch: &mut Self::Scratch,
        matches: &mut Vec<PathFreeMatch>,
    ) -> Memory {
        let chunk = Chunk::whole(version.bytes, Path::new("")).with_encoding(version.encoding);
        let mut found = Vec::new();
        self.scan(&Chunk { stop: version.stop, ..chunk }, scratch, &mut found);
        matches.extend(found.into_iter().map(PathFreeMatch::under_every_path));
        Memory::default()
    }

    /// Returns the match as it is in an object with this [path](Chunk::path), or `None` if it does
    /// not count there.
    ///
    /// The settled matches of [`scan_changed`](Self::scan_changed) are those that
    /// [`scan`](Self::scan) adds under the same path. By default, a match is the same under every
    /// path.
    fn settle(&self, found: &PathFreeMatch, path: &Path) -> Option<Match> {
        let _ = path;
        Some(found.unsettled().clone())
    }

    /// Returns the work of all calls of [`scan`](Self::scan) with this scratch since the last call
    /// of this method, in units of about a nanosecond. A scan compares it with its
    /// [limit](crate::WorkLimit).
    ///
    /// The work for a position must not depend on which other positions its chunk owns, and time
    /// must not be measured: otherwise the limit would cut an object at different places. By
    /// default it is 0, and there is no limit.
    fn take_work(&self, scratch: &mut Self::Scratch) -> u64 {
        let _ = scratch;
        0
    }

    /// Returns the texts that findings of `rule` show.
    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_>;
}

impl<D: Detector> Detector for Arc<D> {
    type Scratch = D::Scratch;

    fn scratch(&self) -> D::Scratch {
        D::scratch(self)
    }

    fn required_overlap(&self) -> Overlap {
        D::required_overlap(self)
    }

    fn finds_builtin(&self) -> bool {
        D::finds_builtin(self)
    }

    fn wants(&self, path: &Path) -> bool {
        D::wants(self, path)
    }

    fn scan_path(&self, path: &Path, matches: &mut Vec<Match>) {
        D::scan_path(self, path, matches);
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut D::Scratch, matches: &mut Vec<Match>) {
        D::scan(self, chunk, scratch, matches);
    }

    fn scan_changed(
        &self,
        version: &Version<'_>,
        scratch: &mut D::Scratch,
        matches: &mut Vec<PathFreeMatch>,
    ) -> Memory {
        D::scan_changed(self, version, scratch, matches)
    }

    fn settle(&self, found: &PathFreeMatch, path: &Path) -> Option<Match> {
        D::settle(self, found, path)
    }

    fn take_work(&self, scratch: &mut D::Scratch) -> u64 {
        D::take_work(self, scratch)
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        D::rule(self, rule)
    }
}
