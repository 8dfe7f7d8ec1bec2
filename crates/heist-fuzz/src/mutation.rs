//! Makes small random changes to an input, for tests that run without libFuzzer. The same random
//! numbers give the same changes.
//!
//! Not guaranteed: coverage. Unlike libFuzzer, this does not learn from the effect of a change.

use heist::rng::XorShift64;

/// The length limit of a changed input. Longer ones take time and find nothing more.
const LENGTH_MAX: usize = 8 * 1024;

/// Snippets with a meaning for the code under test.
const WORDS: [&[u8]; 32] = [
    b"://",
    b"@",
    b":",
    b"=",
    b";",
    b"\"",
    b"'",
    b"`",
    b"\n",
    b"\r\n",
    b"\0",
    b"%2e",
    b"%",
    b"\\u0041",
    b"\\u{10FFFF}",
    b"\\ud83d\\ude00",
    b"\\",
    b"eyJ",
    b".",
    b"-----BEGIN ",
    b"-----END ",
    b"PRIVATE KEY-----",
    b"password",
    b"pwd=",
    b"secret",
    b"${",
    b"}",
    b"[",
    b"(",
    b"{1,1000}",
    b"\xFF\xFE",
    b"\xC3\xA9",
];

/// Changes the input in one to four places. Some changes copy pieces from `other`.
pub fn mutate(text: &mut Vec<u8>, other: &[u8], rng: &mut XorShift64) {
    for _ in 0..=rng.below(4) {
        change(text, other, rng);
    }
    text.truncate(LENGTH_MAX);
}

fn change(text: &mut Vec<u8>, other: &[u8], rng: &mut XorShift64) {
    let place = rng.below_usize(text.len() + 1);
    let rest = text.len() - place;
    match rng.below(7) {
        0 if rest > 0 => text[place] ^= 1 << rng.below(8),
        1 if rest > 0 => text[place] = rng.next_u32() as u8,
        2 => {
            let word = WORDS[rng.below_usize(WORDS.len())];
            text.splice(place..place, word.iter().copied());
        }
        3 => {
            let word = WORDS[rng.below_usize(WORDS.len())];
            text.splice(place..place + word.len().min(rest), word.iter().copied());
        }
        4 => {
            let length = rng.below_usize(rest.min(64) + 1);
            text.drain(place..place + length);
        }
        5 => {
            let piece = piece(other, rng);
            text.splice(place..place, piece.iter().copied());
        }
        _ => {
            let again = piece(text, rng).to_vec();
            let times = 1 + rng.below_usize(8);
            text.splice(place..place, again.repeat(times));
        }
    }
}

fn piece<'a>(text: &'a [u8], rng: &mut XorShift64) -> &'a [u8] {
    let begin = rng.below_usize(text.len() + 1);
    let length = rng.below_usize((text.len() - begin).min(256) + 1);
    &text[begin..begin + length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_reproducible() {
        let changed = |seed: u64| {
            let mut rng = XorShift64::new(seed);
            let mut text = b"key = value; key = value".to_vec();
            for _ in 0..50 {
                mutate(&mut text, b"another text", &mut rng);
            }
            text
        };
        assert_eq!(changed(1), changed(1));
        assert_ne!(changed(1), changed(2));
        assert!(changed(1).len() <= LENGTH_MAX);
    }

    #[test]
    fn empty_input_can_be_changed() {
        let mut rng = XorShift64::new(3);
        for _ in 0..1000 {
            mutate(&mut Vec::new(), b"", &mut rng);
        }
    }
}
