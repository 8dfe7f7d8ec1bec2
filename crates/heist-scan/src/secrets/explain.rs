//! [`SecretDetector::explain`]: lists every candidate near a position, with each step of its
//! judgement.
//!
//! An explanation runs the same code as a scan, with a [`Witness`] that takes notes, so the two
//! cannot disagree.
//!
//! Not explained: values that no rule's literal, expression or parser led to, because they never
//! become candidates. The scan also decides later which of several overlapping findings to keep,
//! and which findings the user has suppressed.

use super::SecretDetector;
use super::verdict::{Step, Verdict, Witness};
use crate::chunk::{Chunk, StopCheck};
use crate::decode::utf16_guess;
use crate::detector::{Detector as _, Overlap, RuleIndex};
use crate::encoding::Encoding;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// A candidate, and each step of its judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The rule that led to it.
    pub rule: RuleIndex,
    /// The whole match of the rule, as offsets in the object.
    pub whole: Range<u64>,
    /// The secret inside the match, as offsets in the object.
    pub secret: Range<u64>,
    /// The secret, [masked](crate::mask). Empty for a rule that only checks paths.
    pub masked: String,
    /// How the secret is encoded in the object.
    pub encoding: Encoding,
    /// The steps of the judgement, in order. The last one is the step that the candidate failed, if
    /// it failed.
    pub steps: Vec<ExplainedStep>,
    /// The verdict on the candidate.
    pub verdict: Verdict,
}

/// One step of a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedStep {
    /// Which step.
    pub step: Step,
    /// The result of the step.
    pub outcome: StepOutcome,
    /// The reason. It never contains the secret.
    pub detail: String,
}

/// The result of one step of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The candidate passed.
    Passed,
    /// The candidate passed, but its confidence is now low.
    Lowered,
    /// The candidate failed: the detector does not report it.
    Failed,
}

/// The witness that records every step.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) steps: Vec<ExplainedStep>,
}

impl Notes {
    fn add(&mut self, step: Step, outcome: StepOutcome, detail: String) {
        self.steps.push(ExplainedStep { step, outcome, detail });
    }
}

impl Witness for Notes {
    fn passed(&mut self, step: Step, detail: impl FnOnce() -> Cow<'static, str>) {
        self.add(step, StepOutcome::Passed, detail().into_owned());
    }

    fn lowered(&mut self, step: Step, reason: &'static str) {
        self.add(step, StepOutcome::Lowered, reason.to_owned());
    }

    fn failed(&mut self, step: Step, reason: &'static str, detail: impl FnOnce() -> String) {
        let detail = detail();
        let detail = if detail.is_empty() { reason.into() } else { format!("{reason}: {detail}") };
        self.add(step, StepOutcome::Failed, detail);
    }
}

/// A candidate with the notes of its judgement. Its ranges are positions in the scanned text.
#[derive(Debug)]
pub(crate) struct NotedCandidate {
    pub(crate) rule: u32,
    pub(crate) whole: Range<usize>,
    pub(crate) secret: Range<usize>,
    pub(crate) masked: String,
    pub(crate) steps: Vec<ExplainedStep>,
    pub(crate) verdict: Verdict,
}

impl NotedCandidate {
    /// Shifts the ranges from a part of a text to the whole text. The part begins at `by`.
    pub(crate) fn move_by(&mut self, by: usize) {
        for range in [&mut self.whole, &mut self.secret] {
            *range = range.start + by..range.end + by;
        }
    }

    /// Builds the explanation. `in_object` maps ranges of the text to offsets in the object.
    pub(crate) fn explanation(
        self,
        encoding: Encoding,
        in_object: impl Fn(Range<usize>) -> Range<u64>,
    ) -> Explanation {
        Explanation {
            rule: RuleIndex(self.rule),
            whole: in_object(self.whole),
            secret: in_object(self.secret),
            masked: self.masked,
            encoding,
            steps: self.steps,
            verdict: self.verdict,
        }
    }
}

impl SecretDetector {
    /// Explains each candidate in one line of an object, in the order of their positions. Lines
    /// count from 1. `path` is the object's path, as [rules see it](Chunk::path). Returns `None` if
    /// the object has fewer lines.
    ///
    /// ```
    /// use heist_scan::rules::RuleSet;
    /// use heist_scan::{DetectorOptions, SecretDetector, Step, Verdict};
    ///
    /// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    /// let object = b"[database]\npassword = \"password\"\n";
    /// let explained = detector.explain_line(object, "app.ini".as_ref(), 2).expect("line 2");
    /// assert!(matches!(explained[0].verdict, Verdict::Rejected { step: Step::Form, .. }));
    /// assert!(detector.explain_line(object, "app.ini".as_ref(), 3).is_none());
    /// ```
    #[must_use]
    pub fn explain_line(&self, object: &[u8], path: &Path, line: u64) -> Option<Vec<Explanation>> {
        let encoding = utf16_guess(object).unwrap_or_default();
        let line = line_range(object, encoding, line)?;
        let (bytes, owned) = (object, 0..object.len());
        let stop = StopCheck::default();
        let chunk = Chunk { bytes, owned, offset: 0, is_end: true, encoding, path, stop };
        Some(self.explain(&chunk, line))
    }

