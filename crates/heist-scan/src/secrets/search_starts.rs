//! Where the search for an expression without a literal begins.
//!
//! Such a search runs from left to right and continues after the end of each match, so its result
//! depends on where it began. It restarts at each *search start*. Whether a position is a search
//! start depends only on the text around it: text that moves to another offset keeps its search
//! starts and its matches.
//!
//! A position is a search start if its key is smaller than the key of every other candidate within
//! [`Spacing`] of it. Candidates are the beginnings of lines and, where no line begins for a while,
//! one position in 16; the key is a hash of the surrounding bytes. The beginning of a text is also
//! a search start.
//!
//! Not guaranteed: that a text has search starts. A text that repeats itself does not, because all
//! of its positions look alike. Where a plain text has none for [`GRID`] bytes, the detector uses
//! multiples of [`GRID`] in the object instead; only there does the result depend on the offset. In
//! decoded text a search ends after [`DECODED_SEARCH_MAX`] bytes.

use std::ops::Range;

/// The distance within which a search start has the smallest key. On average, two search starts are
/// twice as far apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing(pub(crate) usize);

/// For plain text of an object.
pub(crate) const PLAIN_SPACING: Spacing = Spacing(256);

/// For decoded text. Ten bytes of the source may decode to one byte, and only a limited part of the
/// source is visible.
pub(crate) const DECODED_SPACING: Spacing = Spacing(128);

/// In decoded text, a search ends after this many bytes even without another search start. Only
/// text that repeats itself goes that far without one, and its matches have all occurred by then.
pub(crate) const DECODED_SEARCH_MAX: usize = 8192;

/// Where a text does not have search starts, multiples of this offset replace them.
const GRID: usize = 8192;

/// How far from a position in plain text its search start and the next one may be, including the
/// bytes read to find them.
pub(crate) const SEARCH_START_REACH: usize = 2 * GRID + PLAIN_SPACING.context();

/// How many bytes on each side of a position its key is computed from.
const KEY_BYTES: usize = 32;

/// Set in the key of a candidate that is not at the beginning of a line.
const INSIDE_LINE: u64 = 1 << 63;

impl Spacing {
    /// Returns how many bytes on each side decide whether a position is a search start: enough to
    /// find the beginnings of lines near its rivals, and to compute their keys.
    pub(crate) const fn context(self) -> usize {
        2 * self.0 + KEY_BYTES
    }
}

/// How much more plain text to search for starts than one search needs: the next keyword is often
/// near. Each time it was not enough, four times as much, up to a limit. Otherwise a text full of
/// keywords would be looked at six times.
const MORE: usize = 8192;
const MORE_MAX: usize = 512 * 1024;

/// The starts of a text, in order.
#[derive(Debug, Default)]
pub(crate) struct SearchStarts {
    places: Vec<usize>,
    /// The part of a plain text whose starts are known.
    looked_at: Range<usize>,
    /// How much more to look at, the next time.
    more: usize,
    /// Candidates that no later candidate with an equal or smaller key has ruled out yet.
    rising: Vec<StartCandidate>,
    line_begins: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct StartCandidate {
    at: usize,
    key: u64,
    /// `true` if no earlier candidate within the spacing has an equal or smaller key.
    is_smallest_so_far: bool,
}

impl SearchStarts {
    /// Forgets the starts of the previous text.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.looked_at = 0..0;
        self.more = MORE;
    }

    /// Finds the search starts of `text`. If `begins`, its first position is one. Starts closer to
    /// an end of `text` than the spacing's context are unreliable, unless the object ends there as
    /// well.
    fn find(&mut self, text: &[u8], begins: bool, spacing: Spacing) {
        self.places.clear();
        self.rising.clear();
        self.line_begins.clear();
        if begins {
            self.places.push(0);
            self.line_begins.push(0);
        }
        self.line_begins.extend(memchr::memchr_iter(b'\n', text).map(|at| at + 1));
        let line_begins = std::mem::take(&mut self.line_begins);
        let mut inside_from = 0;
        for &line in &line_begins {
            self.add_inside(text, inside_from..line.saturating_sub(spacing.0), spacing);
            self.add(StartCandidate::new(text, line, 0), spacing);
            inside_from = line + spacing.0 + 1;
        }
        self.add_inside(text, inside_from..text.len(), spacing);
        while let Some(last) = self.rising.pop() {
            self.keep(last, usize::MAX, spacing);
        }
        self.line_begins = line_begins;
        self.places.sort_unstable();
        self.places.dedup();
    }

    /// Like `find`, for a part of an object that begins at this offset, and with the multiples of
    /// [`GRID`].
    fn find_plain(&mut self, text: &[u8], offset: u64) {
        self.find(text, offset == 0, PLAIN_SPACING);
        let first = (offset.next_multiple_of(GRID as u64) - offset) as usize;
        let from_text = self.places.len();
        for at in (first..text.len()).step_by(GRID) {
            let starts = &self.places[..from_text];
            let before = starts.partition_point(|&start| start <= at);
            if before == 0 || starts[before - 1] + GRID <= at {
                self.places.push(at);
            }
        }
        self.places.sort_unstable();
    }

