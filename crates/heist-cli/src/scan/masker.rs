//! [`Masker`]: masks secrets in excerpts that the chosen rules did not search for.
//!
//! A user who searches for one kind of secret gets excerpts that may contain others. The masker
//! finds them with the built-in rules. Invariant: existing masks stay as they are, and no text is
//! revealed. Not guaranteed: that a secret is masked which the built-in rules do not find.

use heist_scan::rules::RuleSet;
use heist_scan::{Chunk, Detector, DetectorOptions, Encoding, Finding, SecretDetector};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The mask of a secret, the same in all excerpts.
const HIDDEN: &str = "******";

/// Shorter secrets are masked only where they were found: their text occurs everywhere.
const SECRET_BYTES_MIN: usize = 4;

/// An excerpt with this many bytes before or after the secret may have been cut there: the library
/// cuts after 80 bytes, between two characters.
const CUT_BYTES_MIN: usize = 77;

type Scratch = <SecretDetector as Detector>::Scratch;

/// Masks what the built-in rules find.
#[derive(Debug, Default)]
pub(super) struct Masker {
    /// Built on first use: most scans find nothing.
    detector: OnceLock<SecretDetector>,
    /// The scratch values that no worker uses at the moment.
    scratches: Mutex<Vec<Scratch>>,
}

impl Masker {
    /// Returns the excerpt of a finding with every secret in it masked.
    pub(super) fn mask(&self, finding: &Finding) -> String {
        let masked = &finding.excerpt;
        if masked.is_empty() {
            return String::new();
        }
        // Search the unmasked text: rules need the text around a secret to find it.
        let revealed = String::from_utf8_lossy(finding.excerpt_revealed.reveal());
        let secrets = self.secrets(&revealed);
        let is_wide = matches!(finding.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
        let cut_min = if is_wide { CUT_BYTES_MIN / 2 } else { CUT_BYTES_MIN };
        hide(masked, &revealed, &finding.secret.masked(), &secrets, cut_min)
    }

    /// Returns the ranges of the secrets in a text.
    fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        let detector = self
            .detector
            .get_or_init(|| SecretDetector::new(RuleSet::builtin(), DetectorOptions::default()));
        let unused = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = unused().pop();
        let mut scratch = known.unwrap_or_else(|| detector.scratch());
        // A path without a special meaning to the detector, unlike that of a test.
        let chunk = Chunk::whole(text.as_bytes(), Path::new("src/settings"));
        let mut matches = Vec::new();
        detector.scan(&chunk, &mut scratch, &mut matches);
        unused().push(scratch);
        // Offsets in a text in memory fit into usize.
        let range = |secret: Range<u64>| {
            let from = text.floor_char_boundary(secret.start as usize);
            from..text.ceil_char_boundary(secret.end as usize).max(from)
        };
        matches.into_iter().map(|found| range(found.secret)).collect()
    }
}

/// Returns `masked` with these `secrets` of `revealed` masked, and also words at its ends that may
/// be a part of a secret. `own` is the mask of the finding's own secret. If `cut_min` bytes or more
/// are before or after it, the excerpt may have been cut there.
fn hide(
    masked: &str,
    revealed: &str,
    own: &str,
    secrets: &[Range<usize>],
    cut_min: usize,
) -> String {
    // Both texts are equal before the first mask and after the last one.
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let length = |pair: (char, char)| pair.0.len_utf8();
    let ahead: usize = masked.chars().zip(revealed.chars()).take_while(same).map(length).sum();
    let behind: usize =
        masked.chars().rev().zip(revealed.chars().rev()).take_while(same).map(length).sum();
    let mut hidden = Vec::new();
    for secret in secrets {
        let text = &revealed[secret.clone()];
        if text.len() >= SECRET_BYTES_MIN {
            hidden.extend(masked.match_indices(text).map(|(at, found)| at..at + found.len()));
        }
        hidden.push(secret.start..secret.end.min(ahead));
        let from_end = |at: usize| masked.len() - (revealed.len() - at).min(behind);
        hidden.push(from_end(secret.start)..from_end(secret.end));
    }
    hidden.extend(cut_words(masked, own, cut_min));
    hidden.retain(|range| !range.is_empty());
    hidden.sort_unstable_by_key(|range| (range.start, range.end));
    replace(masked, &hidden, &masks(masked, own))
}

