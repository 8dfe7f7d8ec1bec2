//! [`Assembler`]: makes findings of one object's matches: settles which of several that overlap counts, and masks all
//! of them in each excerpt.
//!
//! Of matches whose secrets overlap the strongest stays: the most certain, then the longest, then that of the earliest
//! rule. A match goes iff one that stays overlaps it and is stronger; one that goes itself drives nobody out. Of those
//! with the very same secret at most one stays.
//!
//! That is decided for a cluster at a time: matches in their order, each of which overlaps one before it. A cluster is
//! decided when all of it is known, so the result does not depend on how the object was cut. A cluster without end
//! would have to be kept in memory, so one of [`CLUSTER_MAX`] is decided as it is; what stays of it counts for what
//! follows. Where a cluster begins and ends follows from the matches alone.
//!
//! Invariant: findings come out in the order of their secrets.

use super::capture::{Captured, EXCERPT_BYTES};
use super::excerpt::excerpts;
use crate::confidence::Confidence;
use crate::detector::{Match, RuleIndex};
use crate::secret::Secret;
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

/// What other matches have to know of a match.
#[derive(Clone, Debug)]
struct Rival {
    secret: Range<u64>,
    confidence: Confidence,
    rule: RuleIndex,
}

impl Rival {
    fn of(found: &Match) -> Self {
        Self { secret: found.secret.clone(), confidence: found.confidence, rule: found.rule }
    }

    fn strength(&self) -> (Confidence, u64, Reverse<RuleIndex>) {
        (self.confidence, self.secret.end - self.secret.start, Reverse(self.rule))
    }

    /// Whether `other` has to go because of this one, which stays.
    fn beats(&self, other: &Self) -> bool {
        self.secret == other.secret
            || (self.secret.start < other.secret.end
                && other.secret.start < self.secret.end
                && self.strength() > other.strength())
    }
}

/// How many matches of a cluster are decided at once.
const CLUSTER_MAX: usize = 1024;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    waiting: Vec<Captured>,
    /// Whether they stay: for those at the front of `waiting` that are decided.
    decided: Vec<bool>,
    /// What stays of the cluster that was decided last.
    staying: Vec<Rival>,
    /// Secrets that came before, and may be in the excerpts of others.
    passed: Vec<Range<u64>>,
    /// For a cluster. Empty in between.
    by_strength: Vec<usize>,
    /// For excerpts. Empty in between.
    around: Vec<Range<u64>>,
}

/// What a finding consists of, but for what is the same for all of its object.
#[derive(Debug)]
pub(crate) struct Assembled<'a> {
    pub(crate) captured: &'a Captured,
    /// The secrets around it.
    around: &'a mut Vec<Range<u64>>,
}

impl Assembled<'_> {
    /// The excerpt with the secrets in it masked, and without.
    pub(crate) fn excerpts(self) -> (String, Secret) {
        excerpts(self.captured, self.around)
    }
}

