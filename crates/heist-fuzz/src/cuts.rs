//! Scans an object that is cut into chunks, and checks every match.

use heist_scan::decode::utf16_guess;
use heist_scan::{Chunk, Detector, Encoding, Match, SecretDetector};
use std::path::Path;

/// Returns all matches in an object that is cut at the given ascending positions, sorted and
/// without duplicates.
pub(crate) fn matches_with_cuts(
    detector: &SecretDetector,
    object: &[u8],
    cuts: &[usize],
    path: &Path,
) -> Vec<Match> {
    let overlap = detector.required_overlap();
    let mut scratch = detector.scratch();
    let mut matches = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([object.len()]) {
        let encoding = utf16_guess(object).unwrap_or_default();
        let chunk = Chunk::part(object, from..to, overlap, path).with_encoding(encoding);
        detector.scan(&chunk, &mut scratch, &mut matches);
        from = to;
    }
    for found in &matches {
        check(detector, object, found);
    }
    // Sorted by all fields, so that the order does not depend on the scan.
    matches.sort_by_cached_key(|found| format!("{:020} {found:?}", found.secret.start));
    matches.dedup();
    matches
}

fn check(detector: &SecretDetector, object: &[u8], found: &Match) {
    let rule = detector.rules().nth(found.rule.0 as usize).expect("a match belongs to a rule");
    let Match { whole, secret, .. } = found;
    assert!(
        whole.start <= secret.start && secret.start <= secret.end && secret.end <= whole.end,
        "{}: the secret at {secret:?} is not in {whole:?}",
        rule.id
    );
    let length = object.len() as u64;
    assert!(whole.end <= length, "{}: {whole:?} is beyond the object's {length} bytes", rule.id);
    let is_plain = found.encoding == Encoding::Plain;
    assert_eq!(
        found.decoded.is_none(),
        is_plain,
        "{}: only encoded matches have decoded text",
        rule.id
    );
}
