//! [`BuiltinSearch`]: finds secrets around matches that the scan's own detector does not look for,
//! so that excerpts hide them.
//!
//! The search uses the built-in rules, whatever rules the scan uses, and takes everything that they
//! find, of any confidence. It costs nothing until there is a match, and nothing at all if the
//! scan's detector [finds the same](Detector::finds_builtin).
//!
//! Private keys are left out: they reach further than everything else, and the excerpt of another
//! secret shows nothing of them anyway (see [`visible`](super::visible)).

use crate::chunk::Chunk;
use crate::detector::{Detector, Match, Overlap};
use crate::rules::{ParserKind, Pattern, RuleSet};
use crate::secrets::{DetectorOptions, Scratch, SecretDetector};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// How far around a position the search looks: as far as its detector, which is built only when it
/// is needed. A test compares the two.
const OVERLAP: Overlap = Overlap::new(19_710, 19_710);

/// Shared by all scans of the process.
static DETECTOR: LazyLock<SecretDetector> = LazyLock::new(|| {
    let mut rules = RuleSet::builtin();
    rules.rules.retain(|rule| rule.pattern != Pattern::Parser(ParserKind::PrivateKey));
    SecretDetector::new(rules, DetectorOptions::default())
});

/// One worker's search.
#[derive(Debug, Default)]
pub(crate) struct BuiltinSearch {
    is_needed: bool,
    scratch: Option<Scratch>,
    matches: Vec<Match>,
}

impl BuiltinSearch {
    /// Creates the search beside the searches of `detector`.
    pub(crate) fn beside(detector: &impl Detector) -> Self {
        Self { is_needed: !detector.finds_builtin(), ..Self::default() }
    }

    /// Returns how far around a neighbourhood the window must reach.
    pub(crate) fn reach_beside(detector: &impl Detector) -> usize {
        if detector.finds_builtin() { 0 } else { OVERLAP.before + OVERLAP.after }
    }

    /// Returns every match in a window whose secret may overlap `part` of it, in any order.
    pub(crate) fn find(&mut self, window: &Chunk<'_>, part: &Range<usize>) -> &mut Vec<Match> {
        self.matches.clear();
        if self.is_needed {
            let scratch = self.scratch.get_or_insert_with(|| DETECTOR.scratch());
            let length = window.bytes.len();
            let owned =
                part.start.saturating_sub(OVERLAP.after)..length.min(part.end + OVERLAP.before);
            // A chunk begins at an even offset, so that it does not cut a unit of UTF-16.
            let begin = owned.start.saturating_sub(OVERLAP.before);
            let begin = begin - usize::from((window.offset + begin as u64) % 2 == 1 && begin > 0);
            let end = length.min(owned.end + OVERLAP.after);
            let chunk = Chunk {
                bytes: &window.bytes[begin..end],
                owned: owned.start - begin..owned.end - begin,
                offset: window.offset + begin as u64,
                is_end: window.is_end && end == length,
                encoding: window.encoding,
                path: Path::new(""),
                stop: window.stop,
            };
            DETECTOR.scan(&chunk, scratch, &mut self.matches);
        }
        &mut self.matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_is_that_of_the_detector() {
        assert_eq!(DETECTOR.required_overlap(), OVERLAP);
    }
}