    /// Finds the starts in `wanted`, the last one before it and the first one after it, unless they
    /// are known. `text` is a part of an object and begins at this offset.
    pub(crate) fn find_around(&mut self, text: &[u8], offset: u64, wanted: Range<usize>) {
        let around = |more: usize| {
            let end = wanted.end + SEARCH_START_REACH + more;
            wanted.start.saturating_sub(SEARCH_START_REACH + more)..end.min(text.len())
        };
        let needed = around(0);
        if self.looked_at.start <= needed.start && needed.end <= self.looked_at.end {
            return;
        }
        let looked_at = around(self.more.max(MORE));
        self.more = (4 * self.more).clamp(MORE, MORE_MAX);
        self.find_plain(&text[looked_at.clone()], offset + looked_at.start as u64);
        self.places.iter_mut().for_each(|place| *place += looked_at.start);
        self.looked_at = looked_at;
    }

    /// Finds the search starts in a part of a decoded text, and as far after it as a search goes.
    /// The `given` positions are also search starts.
    pub(crate) fn find_decoded(
        &mut self,
        text: &[u8],
        part: Range<usize>,
        given: [Option<usize>; 2],
    ) {
        let from = part.start.saturating_sub(DECODED_SPACING.context());
        let to = part.end + DECODED_SEARCH_MAX + DECODED_SPACING.context();
        self.find(&text[from..to.min(text.len())], false, DECODED_SPACING);
        self.places.iter_mut().for_each(|place| *place += from);
        self.places.extend(given.into_iter().flatten());
        self.places.sort_unstable();
        self.places.dedup();
    }

    /// Returns each start in `range`, and the end of the search from it: the next start, or the end
    /// of the text.
    pub(crate) fn within(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let first = self.places.partition_point(|&start| start < range.start);
        let places = &self.places[first..];
        let nexts = places.iter().skip(1).copied().chain([usize::MAX]);
        places.iter().copied().zip(nexts).take_while(move |&(start, _)| start < range.end)
    }

    /// Returns the last start at or before a position, or the position itself if there is none.
    pub(crate) fn before(&self, at: usize) -> usize {
        let after = self.places.partition_point(|&start| start <= at);
        after.checked_sub(1).map_or(at, |last| self.places[last])
    }

    fn add_inside(&mut self, text: &[u8], range: Range<usize>, spacing: Spacing) {
        for at in range.filter(|&at| is_sampled(text, at)) {
            self.add(StartCandidate::new(text, at, INSIDE_LINE), spacing);
        }
    }

    fn add(&mut self, mut candidate: StartCandidate, spacing: Spacing) {
        while let Some(&last) = self.rising.last() {
            if last.key < candidate.key {
                break;
            }
            self.rising.pop();
            // If two candidates with equal keys are near each other, neither is a start.
            let is_near = candidate.at - last.at <= spacing.0;
            candidate.is_smallest_so_far &= !(last.key == candidate.key && is_near);
            self.keep(last, candidate.at, spacing);
        }
        if let Some(smaller) = self.rising.last() {
            candidate.is_smallest_so_far &= candidate.at - smaller.at > spacing.0;
        }
        self.rising.push(candidate);
    }

    /// Keeps a candidate if it is a search start. `rival` is the next candidate with an equal or
    /// smaller key.
    fn keep(&mut self, candidate: StartCandidate, rival: usize, spacing: Spacing) {
        if candidate.is_smallest_so_far && rival - candidate.at > spacing.0 {
            self.places.push(candidate.at);
        }
    }
}

