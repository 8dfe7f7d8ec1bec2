//! [`Table`]: which literals have a given window of four bytes.
//!
//! Windows are looked up without regard to case (a bit of each byte is set), so that one look-up serves literals in one
//! case and in either; what is found is compared in full.

use super::super::literal::{Literal, WINDOW_BYTES};
use super::{AnchorHit, Candidates};
use std::ops::Range;

const HASH_BITS: u32 = 13;

/// In lower case, if they are letters. Other bytes become each other's, too: two bytes that differ in this bit alone are
/// told apart by the comparison.
const FOLD: u32 = 0x2020_2020;

/// The first three bytes of a window: literals of three bytes have no more.
const THREE_BYTES: u32 = 0x00ff_ffff;

const NONE: u16 = u16::MAX;

/// Which literals have a given window.
#[derive(Debug)]
pub(crate) struct Table {
    literals: Vec<Literal>,
    /// Where each literal's window begins in it.
    window_at: Vec<u8>,
    window_at_max: usize,
    has_short: bool,
    /// Which hashes any window has: small, so that it stays in the fastest cache.
    known: Box<[u64]>,
    /// The first literal of each hash, and for each literal the next one.
    first: Box<[u16]>,
    next: Vec<u16>,
}

impl Table {
    /// Of these literals, which are known by their numbers from then on.
    pub(crate) fn new(literals: Vec<Literal>) -> Self {
        assert!(literals.len() < usize::from(NONE), "a literal's number has 16 bits");
        let mut table = Self {
            window_at: Vec::new(),
            window_at_max: 0,
            has_short: false,
            known: vec![0; 1 << (HASH_BITS - 6)].into(),
            first: vec![NONE; 1 << HASH_BITS].into(),
            next: Vec::new(),
            literals,
        };
        for (number, literal) in table.literals.iter().enumerate() {
            let at = literal.window();
            let window = &literal.bytes()[at..(at + WINDOW_BYTES).min(literal.len())];
            let mut bytes = [0; WINDOW_BYTES];
            for (byte, wanted) in bytes.iter_mut().zip(window) {
                *byte = wanted.byte;
            }
            let folded = u32::from_le_bytes(bytes) | FOLD;
            let is_short = window.len() < WINDOW_BYTES;
            let hash = hash(if is_short { folded & THREE_BYTES } else { folded });
            table.has_short |= is_short;
            table.known[hash / 64] |= 1 << (hash % 64);
            table.next.push(table.first[hash]);
            table.first[hash] = number as u16;
            table.window_at.push(at as u8);
            table.window_at_max = table.window_at_max.max(at);
        }
        table
    }

    pub(crate) fn literals(&self) -> &[Literal] {
        &self.literals
    }

    /// How far after a literal's beginning its window can begin.
    pub(crate) fn window_at_max(&self) -> usize {
        self.window_at_max
    }

    /// What a literal's window can be, byte by byte; fewer than four if the literal has no more.
    pub(crate) fn window(&self, number: usize) -> &[super::super::literal::LiteralByte] {
        let at = usize::from(self.window_at[number]);
        let literal = self.literals[number].bytes();
        &literal[at..(at + WINDOW_BYTES).min(literal.len())]
    }

    /// Adds the literals whose window begins at `window`, and which begin in `owned`.
    #[inline(always)]
    pub(super) fn look_up(
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
        if self.is_known(long) {
            self.compare(text, window, long, owned, found);
        }
        if self.has_short {
            let short = hash(folded & THREE_BYTES);
            if self.is_known(short) && short != long {
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
        let mut number = self.first[hash];
        while number != NONE {
            let index = usize::from(number);
            if let Some(at) = window.checked_sub(usize::from(self.window_at[index]))
                && owned.contains(&at)
                && self.literals[index].stands_at(text, at)
            {
                found.anchors.push(AnchorHit { at, literal: number });
            }
            number = self.next[index];
        }
    }
}

/// The bytes from `at` on, of which there are fewer than four, and zeros.
#[cold]
fn last_bytes(text: &[u8], at: usize) -> u32 {
    let mut bytes = [0; WINDOW_BYTES];
    let rest = &text[at..];
    bytes[..rest.len()].copy_from_slice(rest);
    u32::from_le_bytes(bytes)
}

#[inline(always)]
fn hash(folded: u32) -> usize {
    // The golden ratio spreads what differs in few bits.
    (folded.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}
