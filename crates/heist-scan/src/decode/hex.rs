//! Two hexadecimal digits for each byte, of either case.

use super::decoded::Decoded;
use super::text::{HEAD, is_text};
use super::{begins_cell, within_reach};

/// Shorter runs are not decoded.
pub const HEX_RUN_MIN: usize = 32;

/// After this many more bytes it is looked at again whether they are text.
const BLOCK: usize = 48;

const NO_DIGIT: u8 = 0xFF;

const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

fn is_digit(byte: u8) -> bool {
    VALUES[usize::from(byte)] != NO_DIGIT
}

/// Whether a decode is to begin at `at`, which holds a digit: where a run begins, and where a cell of the object's grid
/// begins inside of one. `offset` is the object's offset of `text[0]`.
#[must_use]
pub fn hex_starts(text: &[u8], at: usize, offset: u64) -> bool {
    text.get(at).is_some_and(|&byte| is_digit(byte))
        && (at == 0 || !is_digit(text[at - 1]) || begins_cell(offset, at))
}

/// Decodes the run that begins at `at`; inside of a run, from the digit on that makes text.
///
/// `false` unless it decodes to text. Text that is followed by something else is decoded up to there.
pub fn hex_at(text: &[u8], at: usize, into: &mut Decoded) -> bool {
    into.begin_pairs(at);
    let reachable = within_reach(text, at);
    // A look at every digit of a short head, before the run is measured.
    if reachable.len() < HEX_RUN_MIN || !reachable[..HEX_RUN_MIN].iter().all(|&byte| is_digit(byte))
    {
        return false;
    }
    let is_inside = at > 0 && is_digit(text[at - 1]);
    let phases = if is_inside { 2 } else { 1 };
    let Some(phase) = (0..phases).find(|&phase| {
        let mut head = [0; HEAD];
        for (byte, pair) in head.iter_mut().zip(reachable[phase..].chunks_exact(2)) {
            *byte = pair_value(pair);
        }
        is_text(&head)
    }) else {
        return false;
    };
    into.begin_pairs(at + phase);
    let run = reachable[phase..].iter().position(|&byte| !is_digit(byte));
    let run = &reachable[phase..][..run.unwrap_or(reachable.len() - phase)];
    for block in run.chunks(2 * BLOCK) {
        let checked = into.bytes.len();
        into.bytes.extend(block.chunks_exact(2).map(pair_value));
        if !is_text(&into.bytes[checked..]) {
            into.bytes.truncate(checked);
            break;
        }
    }
    into.bytes.len() >= HEAD
}

fn pair_value(pair: &[u8]) -> u8 {
    VALUES[usize::from(pair[0])] << 4 | (VALUES[usize::from(pair[1])] & 15)
}
