//! [`Assembler`]: decides which matches of one object become findings, and knows the secrets near
//! each of them.
//!
//! Of matches whose secrets overlap, the strongest survives: the most certain, then the longest,
//! then the match of the earliest rule. A match is dropped if and only if a surviving match
//! overlaps it and is stronger; a dropped match never causes another one to be dropped. Of several
//! matches with the same secret, at most one survives.
//!
//! Three exceptions limit what the rules of a scanned tree can do. A match that the tree hides
//! never drops one that it does not hide. It is dropped itself only by a match that is at least as
//! certain, because a less certain one may not be reported. And a match of a rule that the tree
//! adds drops a match of another rule only if both have the same secret: otherwise one match that
//! covers a page would swallow all secrets on it.
//!
//! The assembler decides one cluster at a time: a sequence of matches, sorted by position, in which
//! each match overlaps an earlier one. It decides a cluster when all of it is known, so the result
//! does not depend on where the object was cut. An endless cluster would have to be held in memory,
//! so a cluster ends at [`CLUSTER_MAX`] matches; its survivors still count for the matches that
//! follow. Where a cluster begins and ends depends on the matches alone.
//!
//! Invariant: findings come out in the order of their secrets.

use super::capture::Captured;
use super::visible::{KNOWN_BYTES, KnownSecret, Near, Shown};
use crate::confidence::Confidence;
use crate::detector::{Match, RuleIndex};
use crate::tree_rules::Standing;
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

/// The properties of a match that decide between overlapping matches.
#[derive(Clone, Debug)]
struct Rival {
    secret: Range<u64>,
    confidence: Confidence,
    rule: RuleIndex,
    standing: Standing,
}

impl Rival {
    fn of(found: &Match) -> Self {
        let Match { secret, confidence, rule, standing, .. } = found;
        let secret = secret.clone();
        Self { secret, confidence: *confidence, rule: *rule, standing: *standing }
    }

    fn strength(&self) -> (bool, Confidence, u64, Reverse<RuleIndex>) {
        let length = self.secret.end - self.secret.start;
        (!self.standing.is_hidden(), self.confidence, length, Reverse(self.rule))
    }

    /// Returns `true` if `other` must be dropped because this match survives.
    fn beats(&self, other: &Self) -> bool {
        let is_same = self.secret == other.secret;
        let overlaps = self.secret.start < other.secret.end && other.secret.start < self.secret.end;
        let may = match (self.standing, other.standing) {
            (Standing::Hidden(_), Standing::Hidden(_)) => true,
            (Standing::Hidden(_), _) => false,
            (own, Standing::Hidden(_)) => {
                self.confidence >= other.confidence && (is_same || own == Standing::Chosen)
            }
            (Standing::Added, Standing::Chosen) => is_same,
            _ => true,
        };
        may && (is_same || overlaps && self.strength() > other.strength())
    }
}

/// The maximum number of matches in a cluster.
const CLUSTER_MAX: usize = 1024;

/// Decides which matches of one object become findings.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    waiting: Vec<Captured>,
    /// Whether the first matches of `waiting` survive, as far as that is decided.
    survives: Vec<bool>,
    /// The survivors of the last decided cluster.
    survivors: Vec<Rival>,
    /// The secrets before `waiting` that may be near it.
    passed: Vec<Near>,
    /// Scratch memory for deciding a cluster.
    by_strength: Vec<usize>,
    /// Where the search ended, if that is before the end of the object: no secret is known that
    /// begins later.
    ended_at: Option<u64>,
}

/// A match that becomes a finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assembled<'a> {
    pub(crate) captured: &'a Captured,
    /// The secrets before it, and those that begin after it or at the same place.
    before: &'a [Near],
    after: &'a [Captured],
    is_incomplete: bool,
}

impl Assembled<'_> {
    /// Decides what the finding shows.
    pub(super) fn shown(&self) -> Shown {
        let within = self.captured.known_within();
        let is_before = |near: &&Near| near.place.end > within.start;
        let before = self.before.iter().filter(is_before).map(Near::as_known);
        let count = self.after.partition_point(|after| after.found.secret.start < within.end);
        // Many rules may find the same secret.
        let is_other = |&at: &usize| {
            let (this, before) = (&self.after[at].found, at.checked_sub(1));
            before.is_none_or(|before| !is_same(this, &self.after[before].found))
        };
        let after = (0..count).filter(is_other).map(|at| {
            let found = &self.after[at].found;
            let decoded = found.decoded.as_deref();
            KnownSecret { place: &found.secret, decoded, is_identifier: found.is_identifier }
        });
        let near = self.captured.near().filter(|_| !self.is_incomplete);
        Shown::of(
            self.captured,
            near.map(|near| before.chain(after).chain(near.map(Near::as_known))),
        )
    }
}

