//! Text that a rule makes and no chance: one character again and again, repeated groups, sequences, keyboard rows.
//!
//! Every check is one pass, and none looks at more than it is given.

/// What is regular about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regularity {
    /// Little but one character.
    OneCharacter,
    /// A group of characters, again and again.
    Repeated,
    /// Characters in the order of the alphabet, of the digits or of a keyboard.
    Sequential,
}

/// The longest group that is looked for.
const PERIOD_MAX: usize = 16;

/// A repetition shorter than this may be chance.
const REPEATED_MIN: usize = 12;

/// So many characters in sequence are no chance: of random hexadecimal digits one text in a million has as many.
const SEQUENCE_MIN: usize = 8;

/// Shorter sequences count if they make up most of the text.
const SHORT_SEQUENCE_MIN: usize = 4;

/// What is regular about it, if anything.
pub(super) fn regularity(text: &[u8]) -> Option<Regularity> {
    if is_one_character(text) {
        Some(Regularity::OneCharacter)
    } else if is_repeated(text) {
        Some(Regularity::Repeated)
    } else if is_sequential(text) {
        Some(Regularity::Sequential)
    } else {
        None
    }
}

/// Whether all that follows a short prefix is one character.
pub(super) fn is_empty_form(text: &[u8]) -> bool {
    let Some(&last) = text.last() else { return true };
    let tail = text.iter().rev().take_while(|&&byte| byte == last).count();
    tail >= 8 && tail * 2 >= text.len() && text.len() - tail <= 12
}

/// Whether more than half of it is one character in a row.
fn is_one_character(text: &[u8]) -> bool {
    let middle = text.len() / 2;
    let Some(&byte) = text.get(middle) else { return false };
    run_around(text, middle, |at| text[at] == byte) * 2 > text.len() && text.len() >= 4
}

/// Whether more than half of it repeats what stands a few characters before.
fn is_repeated(text: &[u8]) -> bool {
    // What covers more than half covers the middle, so the search begins there, and mostly ends there, too.
    let middle = text.len() / 2;
    (1..=PERIOD_MAX.min(middle)).any(|period| {
        let run = run_around(text, middle, |at| at >= period && text[at] == text[at - period]);
        let covered = run + period;
        // The group at least twice and a half, so that a text which is written twice is not yet one.
        run > 0 && covered >= REPEATED_MIN && covered * 2 > text.len() && run * 2 >= period * 3
    })
}

/// How long the run of positions around `middle` is for which `holds` does; 0 if it does not hold there.
fn run_around(text: &[u8], middle: usize, holds: impl Fn(usize) -> bool) -> usize {
    if !holds(middle) {
        return 0;
    }
    let ahead = (middle..text.len()).take_while(|&at| holds(at)).count();
    let behind = (0..middle).rev().take_while(|&at| holds(at)).count();
    ahead + behind
}

/// What follows a character on the most common keyboard, to the right; 0 if nothing does.
const KEY_AFTER: [u8; 256] = {
    let mut after = [0; 256];
    let rows: [&[u8]; 3] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];
    let mut row = 0;
    while row < rows.len() {
        let mut at = 0;
        while at + 1 < rows[row].len() {
            after[rows[row][at] as usize] = rows[row][at + 1];
            at += 1;
        }
        row += 1;
    }
    after
};

/// What follows a letter or digit where its order begins again: the digits go on with `a` or with 0, hexadecimal digits
/// and letters with 0, and letters with `a`.
const WRAPPED: [[u8; 2]; 256] = {
    let mut wrapped = [[0; 2]; 256];
    wrapped[b'9' as usize] = *b"0a";
    wrapped[b'f' as usize] = *b"00";
    wrapped[b'z' as usize] = *b"0a";
    wrapped
};

/// Whether `next` follows `byte` in the alphabet or the digits. Both are lower case letters or digits.
fn follows(byte: u8, next: u8) -> bool {
    let wrapped = WRAPPED[usize::from(byte)];
    (next == byte.wrapping_add(1)) | (next == wrapped[0]) | (next == wrapped[1])
}

