//! What a finding shows of its secret and of the text around it. [`Shown::of`] alone decides.
//!
//! Default deny: text near a secret is shown only if it is clearly no part of any secret. These are
//! hidden:
//!
//! 1. the finding's own secret, and every other secret that is known near it, of any rule and any
//!    confidence, reported or not ([`KnownSecret`]);
//! 2. every repetition of any of them, as it is written and decoded, and of values beside telling
//!    names, unless they are a single word of the vocabulary;
//! 3. what stands beside a name that tells of a secret, the bodies of PEM blocks, passwords in
//!    URLs, and each word of eight characters or more that is not clearly ordinary text
//!    (`doubtful`), judged as a whole where the excerpt cuts it;
//! 4. what is left of a word of which a part is hidden.
//!
//! An identifier, which a person needs to revoke the secret that belongs to it, is shown if it
//! stands alone and no other secret overlaps it.
//!
//! | file | idea |
//! |---|---|
//! | `doubtful` | what stays hidden although no rule found it |
//! | `telling` | names that tell of a secret, and where their values begin |
//! | `values` | where such values end |
//! | `step` | lets a test leave out one of these steps |
//! | `neighbourhood` | the text around secrets, copied and surveyed once for all of them |
//!
//! Not guaranteed: that a secret is hidden that no rule finds, that stands beside no telling name,
//! and that consists of words or of pieces shorter than eight characters.

mod doubtful;
mod neighbourhood;
mod step;
mod telling;
#[cfg(test)]
mod tests;
mod values;

pub(super) use neighbourhood::{NEIGHBOURHOOD_BYTES, Near, Neighbourhood, neighbourhoods};

use super::capture::Captured;
use super::excerpt::Excerpt;
use crate::masked::Secret;
use crate::noise::is_known_word;
use doubtful::is_word;
use std::ops::Range;
use step::Step;

/// How far from a byte the text can make it part of a value or of a block, in characters.
const REACH: usize = 400;

/// How far from a secret other secrets are known, in bytes.
pub(super) const KNOWN_BYTES: usize = 512;

/// The minimum length of a secret whose repetitions are hidden. Shorter texts occur by chance.
const REPEATED_BYTES_MIN: usize = 4;

/// The same for a value beside a telling name, which may be a word.
const REPEATED_VALUE_MIN: usize = 6;

/// With more secrets around a secret than this, everything around it is hidden.
const KNOWN_MAX: usize = 512;

/// A secret near another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownSecret<'a> {
    pub(super) place: &'a Range<u64>,
    pub(super) decoded: Option<&'a [u8]>,
    pub(super) is_identifier: bool,
}

/// Ranges to hide.
#[derive(Debug, Default)]
struct Denied(Vec<Range<usize>>);

impl Denied {
    fn add(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.0.push(range);
        }
    }

    /// Adds a range without the parts of it that are `open`.
    fn add_around(&mut self, mut range: Range<usize>, open: impl Iterator<Item = Range<usize>>) {
        for open in open.filter(|open| !open.is_empty()) {
            if open.start < range.end && range.start < open.end {
                self.add(range.start..open.start.max(range.start));
                range.start = open.end.min(range.end);
            }
        }
        self.add(range);
    }

    /// Returns the ranges in order, with those united that overlap or touch.
    fn merged(mut self) -> Vec<Range<usize>> {
        self.0.sort_unstable_by_key(|range| (range.start, range.end));
        self.0.dedup_by(|next, before| {
            let touches = next.start <= before.end;
            if touches {
                before.end = before.end.max(next.end);
            }
            touches
        });
        self.0
    }
}

/// What a finding shows.
#[derive(Debug)]
pub(super) struct Shown {
    /// The secret: masked, unless it is an identifier.
    pub(super) secret: String,
    pub(super) excerpt: String,
}