    /// Explains each candidate whose match touches `touched`, a range of offsets in the object, in
    /// the order of their positions. A rule that only checks paths counts as a match at the start
    /// of the object.
    ///
    /// The chunk must own everything [within reach](crate::Detector::required_overlap) of the
    /// range. A chunk that is the whole object always does.
    #[must_use]
    pub fn explain(&self, chunk: &Chunk<'_>, touched: Range<u64>) -> Vec<Explanation> {
        let mut scratch = self.scratch();
        scratch.examiner.notes = Some(Vec::new());
        scratch.encoded.take_notes();
        let near = owned_near(chunk, &touched, self.overlap);
        let chunk = Chunk { owned: near, ..chunk.clone() };
        self.scan(&chunk, &mut scratch, &mut Vec::new());

        let mut explanations = self.explain_path(chunk.path);
        let in_object = |range: Range<usize>| {
            chunk.offset + range.start as u64..chunk.offset + range.end as u64
        };
        let noted = scratch.examiner.notes.take().unwrap_or_default();
        explanations
            .extend(noted.into_iter().map(|noted| noted.explanation(Encoding::Plain, in_object)));
        explanations.append(&mut scratch.encoded.explanations);
        let touches = |range: &Range<u64>| {
            // An empty range at offset 0 means the path.
            range.start < touched.end && (range.end > touched.start || *range == touched)
                || range.is_empty() && range.start == touched.start
        };
        explanations.retain(|one| touches(&one.whole) || touches(&one.secret));
        let key = |one: &Explanation| {
            (one.whole.start, one.secret.start, one.secret.end, one.rule, one.encoding.as_str())
        };
        explanations.sort_by(|first, second| key(first).cmp(&key(second)));
        // A value with several runs is found once at each of them.
        explanations.dedup();
        explanations
    }

    /// Explains the path-only rules that apply to a path.
    fn explain_path(&self, path: &Path) -> Vec<Explanation> {
        let explained = self.path_rules.iter().map(|&rule| {
            let mut notes = Notes::default();
            let verdict = self.judge_path_rule(rule, path, &mut notes);
            Explanation {
                rule: RuleIndex(rule),
                whole: 0..0,
                secret: 0..0,
                masked: String::new(),
                encoding: Encoding::Plain,
                steps: notes.steps,
                verdict,
            }
        });
        let is_for_path =
            |one: &Explanation| !matches!(one.verdict, Verdict::Rejected { step: Step::Path, .. });
        explained.filter(is_for_path).collect()
    }
}

/// Returns the owned positions from which the detector could find a match that touches the range.
fn owned_near(chunk: &Chunk<'_>, touched: &Range<u64>, overlap: Overlap) -> Range<usize> {
    let in_chunk = |offset: u64| {
        let at = usize::try_from(offset.saturating_sub(chunk.offset)).unwrap_or(usize::MAX);
        at.min(chunk.bytes.len())
    };
    let start = in_chunk(touched.start).saturating_sub(overlap.after).max(chunk.owned.start);
    let end = in_chunk(touched.end).saturating_add(overlap.before).min(chunk.owned.end);
    start..end.max(start)
}

/// Returns the offsets of a line, including its newline. Lines count from 1. Returns `None` if
/// there are fewer lines.
fn line_range(object: &[u8], encoding: Encoding, line: u64) -> Option<Range<u64>> {
    let newline: &[u8] = match encoding {
        Encoding::Utf16Le => b"\n\0",
        Encoding::Utf16Be => b"\0\n",
        _ => b"\n",
    };
    let end_of_line = |from: usize| {
        let units = object[from..].chunks(newline.len());
        let end = units.clone().position(|unit| unit == newline);
        end.map_or(object.len(), |unit| from + (unit + 1) * newline.len())
    };
    let mut from = 0;
    for _ in 1..line {
        from = end_of_line(from);
        if from == object.len() {
            return None;
        }
    }
    (line > 0 && from < object.len()).then(|| from as u64..end_of_line(from) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let lines = |text: &[u8], encoding| -> Vec<Range<u64>> {
            (1..).map_while(|line| line_range(text, encoding, line)).collect()
        };
        assert_eq!(lines(b"ab\n\nc", Encoding::Plain), [0..3, 3..4, 4..5]);
        assert_eq!(lines(b"ab\n", Encoding::Plain), std::slice::from_ref(&(0..3)));
        assert_eq!(lines(b"", Encoding::Plain), []);
        // The second code unit consists of a newline's bytes, in the wrong order.
        assert_eq!(lines(b"a\0\0\n\n\0b\0", Encoding::Utf16Le), [0..6, 6..8]);
        assert_eq!(lines(b"\0a\n\0\0\n\0b", Encoding::Utf16Be), [0..6, 6..8]);
        assert_eq!(line_range(b"ab", Encoding::Plain, 0), None);
    }
}
