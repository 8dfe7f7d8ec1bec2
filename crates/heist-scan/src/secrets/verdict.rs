//! The judgement: decides whether to report a [`Candidate`], and why.
//!
//! A candidate is a place where a rule's expression matched or a parser found something.
//! [`SecretDetector::judge`] takes it through all [`Step`]s and returns a [`Verdict`]. To find out
//! why something was (not) reported, read that function and the two that it calls, from top to
//! bottom:
//!
//! 1. [`SecretDetector::judge_content`]: everything that depends on the text alone;
//! 2. [`SecretDetector::judge_path`]: everything that depends on the object's path. Several paths
//!    can share one content; the first part is then the same for all of them.
//!
//! What the second part must know of the text is in the [`Conditions`] of a match, so a match can
//! be kept until its path is known.
//!
//! A [`Witness`] is notified of each step. A scan uses [`Unobserved`], which costs nothing; an
//! explanation takes notes.
//!
//! Invariants: the verdict depends only on the candidate's text within the rule's reach, the path,
//! and the rules. Rejecting a candidate does not allocate: the reasons are static.
//!
//! Not decided here: which of several overlapping findings to keep (the scan decides), and which
//! findings the user has suppressed.

use super::SecretDetector;
use super::allow::{Allow, AllowlistInput};
use super::conditions::Conditions;
use super::pattern::Searchers;
use super::prefilter::Candidates;
use super::rule::{ActiveRule, KeywordCheck, LINE_REACH};
use crate::confidence::Confidence;
use crate::detector::Match;
use crate::encoding::Encoding;
use crate::newline::Newline;
use crate::noise::{NoiseCheck, NoiseContext, NoiseVerdict, shannon_entropy};
use crate::parsers::{Form, JUDGED_LENGTH_MAX, percent_decoded};
use crate::rules::Pattern;
use crate::tree_rules::Standing;
use crate::version::PathFreeMatch;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// A step of the judgement, in the order in which a candidate passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Generic rules do not apply to decoded text, except UTF-16.
    Encoding,
    /// The rule's parser accepts the value as a secret.
    Form,
    /// One of the rule's keywords is near.
    Keyword,
    /// The secret is not empty.
    NotEmpty,
    /// The checksum inside the secret is correct.
    Checksum,
    /// The secret has the entropy that the rule requires.
    Entropy,
    /// No allowlist matches the secret, the match or the line.
    Allowlist,
    /// The noise filter does not recognise a placeholder, a word, a hash or similar noise.
    Noise,
    /// A generic secret does not look like a vendor's token with a wrong checksum.
    VendorChecksum,
    /// The rule applies to the object's path.
    Path,
    /// No allowlist matches the object's path.
    PathAllowlist,
    /// Neither the path nor the kind of line suggests that a generic secret is made up.
    Location,
}

impl Step {
    /// Returns the step's name in explanations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Encoding => "encoding",
            Self::Form => "form",
            Self::Keyword => "keyword",
            Self::NotEmpty => "not empty",
            Self::Checksum => "checksum",
            Self::Entropy => "entropy",
            Self::Allowlist => "allowlist",
            Self::Noise => "noise filter",
            Self::VendorChecksum => "vendor checksum",
            Self::Path => "rule's path",
            Self::PathAllowlist => "path allowlist",
            Self::Location => "location",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The decision about a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The detector reports the candidate.
    #[non_exhaustive]
    Reported {
        /// How sure the detector is.
        confidence: Confidence,
        /// The reason.
        reason: Cow<'static, str>,
        /// Who wants the candidate, and whether the scanned tree hides it.
        standing: Standing,
    },
    /// The detector does not report the candidate.
    #[non_exhaustive]
    Rejected {
        /// The first step that the candidate failed.
        step: Step,
        /// The reason.
        reason: &'static str,
    },
}

/// A place where a rule's expression matched, or where its parser found something.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    /// The rule's number.
    pub(crate) rule: u32,
    /// The text around the candidate. The ranges are positions in it.
    pub(crate) text: &'a [u8],
    /// How the text is encoded in its object.
    pub(crate) encoding: Encoding,
    /// The whole match, including the key of an assignment.
    pub(crate) whole: Range<usize>,
    pub(crate) secret: Range<usize>,
    /// The assessment of the rule's parser, if it has one.
    pub(crate) parsed: Option<Parsed>,
}