impl Shown {
    /// Decides what to show of a secret and its excerpt. `known` are the secrets within
    /// [`KNOWN_BYTES`], which may include this one; `None` if not all of them are known.
    pub(super) fn of<'a, Known>(captured: &Captured, known: Option<Known>) -> Self
    where
        Known: Iterator<Item = KnownSecret<'a>> + Clone,
    {
        let own = &captured.found.secret;
        let excerpt = Excerpt::of(captured);
        let known = known.filter(|known| known.clone().take(KNOWN_MAX + 1).count() <= KNOWN_MAX);
        let open = known.as_ref().map_or_else(Vec::new, |known| open_identifiers(captured, known));
        let secret = if open.contains(own) {
            String::from_utf8_lossy(captured.secret()).into_owned()
        } else {
            Secret::new(captured.secret()).masked()
        };

        let mut denied = Denied::default();
        denied.add(excerpt.part(own));
        let Some(known) = known else {
            denied.add(0..excerpt.len());
            return Self { excerpt: excerpt.masked(&denied.merged(), &secret), secret };
        };
        for doubtful in captured.doubtful().filter(|_| Step::Doubtful.is_taken()) {
            denied.add_around(excerpt.part(doubtful), open.iter().map(|open| excerpt.part(open)));
        }
        let hide_repeated = |text: &[u8], denied: &mut Denied| {
            if text.len() >= REPEATED_BYTES_MIN && Step::Repetitions.is_taken() {
                excerpt.find(text, |found| denied.add(found));
            }
        };
        for other in known.filter(|other| !open.contains(other.place)) {
            denied.add(excerpt.part(other.place));
            hide_repeated(&excerpt.as_text(captured.text_at(other.place)), &mut denied);
            other.decoded.into_iter().for_each(|text| hide_repeated(text, &mut denied));
        }
        for value in captured.values().filter(|value| !open.contains(value)) {
            let text = excerpt.as_text(captured.text_at(value));
            if text.len() >= REPEATED_VALUE_MIN && !is_known_word(&text) {
                hide_repeated(&text, &mut denied);
            }
        }
        if !open.contains(own) {
            hide_repeated(&excerpt.as_text(captured.raw_secret()), &mut denied);
            hide_repeated(captured.secret(), &mut denied);
        }
        let mut hidden = denied.merged();
        for range in &mut hidden {
            if Step::Rests.is_taken() && (*range != excerpt.part(own) || !open.contains(own)) {
                widen(range, excerpt.text());
            }
        }
        Self { excerpt: excerpt.masked(&Denied(hidden).merged(), &secret), secret }
    }
}

/// Widens a range to the rest of the words of which it hides a part.
fn widen(range: &mut Range<usize>, text: &[u8]) {
    let is_rest = |byte: &&u8| {
        is_word(**byte) && !matches!(byte, b'.' | b'/' | b'\\')
            || matches!(byte, b'!' | b'#' | b'$' | b'^' | b'*')
    };
    let begins = text.get(range.start).is_some_and(|byte| is_rest(&byte));
    let ends = range.end > 0 && text.get(range.end - 1).is_some_and(|byte| is_rest(&byte));
    if begins {
        range.start -= text[..range.start].iter().rev().take_while(is_rest).count();
    }
    if ends {
        range.end += text[range.end..].iter().take_while(is_rest).count();
    }
}

/// Returns the places of the identifiers that are shown: those that stand alone, and that no other
/// secret overlaps.
fn open_identifiers<'a>(
    captured: &Captured,
    known: &(impl Iterator<Item = KnownSecret<'a>> + Clone),
) -> Vec<Range<u64>> {
    let found = &captured.found;
    let own = found.is_identifier.then_some(&found.secret);
    let others = known.clone().filter(|other| other.is_identifier).map(|other| other.place);
    let overlap = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
    let mut open: Vec<Range<u64>> = own
        .into_iter()
        .chain(others)
        .filter(|place| {
            let hides = |secret: &Range<u64>| secret != *place && overlap(secret, place);
            let is_hidden = hides(&found.secret) && !found.is_identifier
                || known.clone().any(|other| !other.is_identifier && hides(other.place));
            !is_hidden && stands_alone(captured, place)
        })
        .cloned()
        .collect();
    open.sort_unstable_by_key(|place| (place.start, place.end));
    open.dedup();
    open
}

/// Returns `true` if no word continues before or after this place.
fn stands_alone(captured: &Captured, place: &Range<u64>) -> bool {
    let (before, after) = captured.bytes_beside(place);
    [before, after].into_iter().flatten().all(|byte| {
        byte == b'\\'
            || byte.is_ascii_whitespace()
            || byte.is_ascii_punctuation()
                && !is_word(byte)
                && !matches!(byte, b'!' | b'#' | b'$' | b'^' | b'*' | b'?' | b'@')
    })
}
