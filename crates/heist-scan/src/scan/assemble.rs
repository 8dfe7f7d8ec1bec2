//! [`Assembler`]: makes findings of one object's matches: settles which of several that overlap counts, and masks all
//! of them in each excerpt.
//!
//! A match is dropped iff another one whose secret overlaps its own is stronger: more certain, then longer, then of the
//! earlier rule. Of those with the very same secret exactly one stays. That is decided between two matches and by
//! nothing else, so it does not depend on how the object was cut; and it is decided as soon as everything is known
//! that could overlap, so only what is near the end of the window waits.
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

    /// Whether `other` has to go because of this one.
    fn beats(&self, other: &Self) -> bool {
        self.secret.start < other.secret.end
            && other.secret.start < self.secret.end
            && self.strength() > other.strength()
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    waiting: Vec<Captured>,
    /// Those that may still beat others, or be in their excerpts.
    settled: Vec<Rival>,
    /// The secret that was settled last. Of all with the same, the strongest comes first.
    last: Option<Range<u64>>,
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
        self.settled.clear();
        self.last = None;
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
        let Self { waiting, settled, last, around } = self;
        waiting.sort_unstable_by(|a, b| in_order(&a.found, &b.found));
        let unsettled = waiting.iter().position(|waiting| waiting.concerned_to() > known_to);
        let ready = unsettled.unwrap_or(waiting.len());
        for (at, this) in waiting[..ready].iter().enumerate() {
            let own = Rival::of(&this.found);
            settled.retain(|before| before.secret.end + EXCERPT_BYTES as u64 > own.secret.start);
            let after = waiting[at + 1..]
                .iter()
                .take_while(|after| after.found.secret.start < this.concerned_to());
            let mut is_beaten = last.as_ref() == Some(&own.secret);
            around.clear();
            for before in &*settled {
                is_beaten |= before.beats(&own);
                around.push(before.secret.clone());
            }
            for after in after {
                is_beaten |= Rival::of(&after.found).beats(&own);
                around.push(after.found.secret.clone());
            }
            *last = Some(own.secret.clone());
            settled.push(own);
            if !is_beaten {
                emit(Assembled { captured: this, around });
            }
        }
        waiting.drain(..ready);
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