fn follows_on_keyboard(byte: u8, next: u8) -> bool {
    KEY_AFTER[usize::from(byte)] == next
}

/// How long the current run of one kind is, and how much of the text such runs have covered.
#[derive(Default)]
struct Runs {
    current: usize,
    longest: usize,
    covered: usize,
}

impl Runs {
    fn step(&mut self, goes_on: bool) {
        if !goes_on {
            self.current = 1;
            return;
        }
        self.current += 1;
        self.longest = self.longest.max(self.current);
        match self.current.cmp(&SHORT_SEQUENCE_MIN) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.covered += SHORT_SEQUENCE_MIN,
            std::cmp::Ordering::Greater => self.covered += 1,
        }
    }

    fn are_most_of(&self, len: usize) -> bool {
        self.longest >= SEQUENCE_MIN || self.covered >= SHORT_SEQUENCE_MIN && self.covered * 2 > len
    }
}

/// Whether it is mostly in sequence: `12345678`, `hgfedcba`, `11223344`, `a1b2c3d4`, `qwertyui`. Signs are skipped and
/// case does not matter.
fn is_sequential(text: &[u8]) -> bool {
    let (mut upwards, mut downwards, mut alternating) = <(Runs, Runs, Runs)>::default();
    // Doubled characters count only if the sequence goes on after them: else one character would be a sequence.
    let (mut doubled, mut doubled_steps) = (Runs::default(), 0);
    let (mut before, mut last) = (0, 0);
    let mut len = 0;
    for byte in text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase)
    {
        len += 1;
        let is_next = follows(last, byte);
        upwards.step(is_next || follows_on_keyboard(last, byte));
        downwards.step(follows(byte, last) || follows_on_keyboard(byte, last));
        alternating.step(follows(before, byte));
        let goes_on = is_next || byte == last;
        doubled_steps = if goes_on { doubled_steps + usize::from(is_next) } else { 0 };
        doubled.step(goes_on);
        if doubled.current >= SEQUENCE_MIN && doubled_steps >= 3 {
            return true;
        }
        (before, last) = (last, byte);
    }
    [upwards, downwards, alternating].iter().any(|runs| runs.are_most_of(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_makes_is_regular() {
        for (text, expected) in [
            ("aaaaaaaaaaaa", Regularity::OneCharacter),
            ("key-0000000000000000", Regularity::OneCharacter),
            ("abcabcabcabc", Regularity::Repeated),
            ("sk_k3Qk3Qk3Qk3Qk3Qk3Q", Regularity::Repeated),
            ("deadf00ddeadf00ddeadf00d", Regularity::Repeated),
            ("0123456789abcdef", Regularity::Sequential),
            ("1234567890", Regularity::Sequential),
            ("1234-5678-9012-3456", Regularity::Sequential),
            ("zyxwvutsrq", Regularity::Sequential),
            ("9876543210", Regularity::Sequential),
            ("aabbccddeeff", Regularity::Sequential),
            ("a1b2c3d4e5f6g7h8", Regularity::Sequential),
            ("qwertyuiop", Regularity::Sequential),
            ("asdfzxcv", Regularity::Sequential),
            ("AbCdEfGhIj", Regularity::Sequential),
        ] {
            assert_eq!(regularity(text.as_bytes()), Some(expected), "{text}");
        }
        for text in
            ["", "x", "k3Qz", "9f86d081884c7d65", "Vq3rT8xLm2Zp6KwY", "hunter2", "Summer2023!"]
        {
            assert_eq!(regularity(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_form_without_content_is_empty() {
        assert!(is_empty_form(b"tok_xxxxxxxxxxxxxxxxxxxx"));
        assert!(is_empty_form(b"0000000000000000"));
        assert!(!is_empty_form(b"tok_k3Qz9fxxxxxxxx0000000000"));
        assert!(!is_empty_form(b"xxxx"));
    }
}
