//! [`Neighbourhood`]: the text around one or several secrets, copied while it is in memory, and
//! what is known about it.
//!
//! Where secrets are dense, their neighbourhoods overlap, so it is copied, surveyed and searched
//! once for all of them.
//!
//! Invariant: what a secret gets from its neighbourhood does not depend on the other secrets in it.

use super::doubtful::{SURVEYED_REACH, doubtful};
use super::telling::Value;
use super::{KNOWN_BYTES, KnownSecret};
use crate::detector::Match;
use std::ops::Range;

/// How much of the text on each side of a secret is copied.
pub(crate) const NEIGHBOURHOOD_BYTES: usize = 1024;

// Each character has at most two bytes, and an excerpt shows 80 bytes on each side.
const _: () = assert!(2 * SURVEYED_REACH <= NEIGHBOURHOOD_BYTES);

/// The length from which a neighbourhood is not extended to further secrets, to bound the memory
/// that one of them holds.
const EXTENDED_MAX: usize = 64 << 10;

/// A secret that the search with the built-in rules found near others.
#[derive(Debug)]
pub(crate) struct Near {
    pub(crate) place: Range<u64>,
    pub(crate) decoded: Option<Box<[u8]>>,
    pub(crate) is_identifier: bool,
}

impl Near {
    pub(crate) fn of(found: &Match) -> Self {
        let (place, decoded) = (found.secret.clone(), found.decoded.clone());
        Self { place, decoded, is_identifier: found.is_identifier }
    }

    /// Returns `true` if it is the secret of a match.
    pub(crate) fn is(&self, found: &Match) -> bool {
        self.place == found.secret
            && self.decoded == found.decoded
            && self.is_identifier == found.is_identifier
    }

    pub(crate) fn as_known(&self) -> KnownSecret<'_> {
        let Self { place, decoded, is_identifier } = self;
        KnownSecret { place, decoded: decoded.as_deref(), is_identifier: *is_identifier }
    }
}

/// The text around one or several secrets.
#[derive(Debug)]
pub(crate) struct Neighbourhood {
    /// The offset of its first byte in the object.
    pub(crate) offset: u64,
    pub(crate) bytes: Box<[u8]>,
    /// How many secrets share it.
    pub(crate) shared_by: usize,
    /// What the excerpts in it must not show, as offsets in the object; sorted and disjoint.
    pub(crate) doubtful: Vec<Range<u64>>,
    /// The values beside telling names, each after the offset at which its name ends, in order.
    pub(crate) values: Vec<(u64, Range<u64>)>,
    /// The secrets that the search with the built-in rules found, sorted by their beginning.
    pub(crate) near: Vec<Near>,
    /// The length of the longest of them.
    pub(crate) longest: u64,
    /// Whether that search came to its end.
    pub(crate) is_complete: bool,
}

impl Neighbourhood {
    /// Copies the text `part` of a window and surveys it for these secrets, each with its excerpt.
    /// The window begins at `offset`; the ranges are positions in it.
    pub(crate) fn new(
        window: &[u8],
        offset: u64,
        part: Range<usize>,
        secrets: impl ExactSizeIterator<Item = (Range<usize>, Range<usize>)>,
    ) -> Self {
        let bytes = &window[part.clone()];
        let offset = offset + part.start as u64;
        let shared_by = secrets.len();
        let within = |place: Range<usize>| {
            let at = |at: usize| at.saturating_sub(part.start).min(bytes.len());
            at(place.start)..at(place.end)
        };
        let (mut excerpts, mut known) = (Vec::new(), Vec::new());
        for (secret, excerpt) in secrets {
            excerpts.push(within(excerpt));
            known.push(within(
                secret.start.saturating_sub(KNOWN_BYTES)..secret.end.saturating_add(KNOWN_BYTES),
            ));
        }
        let (doubtful, values) = if memchr::memchr(0, bytes).is_none() {
            doubtful(bytes, &excerpts, &known)
        } else {
            // UTF-16: survey the text without the zero bytes.
            let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
            let text: Vec<u8> = places.iter().map(|&at| bytes[at]).collect();
            let narrow = |part: &mut Range<usize>| {
                let at = |at: usize| places.partition_point(|&place| place < at);
                *part = at(part.start)..at(part.end);
            };
            excerpts.iter_mut().chain(&mut known).for_each(narrow);
            let (mut doubtful, mut values) = doubtful(&text, &excerpts, &known);
            let wide = |part: &mut Range<usize>| {
                *part = places[part.start]..places[part.end - 1] + 1;
            };
            doubtful.iter_mut().for_each(wide);
            for value in &mut values {
                value.name_end = places[value.name_end - 1] + 1;
                wide(&mut value.place);
            }
            (doubtful, values)
        };
        let in_object =
            |range: Range<usize>| offset + range.start as u64..offset + range.end as u64;
        let value = |Value { name_end, place }| (offset + name_end as u64, in_object(place));
        Self {
            offset,
            bytes: bytes.into(),
            shared_by,
            doubtful: doubtful.into_iter().map(in_object).collect(),
            values: values.into_iter().map(value).collect(),
            near: Vec::new(),
            longest: 0,
            is_complete: true,
        }
    }

    /// Adds the secrets that the search with the built-in rules found.
    pub(crate) fn add_near(&mut self, found: impl Iterator<Item = Match>, is_complete: bool) {
        let part = self.offset..self.offset + self.bytes.len() as u64;
        let is_here = |near: &Near| near.place.start < part.end && part.start < near.place.end;
        self.near = found.map(|found| Near::of(&found)).filter(is_here).collect();
        self.near.sort_unstable_by(|a, b| {
            let key = |near: &'_ Near| (near.place.start, near.place.end, near.is_identifier);
            key(a).cmp(&key(b)).then_with(|| a.decoded.cmp(&b.decoded))
        });
        self.near.dedup_by(|a, b| {
            a.place == b.place && a.decoded == b.decoded && a.is_identifier == b.is_identifier
        });
        let length = |near: &Near| near.place.end - near.place.start;
        self.longest = self.near.iter().map(length).max().unwrap_or(0);
        self.is_complete = is_complete;
    }

    /// Returns those of the found secrets that overlap a range of the object.
    pub(crate) fn near(&self, range: Range<u64>) -> impl Iterator<Item = &Near> + Clone {
        let from = range.start.saturating_sub(self.longest);
        let first = self.near.partition_point(|near| near.place.start < from);
        self.near[first..]
            .iter()
            .take_while(move |near| near.place.start < range.end)
            .filter(move |near| near.place.end > range.start)
    }
}

/// Groups secrets, which must be sorted by their beginning, into neighbourhoods. Returns each
/// neighbourhood's range in the text, and how many secrets it is for.
pub(crate) fn neighbourhoods(
    secrets: impl Iterator<Item = Range<usize>>,
    length: usize,
) -> Vec<(Range<usize>, usize)> {
    let mut groups: Vec<(Range<usize>, usize)> = Vec::new();
    for secret in secrets {
        let part = secret.start.saturating_sub(NEIGHBOURHOOD_BYTES)
            ..secret.end.saturating_add(NEIGHBOURHOOD_BYTES).min(length);
        match groups.last_mut() {
            Some((last, count)) if part.start <= last.end && last.len() < EXTENDED_MAX => {
                last.end = last.end.max(part.end);
                *count += 1;
            }
            _ => groups.push((part, 1)),
        }
    }
    groups
}