/// Returns `true` if two matches found the same secret in the same way.
fn is_same(a: &Match, b: &Match) -> bool {
    a.secret == b.secret && a.decoded == b.decoded && a.is_identifier == b.is_identifier
}

impl Assembler {
    /// Forgets everything, to begin with another object.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.survives.clear();
        self.survivors.clear();
        self.passed.clear();
        self.ended_at = None;
    }

    /// Says that the search ended before the object did, and that only the secrets before
    /// `known_to` are known. What is near that offset shows nothing of the text around it.
    pub(crate) fn end_early(&mut self, known_to: u64) {
        self.ended_at = Some(known_to);
    }

    /// Adds matches, in any order.
    pub(crate) fn add(&mut self, captured: impl IntoIterator<Item = Captured>) {
        self.waiting.extend(captured);
    }

    /// Emits the matches that are settled, if all secrets that begin before `known_to` were added.
    pub(crate) fn settle(&mut self, known_to: u64, emit: &mut impl FnMut(Assembled<'_>)) {
        if self.waiting.is_empty() {
            return;
        }
        // The decided matches begin before everything that was added since.
        self.waiting[self.survives.len()..].sort_unstable_by(|a, b| in_order(&a.found, &b.found));
        self.decide(known_to);
        let Self { waiting, survives, passed, ended_at, .. } = self;
        // Thousands of rules may match the same text, so work that only depends on where a secret
        // begins is done once for each beginning, and equal secrets are kept once.
        let (mut done, mut begin) = (0, None);
        for (this, &survives) in waiting.iter().zip(&*survives) {
            if this.concerned_to() > known_to {
                break;
            }
            done += 1;
            let own = &this.found.secret;
            if begin != Some(own.start) {
                begin = Some(own.start);
                passed.retain(|before| before.place.end + KNOWN_BYTES as u64 > own.start);
            }
            if survives {
                let (before, after) = (&**passed, &waiting[done..]);
                let is_incomplete = ended_at.is_some_and(|end| this.concerned_to() > end);
                emit(Assembled { captured: this, before, after, is_incomplete });
            }
            if !passed.last().is_some_and(|last| last.is(&this.found)) {
                passed.push(Near::of(&this.found));
            }
        }
        waiting.drain(..done);
        survives.drain(..done);
    }

    /// Decides every cluster that is completely known.
    fn decide(&mut self, known_to: u64) {
        let Self { waiting, survives, survivors, by_strength, .. } = self;
        while let Some(first) = waiting.get(survives.len()) {
            let from = survives.len();
            let (mut end, mut to) = (first.found.secret.end, from + 1);
            while to < waiting.len() && to - from < CLUSTER_MAX {
                let (next, before) = (&waiting[to].found.secret, &waiting[to - 1].found.secret);
                if next.start >= end && next != before {
                    break;
                }
                end = end.max(next.end);
                to += 1;
            }
            let is_known = waiting[to - 1].found.secret.start < known_to
                && (end <= known_to || to - from == CLUSTER_MAX);
            if !is_known {
                return;
            }
            let begin = first.found.secret.start;
            // Some survivors matter if the previous cluster was cut.
            survivors.retain(|before| before.secret.end > begin);
            survives.resize(to, false);
            by_strength.clear();
            by_strength.extend(from..to);
            by_strength.sort_by_key(|&at| Reverse(Rival::of(&waiting[at].found).strength()));
            for &at in &*by_strength {
                let own = Rival::of(&waiting[at].found);
                if !survivors.iter().any(|other| other.beats(&own)) {
                    survives[at] = true;
                    survivors.push(own);
                }
            }
        }
    }
}

/// Compares matches by position; of those with the same secret the strongest comes first. The
/// remaining comparisons only make the order deterministic.
fn in_order(a: &Match, b: &Match) -> Ordering {
    let strongest = |found: &Match| (Reverse(found.confidence), found.rule);
    let rest =
        |found: &Match| (found.whole.start, Reverse(found.whole.end), found.encoding.as_str());
    (a.secret.start, a.secret.end)
        .cmp(&(b.secret.start, b.secret.end))
        .then_with(|| strongest(a).cmp(&strongest(b)))
        .then_with(|| rest(a).cmp(&rest(b)))
        .then_with(|| a.decoded.cmp(&b.decoded))
        .then_with(|| a.reason.cmp(&b.reason))
}

#[cfg(test)]
mod tests {
    use super::super::builtin_search::BuiltinSearch;
    use super::super::capture::capture;
    use super::super::lines::{LineCursor, LinePosition};
    use super::*;
    use crate::chunk::Chunk;
    use crate::newline::Newline;

