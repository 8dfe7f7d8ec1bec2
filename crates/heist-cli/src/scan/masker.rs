//! [`Masker`]: hides in excerpts what the chosen rules did not look for. Whoever asks for some secrets gets lines in
//! which there may be others; these are masked, too.
//!
//! Invariant: what is masked stays masked as it is; nothing is shown that was not shown before. Not guaranteed: that a
//! secret is hidden which the built-in rules do not find.

use heist_scan::{Chunk, Detector, DetectorOptions, Encoding, Finding, RuleSet, SecretDetector};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What stands for a hidden secret, in every excerpt.
const HIDDEN: &str = "******";

/// Shorter ones are in every text.
const SECRET_BYTES_MIN: usize = 4;

/// An excerpt that shows so much before a secret or after it may be cut there: at 80 bytes, between two characters.
const CUT_BYTES_MIN: usize = 77;

type Scratch = <SecretDetector as Detector>::Scratch;

/// Hides what the built-in rules find.
#[derive(Debug, Default)]
pub(super) struct Masker {
    /// Made when it is first needed: most scans find nothing.
    detector: OnceLock<SecretDetector>,
    /// Those that nobody uses now.
    scratches: Mutex<Vec<Scratch>>,
}

impl Masker {
    /// The excerpt of a finding, with every secret in it masked.
    pub(super) fn mask(&self, finding: &Finding) -> String {
        let masked = &finding.excerpt;
        if masked.is_empty() {
            return String::new();
        }
        // In the text as it is: what is masked cannot tell what stands beside it any more.
        let revealed = String::from_utf8_lossy(finding.excerpt_revealed.reveal());
        let secrets = self.secrets(&revealed);
        let is_wide = matches!(finding.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
        let cut_min = if is_wide { CUT_BYTES_MIN / 2 } else { CUT_BYTES_MIN };
        hide(masked, &revealed, &finding.secret.masked(), &secrets, cut_min)
    }

    /// Where the secrets of a text are.
    fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        let detector = self
            .detector
            .get_or_init(|| SecretDetector::new(RuleSet::builtin(), DetectorOptions::default()));
        let unused = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = unused().pop();
        let mut scratch = known.unwrap_or_else(|| detector.scratch());
        // Of no kind that is looked at otherwise, as tests are.
        let chunk = Chunk::whole(text.as_bytes(), Path::new("src/settings"));
        let mut matches = Vec::new();
        detector.scan(&chunk, &mut scratch, &mut matches);
        unused().push(scratch);
        // (A text in memory has no more bytes than memory.)
        let place = |secret: Range<u64>| {
            let from = text.floor_char_boundary(secret.start as usize);
            from..text.ceil_char_boundary(secret.end as usize).max(from)
        };
        matches.into_iter().map(|found| place(found.secret)).collect()
    }
}

/// `masked` with these secrets of `revealed` hidden, and words that may be the rest of one. `own` is how the finding's
/// own secret is masked; beside it `cut_min` bytes or more may have been cut.
fn hide(
    masked: &str,
    revealed: &str,
    own: &str,
    secrets: &[Range<usize>],
    cut_min: usize,
) -> String {
    // Up to the first mask both texts are the same, and from the last one on.
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

/// The words at the ends of an excerpt that may have been cut: nobody can tell what they are the rest of.
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

/// Where masks are: the own one, and those of others. In order.
fn masks(masked: &str, own: &str) -> Vec<Range<usize>> {
    let found = |text| masked.match_indices(text).map(|(at, found)| at..at + found.len());
    let mut masks: Vec<Range<usize>> = found(own).chain(found(HIDDEN)).collect();
    masks.sort_unstable_by_key(|range| (range.start, range.end));
    masks
}

/// `text` with `hidden` parts replaced by masks, but for those that are `kept`. Both are sorted.
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

    /// `secrets` are those that are found in `revealed`.
    fn hidden(masked: &str, revealed: &str, own: &str, secrets: &[&str]) -> String {
        let place = |secret: &&str| {
            let at = revealed.find(secret).expect("it is there");
            at..at + secret.len()
        };
        let secrets: Vec<_> = secrets.iter().map(place).collect();
        hide(masked, revealed, own, &secrets, CUT_BYTES_MIN)
    }

    #[test]
    fn what_is_masked_stays_and_others_are_hidden() {
        for (masked, revealed, secrets, expected) in [
            ("a tok_******yz", "a tok_secret-xyz", vec!["tok_secret-xyz"], "a tok_******yz"),
            ("tok_******yz, word", "tok_secret-xyz, word", vec!["word"], "tok_******yz, ******"),
            (
                "pin: 12 tok_******yz",
                "pin: 12 tok_secret-xyz",
                vec!["12"],
                "pin: ****** tok_******yz",
            ),
            // A secret around the own one, and one that is there twice.
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
    fn a_word_that_may_be_cut_is_hidden() {
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