/// A parser's assessment of a candidate.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The key that the secret is assigned to.
    pub(crate) key: Range<usize>,
    pub(crate) form: Form,
    pub(crate) noise: NoiseCheck,
}

/// The step that a candidate failed, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    step: Step,
    reason: &'static str,
}

/// The result of the steps that depend on the text alone. It is valid for every path with this
/// content.
#[derive(Debug)]
pub(crate) struct ContentVerdict {
    pub(crate) confidence: Confidence,
    pub(crate) reason: Cow<'static, str>,
    pub(crate) location: Location,
}

/// Whether the location of a secret can lower its confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Location {
    /// No: a vendor's token in a test is as valid as anywhere else.
    #[default]
    Irrelevant,
    /// Yes: the path can, or else this reason that comes from the kind of line.
    Matters { unlikely_line: Option<&'static str> },
}

/// Is notified of each step of a judgement. Only a witness that takes notes calls `detail`.
pub(crate) trait Witness {
    fn passed(&mut self, step: Step, detail: impl FnOnce() -> Cow<'static, str>);

    /// The candidate passed, but its confidence is now low.
    fn lowered(&mut self, step: Step, reason: &'static str);

    fn failed(&mut self, step: Step, reason: &'static str, detail: impl FnOnce() -> String);

    /// Records the failed step and returns the rejection.
    #[inline]
    fn reject(&mut self, step: Step, reason: &'static str) -> Rejection {
        self.failed(step, reason, String::new);
        Rejection { step, reason }
    }
}

/// The witness of a scan: it ignores everything, at no cost.
#[derive(Debug)]
pub(crate) struct Unobserved;

impl Witness for Unobserved {
    #[inline]
    fn passed(&mut self, _: Step, _: impl FnOnce() -> Cow<'static, str>) {}

    #[inline]
    fn lowered(&mut self, _: Step, _: &'static str) {}

    #[inline]
    fn failed(&mut self, _: Step, _: &'static str, _: impl FnOnce() -> String) {}
}

impl SecretDetector {
    /// Judges a candidate: first by its text, then by the path of its object.
    ///
    /// Returns the verdict, and the result of the first part.
    pub(crate) fn judge(
        &self,
        candidate: &mut Candidate<'_>,
        path: &Path,
        searchers: &mut Searchers,
        witness: &mut impl Witness,
    ) -> (Verdict, Result<ContentVerdict, Rejection>) {
        let content = self.judge_content(candidate, searchers, witness);
        let content = match content {
            Ok(content) => content,
            Err(Rejection { step, reason }) => {
                return (Verdict::Rejected { step, reason }, Err(Rejection { step, reason }));
            }
        };
        let (standing, conditions) = self.conditions_of(candidate, content.location);
        let rule = candidate.rule;
        let verdict = match self.judge_path(rule, &content, &conditions, path, witness) {
            Ok((confidence, reason)) => {
                let standing = self.standing_at(standing, &conditions, path);
                Verdict::Reported { confidence, reason, standing }
            }
            Err(Rejection { step, reason }) => Verdict::Rejected { step, reason },
        };
        (verdict, Ok(content))
    }

    /// Runs the steps that depend on the text alone.
    pub(crate) fn judge_content(
        &self,
        candidate: &mut Candidate<'_>,
        searchers: &mut Searchers,
        witness: &mut impl Witness,
    ) -> Result<ContentVerdict, Rejection> {
        let active = &self.rules[candidate.rule as usize];
        let rule = &active.rule;
        let (text, parsed) = (candidate.text, candidate.parsed.take());
        let secret = &text[candidate.secret.clone()];

        // Random values in decoded text are mostly noise; vendor tokens are not. UTF-16 is just
        // text.
        match candidate.encoding {
            Encoding::Plain => {}
            Encoding::Utf16Le | Encoding::Utf16Be => {
                witness.passed(Step::Encoding, || "UTF-16: all rules apply".into());
            }
            encoding if rule.generic && rejects_generic(encoding) => {
                let reason = "a generic rule, which does not apply to decoded text";
                return Err(witness.reject(Step::Encoding, reason));
            }
            _ => witness.passed(Step::Encoding, || "not a generic rule".into()),
        }

        let (mut confidence, mut reason, key, noise) = match parsed {
            None => (rule.confidence, default_reason(active), 0..0, NoiseCheck::Mild),
            Some(Parsed { form: Form::Secret(confidence, reason), key, noise }) => {
                witness.passed(Step::Form, || reason.clone());
                (confidence, reason, key, noise)
            }
            Some(Parsed { form: Form::Other(reason), .. }) => {
                return Err(witness.reject(Step::Form, reason));
            }
        };

        match active.check_keyword(text, &candidate.whole) {
            KeywordCheck::NotNeeded => {}
            KeywordCheck::Near(keyword) => {
                witness.passed(Step::Keyword, || format!("`{keyword}` is near").into());
            }
            KeywordCheck::Missing => {
                return Err(witness.reject(Step::Keyword, "none of the rule's keywords is near"));
            }
        }

        if secret.is_empty() {
            return Err(witness.reject(Step::NotEmpty, "the secret is empty"));
        }

        let is_certain = match rule.checksum {
            None => false,
            Some(checksum) if checksum.holds(secret) => {
                witness.passed(Step::Checksum, || "its checksum holds".into());
                (confidence, reason) = (Confidence::Certain, "its checksum holds".into());
                true
            }
            Some(_) => return Err(witness.reject(Step::Checksum, "its checksum does not hold")),
        };

        if let Some(least) = rule.entropy {
            let entropy = shannon_entropy(secret);
            let detail = || format!("{entropy:.2} bits per byte, and the rule demands {least:.2}");
            if entropy < least {
                let reason = "too little entropy";
                witness.failed(Step::Entropy, reason, detail);
                return Err(Rejection { step: Step::Entropy, reason });
            }
            witness.passed(Step::Entropy, || detail().into());
        }

        let input = allowlist_input(candidate);
        match self.allows_of(active).find(|allow| allow.allows_content(&input)) {
            Some(allow) => {
                let reason = "an allowlist names it";
                witness.failed(Step::Allowlist, reason, || allow.description.clone());
                return Err(Rejection { step: Step::Allowlist, reason });
            }
            None => witness.passed(Step::Allowlist, || "no allowlist names it".into()),
        }

        let mut location = Location::Irrelevant;
        if !is_certain {
            let context = NoiseContext { key: &text[key], line: input.line };
            match self.check_noise(noise, secret, &context) {
                NoiseVerdict::Keep => {
                    witness.passed(Step::Noise, || noise_detail(self.noise.enabled, noise).into());
                    if noise == NoiseCheck::Strict {
                        let unlikely_line = self.noise.unlikely_line(input.line);
                        location = Location::Matters { unlikely_line };
                    }
                }
                NoiseVerdict::Lower(why) => {
                    witness.lowered(Step::Noise, why);
                    (confidence, reason) = (Confidence::Low, why.into());
                }
                NoiseVerdict::Drop(why) => return Err(witness.reject(Step::Noise, why)),
            }
        }

        if rule.generic {
            if self.has_wrong_checksum(text, &candidate.secret, searchers) {
                let reason = "a vendor's format with a wrong checksum, so an example";
                return Err(witness.reject(Step::VendorChecksum, reason));
            }
            witness.passed(Step::VendorChecksum, || "not in a vendor's format".into());
        }
        Ok(ContentVerdict { confidence, reason, location })
    }

    /// Runs the steps that depend on the object's path, for a candidate whose text passed.
    pub(crate) fn judge_path(
        &self,
        rule: u32,
        content: &ContentVerdict,
        conditions: &Conditions,
        path: &Path,
        witness: &mut impl Witness,
    ) -> Result<(Confidence, Cow<'static, str>), Rejection> {
        let active = &self.rules[rule as usize];
        if active.rule.path.is_some() {
            if !active.is_for(path) {
                return Err(witness.reject(Step::Path, "the rule does not apply to this path"));
            }
            witness.passed(Step::Path, || "the rule applies to this path".into());
        }

        let numbered = self.allows_of(active).enumerate();
        let mut with_paths = numbered.filter(|(_, allow)| allow.has_paths()).peekable();
        if with_paths.peek().is_some() {
            let mut allowing = with_paths.filter(|(at, allow)| conditions.let_allow(*at, allow));
            if let Some((_, allow)) = allowing.find(|(_, allow)| allow.names_path(path)) {
                let reason = "an allowlist names the path";
                witness.failed(Step::PathAllowlist, reason, || allow.description.clone());
                return Err(Rejection { step: Step::PathAllowlist, reason });
            }
            witness.passed(Step::PathAllowlist, || "no allowlist names the path".into());
        }

        if let Location::Matters { unlikely_line } = content.location {
            if let Some(why) = self.noise.made_up_path(path).or(unlikely_line) {
                witness.lowered(Step::Location, why);
                return Ok((Confidence::Low, why.into()));
            }
            witness.passed(Step::Location, || "neither a test nor documentation".into());
        }
        Ok((content.confidence, content.reason.clone()))
    }

    /// Returns the standing of a candidate whose text passed, as far as the text decides it, and
    /// what its path can change.
    pub(crate) fn conditions_of(
        &self,
        candidate: &Candidate<'_>,
        location: Location,
    ) -> (Standing, Conditions) {
        let active = &self.rules[candidate.rule as usize];
        let Candidate { rule, encoding, .. } = *candidate;
        let mut conditions = Conditions { location, ..Conditions::default() };
        conditions.allows = allowing(self.allows_of(active), candidate);
        let mut standing = Standing::Chosen;
        if let Some(tree) = &self.tree {
            let input = allowlist_input(candidate);
            standing = tree.content_standing(rule, encoding, Some(&input));
            conditions.tree_allows = allowing(tree.allows().iter(), candidate);
        }
        (standing, conditions)
    }

    /// Returns the standing of a match at this path, given what its text decided.
    fn standing_at(&self, content: Standing, conditions: &Conditions, path: &Path) -> Standing {
        self.tree.as_ref().map_or(content, |tree| {
            tree.standing_at(content, path, |at, allow| conditions.let_tree_allow(at, allow))
        })
    }

    /// Decides about a match under a path. Equal to [`judge`](Self::judge) with this path.
    pub(crate) fn settle_match(&self, found: PathFreeMatch, path: &Path) -> Option<Match> {
        let PathFreeMatch { found, conditions } = found;
        let Match { rule, confidence, reason, standing, .. } = found;
        let content = ContentVerdict { confidence, reason, location: conditions.location };
        let judged = self.judge_path(rule.0, &content, &conditions, path, &mut Unobserved);
        let (confidence, reason) = judged.ok()?;
        let standing = self.standing_at(standing, &conditions, path);
        let is_identifier = self.is_identifier(found.rule.0, standing);
        Some(Match { confidence, reason, standing, is_identifier, ..found })
    }

    /// Judges a rule that only checks paths.
    pub(crate) fn judge_path_rule(
        &self,
        rule: u32,
        path: &Path,
        witness: &mut impl Witness,
    ) -> Verdict {
        let active = &self.rules[rule as usize];
        let rejected = |Rejection { step, reason }| Verdict::Rejected { step, reason };
        if !active.is_for(path) {
            return rejected(witness.reject(Step::Path, "the rule does not apply to this path"));
        }
        witness.passed(Step::Path, || "the rule applies to this path".into());
        if active.allows_path(path) {
            return rejected(witness.reject(Step::PathAllowlist, "an allowlist names the path"));
        }
        witness.passed(Step::PathAllowlist, || "no allowlist names the path".into());
        Verdict::Reported {
            confidence: active.rule.confidence.min(Confidence::High),
            reason: "a file of this name is a secret".into(),
            standing: self
                .tree
                .as_ref()
                .map_or(Standing::Chosen, |tree| tree.path_standing(rule, path)),
        }
    }

    /// Returns the rule's own allowlists, then the global ones.
    fn allows_of<'a>(&'a self, active: &'a ActiveRule) -> impl Iterator<Item = &'a Allow> {
        active.allows.iter().chain(&self.allows)
    }

    fn check_noise(
        &self,
        check: NoiseCheck,
        secret: &[u8],
        context: &NoiseContext<'_>,
    ) -> NoiseVerdict {
        match check {
            NoiseCheck::Strict => self.noise.judge_generic(secret, context),
            NoiseCheck::Mild => self.noise.judge_vendor(secret),
            NoiseCheck::UrlPassword => {
                let mut buffer = [0; JUDGED_LENGTH_MAX];
                self.noise.judge_url_password(secret, percent_decoded(secret, &mut buffer))
            }
            NoiseCheck::Skip => NoiseVerdict::Keep,
        }
    }

    /// Returns `true` if a generic secret has the form of a vendor's token but not its checksum,
    /// which makes it an example.
    fn has_wrong_checksum(
        &self,
        text: &[u8],
        secret: &Range<usize>,
        searchers: &mut Searchers,
    ) -> bool {
        // Include one byte on each side, for expressions that check it.
        let span = secret.start.saturating_sub(1)..(secret.end + 1).min(text.len());
        // Few values contain a literal of such a rule.
        if let Some(literals) = &self.checksum_literals {
            let mut hits = Candidates::default();
            for place in span.clone() {
                literals.look_up(text, place, &span, &mut hits);
            }
            if hits.anchors.is_empty() {
                return false;
            }
        }
        self.checksum_rules.iter().any(|&rule| {
            let active = &self.rules[rule as usize];
            let searcher = searchers.of(rule);
            let group = active.rule.secret_group;
            let found = active.regex.find(text, span.clone(), false, group, searcher);
            let has_form = found.is_some_and(|found| found.secret == *secret);
            let bytes = &text[secret.clone()];
            has_form && active.rule.checksum.is_some_and(|checksum| !checksum.holds(bytes))
        })
    }
}

/// Returns `true` if generic rules do not apply to text in this encoding.
pub(crate) fn rejects_generic(encoding: Encoding) -> bool {
    !matches!(encoding, Encoding::Plain | Encoding::Utf16Le | Encoding::Utf16Be)
}

/// Returns the reason for a match of a rule without a parser.
fn default_reason(active: &ActiveRule) -> Cow<'static, str> {
    Cow::Borrowed(match (&active.rule.pattern, active.rule.confidence) {
        (Pattern::Assignment(_), _) => "assigned to a name of this vendor, in the right format",
        (_, Confidence::Certain | Confidence::High) => "the vendor's prefix, length and alphabet",
        _ => "the format that the rule describes",
    })
}

fn noise_detail(enabled: bool, check: NoiseCheck) -> &'static str {
    match check {
        _ if !enabled => "switched off",
        NoiseCheck::Skip => "not needed: the secret was parsed",
        NoiseCheck::Strict | NoiseCheck::Mild | NoiseCheck::UrlPassword => {
            "it does not look like noise"
        }
    }
}

/// Returns the numbers of the allowlists that allow a candidate at their paths and nowhere else,
/// because of its text.
fn allowing<'a>(allows: impl Iterator<Item = &'a Allow>, candidate: &Candidate<'_>) -> Box<[u32]> {
    let holds = |allow: &Allow| allow.holds_for(&allowlist_input(candidate));
    let with_paths = |allow: &Allow| allow.has_paths() && allow.needs_content();
    let numbered = (0..).zip(allows).filter(|(_, allow)| with_paths(allow) && holds(allow));
    numbered.map(|(at, _)| at).collect()
}

/// Returns the parts of a candidate that allowlists check.
fn allowlist_input<'a>(candidate: &Candidate<'a>) -> AllowlistInput<'a> {
    let line = Newline::Byte.line_around(candidate.text, 0, &candidate.secret, LINE_REACH);
    AllowlistInput {
        secret: &candidate.text[candidate.secret.clone()],
        whole: &candidate.text[candidate.whole.clone()],
        line: &candidate.text[line],
    }
}
