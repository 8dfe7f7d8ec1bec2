//! [`TextMasker`]: masks secrets in the texts of commits.
//!
//! Anyone who commits can write a secret into a subject, an author's name or the name of a branch.
//! Not guaranteed: that a secret is masked which the built-in rules do not find, unless it is the
//! finding's own.

use heist_scan::rules::RuleSet;
use heist_scan::{DetectorOptions, SecretDetector};
use std::ops::Range;
use std::sync::OnceLock;

/// The mask of a secret, the same in all texts.
const HIDDEN: &str = "******";

/// Shorter secrets are masked only where a rule finds them: their text occurs everywhere.
const SECRET_BYTES_MIN: usize = 4;

/// Masks what the built-in rules find.
#[derive(Debug, Default)]
pub(super) struct TextMasker {
    /// Built on first use: most scans find nothing in a history.
    detector: OnceLock<SecretDetector>,
}

impl TextMasker {
    /// Returns a text with every secret in it masked, the one of a finding as well.
    pub(super) fn mask(&self, text: &str, secret: &[u8]) -> String {
        let detector = self
            .detector
            .get_or_init(|| SecretDetector::new(RuleSet::builtin(), DetectorOptions::default()));
        let mut hidden: Vec<Range<usize>> = Vec::new();
        for finding in detector.find(text.as_bytes()) {
            // Offsets in a text in memory fit into usize.
            let from = text.floor_char_boundary(finding.offset.start as usize);
            let to = text.ceil_char_boundary(finding.offset.end as usize);
            hidden.push(from..to.max(from));
        }
        if let Ok(secret) = std::str::from_utf8(secret)
            && secret.len() >= SECRET_BYTES_MIN
        {
            hidden.extend(text.match_indices(secret).map(|(at, found)| at..at + found.len()));
        }
        hidden.sort_unstable_by_key(|range| (range.start, range.end));
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        for range in hidden.iter().filter(|range| !range.is_empty()) {
            if range.start >= at {
                masked.push_str(&text[at..range.start]);
                masked.push_str(HIDDEN);
            }
            at = at.max(range.end);
        }
        masked.push_str(&text[at..]);
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::TextMasker;

    #[test]
    fn the_secret_of_the_finding_and_others_are_masked() {
        let masker = TextMasker::default();
        let mask = |text: &str| masker.mask(text, b"correct horse");
        assert_eq!(mask("Add it"), "Add it");
        assert_eq!(mask("é correct horse, correct horse."), "é ******, ******.");
        let other = "set password = \"7tRmq!x2Lw9z\" for correct horse"; // heist:allow
        let masked = mask(other);
        assert!(!masked.contains("7tRmq") && masked.ends_with(" for ******"), "{masked}");
    }
}
