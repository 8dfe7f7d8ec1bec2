//! [`LiteralTable`]: finds the literals that have a given window of four bytes.
//!
//! A lookup ignores case (it sets one bit of each byte), so that one lookup serves case-sensitive
//! and case-insensitive literals. A full comparison follows each hit.

use super::super::boundary::begins_word;
use super::super::literal::{Literal, LiteralByte, WINDOW_BYTES};
use super::{AnchorHit, Candidates};
use std::ops::Range;

/// How many bits a hash has: enough that other text rarely hits by accident (750 windows among
/// 65,536 hashes).
const HASH_BITS: u32 = 16;

/// How many bits of a hash select the list of entries.
const ENTRY_BITS: u32 = 12;

/// Turns letters into lower case. It also merges other bytes that differ in this bit alone; the
/// full comparison separates them again.
const FOLD: u32 = 0x2020_2020;

/// The first three bytes of a window, for literals that are only three bytes long.
const THREE_BYTES: u32 = 0x00ff_ffff;

/// Marks the end of a list of entries.
const NONE: u32 = u32::MAX;

/// Finds the literals that have a given window.
#[derive(Debug)]
pub(crate) struct LiteralTable {
    entries: Vec<Entry>,
    window_at_max: usize,
    has_short: bool,
    /// The set of hashes that some window has: small, so that it stays in the fastest cache.
    known: Box<[u64]>,
    /// The first entry for all hashes that begin with the same bits.
    first: Box<[u32]>,
}

/// Input for a table: a literal with its index among all literals, and where its window begins.
#[derive(Clone, Debug)]
pub(crate) struct PlacedLiteral {
    pub(crate) number: u32,
    pub(crate) literal: Literal,
    pub(crate) window_at: usize,
    /// `true` if the prefilter may skip the literal right after a letter or digit.
    pub(crate) begins_word: bool,
}

/// A literal, and where its window is.
#[derive(Debug)]
struct Entry {
    literal: Literal,
    /// Its index among all literals, including those of other tables.
    number: u32,
    /// Where its window begins.
    window_at: usize,
    begins_word: bool,
    /// The next entry in the same list.
    next: u32,
}

impl LiteralTable {
    pub(crate) fn new(literals: impl IntoIterator<Item = PlacedLiteral>) -> Self {
        let mut table = Self {
            entries: Vec::new(),
            window_at_max: 0,
            has_short: false,
            known: vec![0; 1 << (HASH_BITS - 6)].into(),
            first: vec![NONE; 1 << ENTRY_BITS].into(),
        };
        for PlacedLiteral { number, literal, window_at, begins_word } in literals {
            let window = window(&literal, window_at);
            let mut bytes = [0; WINDOW_BYTES];
            for (byte, wanted) in bytes.iter_mut().zip(window) {
                *byte = wanted.byte;
            }
            let folded = u32::from_le_bytes(bytes) | FOLD;
            let is_short = window.len() < WINDOW_BYTES;
            let hash = hash(if is_short { folded & THREE_BYTES } else { folded });
            table.has_short |= is_short;
            table.known[hash / 64] |= 1 << (hash % 64);
            table.window_at_max = table.window_at_max.max(window_at);
            let first = &mut table.first[entry_bits(hash)];
            let next = std::mem::replace(first, table.entries.len() as u32);
            table.entries.push(Entry { literal, number, window_at, begins_word, next });
        }
        table
    }

    /// Returns the greatest distance from a literal's start to its window.
    pub(crate) fn window_at_max(&self) -> usize {
        self.window_at_max
    }

    /// Returns the bytes of each window; fewer than four for a shorter literal.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn windows(&self) -> impl Iterator<Item = &[LiteralByte]> {
        self.entries.iter().map(|entry| window(&entry.literal, entry.window_at))
    }

    /// Adds the literals whose window begins at `window` and which begin in `owned`.
    #[inline(always)]
    pub(crate) fn look_up(
        &self,
        text: &[u8],
        window: usize,
        owned: &Range<usize>,
        found: &mut Candidates,
    ) {
        let bytes = match text.get(window..window + WINDOW_BYTES) {
            Some(bytes) => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            None => last_bytes(text, window),
        };
        let folded = bytes | FOLD;
        let long = hash(folded);
        let is_long_known = self.is_known(long);
        if is_long_known {
            self.compare(text, window, long, owned, found);
        }
        if self.has_short {
            let short = hash(folded & THREE_BYTES);
            let was_compared = is_long_known && entry_bits(short) == entry_bits(long);
            if self.is_known(short) && !was_compared {
                self.compare(text, window, short, owned, found);
            }
        }
    }

    #[inline(always)]
    fn is_known(&self, hash: usize) -> bool {
        self.known[hash / 64] >> (hash % 64) & 1 == 1
    }

    #[cold]
    fn compare(
        &self,
        text: &[u8],
        window: usize,
        hash: usize,
        owned: &Range<usize>,
        found: &mut Candidates,
    ) {
        let mut next = self.first[entry_bits(hash)];
        while let Some(entry) = self.entries.get(next as usize) {
            if let Some(at) = window.checked_sub(entry.window_at)
                && owned.contains(&at)
                && entry.literal.occurs_at(text, at)
                && (!entry.begins_word || begins_word(text, at))
            {
                found.anchors.push(AnchorHit { at, literal: entry.number });
            }
            next = entry.next;
        }
    }
}

fn window(literal: &Literal, at: usize) -> &[LiteralByte] {
    &literal.bytes()[at..(at + WINDOW_BYTES).min(literal.len())]
}

/// Returns the bytes from `at` to the end, fewer than four, padded with zeros.
#[cold]
fn last_bytes(text: &[u8], at: usize) -> u32 {
    let mut bytes = [0; WINDOW_BYTES];
    let rest = &text[at..];
    bytes[..rest.len()].copy_from_slice(rest);
    u32::from_le_bytes(bytes)
}

#[inline(always)]
fn hash(folded: u32) -> usize {
    // Multiplying by the golden ratio spreads values that differ in few bits.
    (folded.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// Returns the bits of a hash that select the list of entries.
#[inline(always)]
fn entry_bits(hash: usize) -> usize {
    hash >> (HASH_BITS - ENTRY_BITS)
}