/// Returns the words at the ends of an excerpt that may have been cut: they may be parts of
/// secrets.
fn cut_words(masked: &str, own: &str, cut_min: usize) -> [Range<usize>; 2] {
    let is_other = |character: char| {
        !(character.is_alphanumeric() || matches!(character, '_' | '-' | '+' | '/' | '=' | '.'))
    };
    let before = masked.rfind(own).unwrap_or_default();
    let after = masked.find(own).map_or(masked.len(), |at| at + own.len());
    let first = masked[..before].find(is_other).unwrap_or(before);
    let last = match masked[after..].char_indices().rfind(|&(_, character)| is_other(character)) {
        Some((at, character)) => after + at + character.len_utf8(),
        None => after,
    };
    let is_cut = |length: usize| length >= cut_min;
    [
        0..if is_cut(before) { first } else { 0 },
        if is_cut(masked.len() - after) { last } else { masked.len() }..masked.len(),
    ]
}

/// Returns the ranges of all masks, sorted.
fn masks(masked: &str, own: &str) -> Vec<Range<usize>> {
    let found = |text| masked.match_indices(text).map(|(at, found)| at..at + found.len());
    let mut masks: Vec<Range<usize>> = found(own).chain(found(HIDDEN)).collect();
    masks.sort_unstable_by_key(|range| (range.start, range.end));
    masks
}

/// Returns `text` with the `hidden` ranges replaced by masks, except where they overlap `kept`
/// ranges. Both are sorted.
fn replace(text: &str, hidden: &[Range<usize>], kept: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut kept = kept.iter().peekable();
    let mut hidden = hidden.iter().peekable();
    let mut at = 0;
    let mut is_hiding = false;
    while at < text.len() {
        while kept.next_if(|range| range.end <= at).is_some() {}
        while hidden.next_if(|range| range.end <= at).is_some() {}
        let kept_from = kept.peek().map_or(text.len(), |range| range.start);
        let hidden_from = hidden.peek().map_or(text.len(), |range| range.start);
        let (end, hides) = match (kept.peek(), hidden.peek()) {
            (Some(kept), _) if kept.start <= at => (kept.end, false),
            (_, Some(hidden)) if hidden.start <= at => (hidden.end.min(kept_from), true),
            _ => (kept_from.min(hidden_from), false),
        };
        match hides {
            true if !is_hiding => shown.push_str(HIDDEN),
            true => {}
            false => shown.push_str(&text[at..end]),
        }
        (at, is_hiding) = (end, hides);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{CUT_BYTES_MIN, hide};

    /// Masks `secrets`, which are parts of `revealed`.
    fn hidden(masked: &str, revealed: &str, own: &str, secrets: &[&str]) -> String {
        let range = |secret: &&str| {
            let at = revealed.find(secret).expect("it is there");
            at..at + secret.len()
        };
        let secrets: Vec<_> = secrets.iter().map(range).collect();
        hide(masked, revealed, own, &secrets, CUT_BYTES_MIN)
    }

    #[test]
    fn existing_masks_stay_and_other_secrets_are_masked() {
        for (masked, revealed, secrets, expected) in [
            ("a tok_******yz", "a tok_secret-xyz", vec!["tok_secret-xyz"], "a tok_******yz"),
            ("tok_******yz, word", "tok_secret-xyz, word", vec!["word"], "tok_******yz, ******"),
            (
                "pin: 12 tok_******yz",
                "pin: 12 tok_secret-xyz",
                vec!["12"],
                "pin: ****** tok_******yz",
            ),
            // A secret that contains the finding's own, and one that occurs twice.
            (
                "é:tok_******yz@h",
                "é:tok_secret-xyz@h",
                vec!["é:tok_secret-xyz@"],
                "******tok_******yz******h",
            ),
            ("word word ******", "word word secret", vec!["word"], "****** ****** ******"),
        ] {
            assert_eq!(hidden(masked, revealed, "tok_******yz", &secrets), expected);
        }
    }

    #[test]
    fn a_word_that_may_be_cut_is_masked() {
        let filler = "x ".repeat(40);
        let (masked, revealed) = (
            format!("rest {filler}tok_******yz {filler}begin"),
            format!("rest {filler}tok_secret-xyz {filler}begin"),
        );
        let expected = format!("****** {filler}tok_******yz {filler}******");
        assert_eq!(hidden(&masked, &revealed, "tok_******yz", &[]), expected);
        let short = "rest tok_******yz begin";
        assert_eq!(hidden(short, "rest tok_secret-xyz begin", "tok_******yz", &[]), short);
    }
}