    /// Returns which of the secrets, each with its confidence, survive if they become known in
    /// steps.
    fn survivors(secrets: &[(Range<u64>, Confidence)], step: u64) -> Vec<Range<u64>> {
        let end = secrets.iter().map(|(secret, _)| secret.end).max().unwrap_or(0);
        let text = vec![b'x'; usize::try_from(end).unwrap()];
        let (mut assembler, mut emitted) = (Assembler::default(), Vec::new());
        let mut known_to = 0;
        while known_to <= end {
            let now = known_to..known_to + step;
            let in_step = secrets.iter().filter(|(secret, _)| now.contains(&secret.start));
            let mut matches: Vec<Match> = in_step
                .map(|(secret, confidence)| Match::new(RuleIndex(0), secret.clone(), *confidence))
                .collect();
            let mut captured = Vec::new();
            let cursor = LineCursor::new(LinePosition::BEGIN, 0, Newline::Byte);
            let (window, mut search) = (Chunk::whole(&text, "".as_ref()), BuiltinSearch::default());
            capture(&mut matches, &window, cursor, &mut search, &mut captured);
            assembler.add(captured);
            known_to += step;
            let mut emit = |one: Assembled<'_>| emitted.push(one.captured.found.secret.clone());
            assembler.settle(known_to, &mut emit);
        }
        assembler.settle(u64::MAX, &mut |one| emitted.push(one.captured.found.secret.clone()));
        emitted
    }

    #[test]
    fn a_dropped_match_does_not_drop_another_one() {
        use Confidence::{High, Low, Medium};
        let chain = [(0..10, Low), (8..20, Medium), (18..30, High), (40..50, Low), (40..50, High)];
        for step in [1, 7, 100] {
            assert_eq!(survivors(&chain, step), [0..10, 18..30, 40..50]);
        }
    }

    #[test]
    fn the_rules_of_a_tree_swallow_nothing() {
        use crate::tree_rules::HiddenBy;
        use Confidence::{Certain, Low, Medium};
        let hidden = Standing::Hidden(HiddenBy::RuleOff);
        // Returns the matches that survive, each as its index.
        let survivors = |matches: &[(Range<u64>, Confidence, Standing)]| -> Vec<u32> {
            let numbered = (0..).map(RuleIndex).zip(matches);
            let mut matches: Vec<Match> = numbered
                .map(|(rule, (secret, confidence, standing))| {
                    let found = Match::new(rule, secret.clone(), *confidence);
                    Match { standing: *standing, ..found }
                })
                .collect();
            let (mut assembler, mut captured) = (Assembler::default(), Vec::new());
            let cursor = LineCursor::new(LinePosition::BEGIN, 0, Newline::Byte);
            let (window, mut search) =
                (Chunk::whole(&[b'x'; 100], "".as_ref()), BuiltinSearch::default());
            capture(&mut matches, &window, cursor, &mut search, &mut captured);
            assembler.add(captured);
            let mut rules = Vec::new();
            assembler.settle(u64::MAX, &mut |one| rules.push(one.captured.found.rule.0));
            rules.sort_unstable();
            rules
        };
        let (chosen, added) = (Standing::Chosen, Standing::Added);
        // A match of the tree that covers everything.
        let page = (0..100, Certain, added);
        assert_eq!(survivors(&[page.clone(), (3..9, Low, chosen)]), [0, 1]);
        assert_eq!(survivors(&[page.clone(), (3..9, Low, hidden)]), [0, 1]);
        assert_eq!(survivors(&[(3..9, Certain, added), (3..9, Low, chosen)]), [0]);
        // A chosen match covers whatever is weaker.
        assert_eq!(survivors(&[(0..9, Medium, chosen), (3..9, Low, added)]), [0]);
        assert_eq!(survivors(&[(0..9, Medium, chosen), (3..9, Medium, hidden)]), [0]);
        // A hidden match covers nothing that is shown, and a weak match covers no hidden one.
        assert_eq!(survivors(&[(0..9, Certain, hidden), (3..9, Low, chosen)]), [0, 1]);
        assert_eq!(survivors(&[(3..9, Certain, hidden), (3..9, Low, added)]), [0, 1]);
        assert_eq!(survivors(&[(3..9, Certain, hidden), (3..9, Low, hidden)]), [0]);
    }

    #[test]
    fn an_endless_cluster_is_decided_the_same_way_for_every_step_size() {
        // Each secret overlaps the next one, which is stronger for a while.
        let chain: Vec<(Range<u64>, Confidence)> = (0..3 * CLUSTER_MAX as u64)
            .map(|at| (5 * at..5 * at + 6 + at % 4, Confidence::ALL[at as usize / 3 % 4]))
            .collect();
        let at_once = survivors(&chain, 1 << 20);
        assert!(at_once.len() > CLUSTER_MAX);
        for step in [64, 1000, 4099] {
            assert_eq!(survivors(&chain, step), at_once);
        }
    }
}