impl Assembler {
    /// Begins with another object.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.decided.clear();
        self.staying.clear();
        self.passed.clear();
    }

    /// Adds matches, in any order.
    pub(crate) fn add(&mut self, captured: impl IntoIterator<Item = Captured>) {
        self.waiting.extend(captured);
    }

    /// Gives out what is settled now that no secret will be added which begins before `known_to`.
    pub(crate) fn settle(&mut self, known_to: u64, emit: &mut impl FnMut(Assembled<'_>)) {
        if self.waiting.is_empty() {
            return;
        }
        // Those that are decided begin before everything that was added since.
        self.waiting[self.decided.len()..].sort_unstable_by(|a, b| in_order(&a.found, &b.found));
        self.decide(known_to);
        let Self { waiting, decided, passed, around, .. } = self;
        let mut done = 0;
        for (this, &stays) in waiting.iter().zip(&*decided) {
            if this.concerned_to() > known_to {
                break;
            }
            done += 1;
            let own = &this.found.secret;
            passed.retain(|before| before.end + EXCERPT_BYTES as u64 > own.start);
            if stays {
                around.clear();
                around.extend(passed.iter().cloned());
                let after = waiting[done..].iter().map(|after| &after.found.secret);
                around.extend(after.take_while(|after| after.start < this.concerned_to()).cloned());
                emit(Assembled { captured: this, around });
            }
            passed.push(own.clone());
        }
        waiting.drain(..done);
        decided.drain(..done);
    }

    /// Decides every cluster that is known.
    fn decide(&mut self, known_to: u64) {
        let Self { waiting, decided, staying, by_strength, .. } = self;
        while let Some(first) = waiting.get(decided.len()) {
            let from = decided.len();
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
            // Some are left if the cluster before this one had to be cut.
            staying.retain(|before| before.secret.end > begin);
            decided.resize(to, false);
            by_strength.clear();
            by_strength.extend(from..to);
            by_strength.sort_by_key(|&at| Reverse(Rival::of(&waiting[at].found).strength()));
            for &at in &*by_strength {
                let own = Rival::of(&waiting[at].found);
                if !staying.iter().any(|other| other.beats(&own)) {
                    decided[at] = true;
                    staying.push(own);
                }
            }
        }
    }
}

/// The order of findings: by place; of those with the same secret the strongest first, and for the rest any order will
/// do that is always the same.
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
    use super::super::capture::capture;
    use super::super::lines::{LineCursor, Newline, Place};
    use super::*;
    use crate::encoding::Encoding;

    /// What stays of secrets, each with its confidence, if they become known in steps.
    fn staying(secrets: &[(Range<u64>, Confidence)], step: u64) -> Vec<Range<u64>> {
        let end = secrets.iter().map(|(secret, _)| secret.end).max().unwrap_or(0);
        let text = vec![b'x'; usize::try_from(end).unwrap()];
        let (mut assembler, mut stays) = (Assembler::default(), Vec::new());
        let mut known_to = 0;
        while known_to <= end {
            let now = known_to..known_to + step;
            let in_step = secrets.iter().filter(|(secret, _)| now.contains(&secret.start));
            let mut matches: Vec<Match> = in_step
                .map(|(secret, confidence)| Match {
                    rule: RuleIndex(0),
                    whole: secret.clone(),
                    secret: secret.clone(),
                    decoded: None,
                    encoding: Encoding::Plain,
                    confidence: *confidence,
                    reason: "".into(),
                })
                .collect();
            let mut captured = Vec::new();
            let cursor = LineCursor::new(Place::BEGIN, 0, Newline::Byte);
            capture(&mut matches, &text, 0, cursor, &mut captured);
            assembler.add(captured);
            known_to += step;
            let mut emit = |one: Assembled<'_>| stays.push(one.captured.found.secret.clone());
            assembler.settle(known_to, &mut emit);
        }
        assembler.settle(u64::MAX, &mut |one| stays.push(one.captured.found.secret.clone()));
        stays
    }

    #[test]
    fn who_goes_drives_nobody_out() {
        use Confidence::{High, Low, Medium};
        let chain = [(0..10, Low), (8..20, Medium), (18..30, High), (40..50, Low), (40..50, High)];
        for step in [1, 7, 100] {
            assert_eq!(staying(&chain, step), [0..10, 18..30, 40..50]);
        }
    }

    #[test]
    fn a_cluster_without_end_is_decided_the_same_way_whatever_the_steps() {
        // Each overlaps the next, which is stronger than it, for some time.
        let chain: Vec<(Range<u64>, Confidence)> = (0..3 * CLUSTER_MAX as u64)
            .map(|at| (5 * at..5 * at + 6 + at % 4, Confidence::ALL[at as usize / 3 % 4]))
            .collect();
        let at_once = staying(&chain, 1 << 20);
        assert!(at_once.len() > CLUSTER_MAX);
        for step in [64, 1000, 4099] {
            assert_eq!(staying(&chain, step), at_once);
        }
    }
}
