//! The detector with its built-in rules: the same whatever the cuts and the prefilter, every
//! example found, no counter-example.

mod changes;
mod cuts;
mod equality;
mod examples;
mod explain;
mod quiet;

use heist_scan::decode::utf16_guess;
use heist_scan::{Chunk, Detector, Match, SecretDetector};
use std::path::Path;

/// Returns all matches in an object that is cut at these offsets, in order, each once, and the work
/// that the detector counts for it.
fn matches_with_cuts(
    detector: &SecretDetector,
    object: &[u8],
    cuts: &[usize],
) -> (Vec<Match>, u64) {
    let overlap = detector.required_overlap();
    let mut scratch = detector.scratch();
    let mut matches = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([object.len()]) {
        let encoding = utf16_guess(object).unwrap_or_default();
        let chunk = Chunk::part(object, from..to, overlap, Path::new("src/settings.py"))
            .with_encoding(encoding);
        detector.scan(&chunk, &mut scratch, &mut matches);
        from = to;
    }
    let key = |found: &Match| {
        (
            found.secret.start,
            found.secret.end,
            found.rule,
            found.whole.start,
            found.encoding.as_str(),
        )
    };
    matches.sort_by(|left, right| {
        key(left).cmp(&key(right)).then_with(|| left.decoded.cmp(&right.decoded))
    });
    matches.dedup();
    (matches, detector.take_work(&mut scratch))
}

fn all_matches(detector: &SecretDetector, object: &[u8]) -> Vec<Match> {
    matches_with_cuts(detector, object, &[]).0
}