impl StartCandidate {
    fn new(text: &[u8], at: usize, class: u64) -> Self {
        let (before, after) = text.split_at(at);
        let before = before.last_chunk().copied().unwrap_or_else(|| padded(before));
        let after = after.first_chunk().copied().unwrap_or_else(|| padded(after));
        let (before, after): ([u8; KEY_BYTES], [u8; KEY_BYTES]) = (before, after);
        let mut hash = 0_u64;
        for &word in before.as_chunks().0.iter().chain(after.as_chunks().0) {
            hash = (hash.rotate_left(23) ^ u64::from_le_bytes(word))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        // Different keys must also differ in the upper bits.
        let mixed = (hash ^ hash >> 32).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        Self { at, key: mixed >> 1 | class, is_smallest_so_far: true }
    }
}

/// Returns `true` if the bytes around a position inside a line make it a candidate: one in 16 is.
/// Comparing all positions would take longer than the search.
fn is_sampled(text: &[u8], at: usize) -> bool {
    let around = text.get(at.wrapping_sub(2)..).and_then(|rest| rest.first_chunk());
    around.is_some_and(|&around| u32::from_le_bytes(around).wrapping_mul(0x9E37_79B1) >> 28 == 0)
}

/// Pads the last bytes of a text to the length of a key.
fn padded(bytes: &[u8]) -> [u8; KEY_BYTES] {
    let mut padded = [0; KEY_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::rng::XorShift64;

    /// Returns prose in lines of up to `width` characters.
    fn prose(len: usize, width: usize, seed: u64) -> Vec<u8> {
        let mut rng = XorShift64::new(seed);
        let mut text = Vec::new();
        while text.len() < len {
            let line = rng.below_usize(width) + 1;
            text.extend((0..line).map(|_| b"etaoin shrdlu"[rng.below_usize(13)]));
            text.push(b'\n');
        }
        text
    }

    fn places(text: &[u8], begins: bool, spacing: Spacing) -> Vec<usize> {
        let mut starts = SearchStarts::default();
        starts.find(text, begins, spacing);
        starts.places
    }

    /// Compares every candidate with every other: slow and obvious.
    fn slowly(text: &[u8], begins: bool, spacing: Spacing) -> Vec<usize> {
        let is_line = |at: usize| at == 0 && begins || at > 0 && text[at - 1] == b'\n';
        let near =
            |at: usize| at.saturating_sub(spacing.0)..(at + spacing.0 + 1).min(text.len() + 1);
        let candidates: Vec<StartCandidate> = (0..=text.len())
            .filter_map(|at| match is_line(at) {
                true => Some(StartCandidate::new(text, at, 0)),
                false if !is_sampled(text, at) || near(at).any(is_line) => None,
                false => Some(StartCandidate::new(text, at, INSIDE_LINE)),
            })
            .collect();
        let is_smallest = |one: &&StartCandidate| {
            let rivals = candidates.iter().filter(|other| other.at != one.at);
            rivals
                .filter(|other| other.at.abs_diff(one.at) <= spacing.0)
                .all(|other| other.key > one.key)
        };
        let mut places: Vec<usize> =
            candidates.iter().filter(is_smallest).map(|one| one.at).collect();
        if begins && places.first() != Some(&0) {
            places.insert(0, 0);
        }
        places
    }

    #[test]
    fn search_starts_are_those_of_the_definition() {
        for (width, seed) in [(1, 1), (9, 2), (80, 3), (400, 4), (3000, 5)] {
            for begins in [false, true] {
                let text = prose(6000, width, seed);
                assert_eq!(
                    places(&text, begins, DECODED_SPACING),
                    slowly(&text, begins, DECODED_SPACING),
                    "{width}"
                );
            }
        }
    }

    #[test]
    fn a_text_that_is_moved_keeps_its_search_starts() {
        for (width, seed) in [(60, 1), (900, 2), (100_000, 3)] {
            let text = prose(60_000, width, seed);
            let context = PLAIN_SPACING.context();
            let expected = places(&text, false, PLAIN_SPACING);
            assert!(expected.len() > 30, "{} starts", expected.len());
            assert!(expected.windows(2).all(|pair| pair[1] - pair[0] > PLAIN_SPACING.0));
            for shift in [1, 2, 3, 4096, 5000] {
                let moved = [&prose(shift, 7, 9)[..shift], &text].concat();
                let found: Vec<usize> = places(&moved, true, PLAIN_SPACING)
                    .into_iter()
                    .filter_map(|at| at.checked_sub(shift + context))
                    .collect();
                let inside: Vec<usize> =
                    expected.iter().filter_map(|at| at.checked_sub(context)).collect();
                assert_eq!(found, inside, "by {shift}");
            }
        }
    }

    #[test]
    fn search_starts_around_a_place_are_those_of_the_whole_text() {
        let mut rng = XorShift64::new(7);
        let repeating = [prose(30_000, 60, 1), b"ab".repeat(30_000), prose(60_000, 90, 2)].concat();
        for (text, offset) in
            [(prose(200_000, 70, 3), 0), (repeating, 5), (b"ab".repeat(99_000), 3)]
        {
            let (mut whole, mut around) = (SearchStarts::default(), SearchStarts::default());
            whole.find_plain(&text, offset);
            for _ in 0..300 {
                let start = rng.below_usize(text.len());
                let end = (start + rng.below_usize(5000)).min(text.len());
                around.find_around(&text, offset, start..end);
                let searched = |starts: &SearchStarts| -> Vec<(usize, usize)> {
                    starts.within(starts.before(start)..end).collect()
                };
                assert_eq!(searched(&around), searched(&whole), "{start}..{end}");
            }
        }
    }

    #[test]
    fn text_that_repeats_itself_is_searched_from_multiples_of_the_grid() {
        let text = b"ab".repeat(10_000);
        let mut starts = SearchStarts::default();
        starts.find_plain(&text, 0);
        // At its end the text no longer repeats itself.
        assert_eq!(starts.places[..3], [0, 8192, 16384]);
        starts.find_plain(&text, 5);
        assert!(starts.places.contains(&16379));
        starts.find_plain(&prose(60_000, 60, 1), 0);
        assert!(starts.places.iter().skip(1).all(|at| !at.is_multiple_of(GRID)));
    }
}
