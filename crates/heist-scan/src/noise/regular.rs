//! Recognises regular text, which does not occur by chance: one repeated character, repeated
//! groups, sequences, keyboard rows.
//!
//! Most texts take a single pass, the one for sequences. A repetition of more than half of the text
//! covers its middle, so the other checks start there and continue only as far as the text repeats
//! itself: at most once for each group length. Nothing is allocated.

/// A kind of regularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regularity {
    /// Mostly one repeated character.
    OneCharacter,
    /// A repeated group of characters.
    Repeated,
    /// Characters in alphabetical, numerical or keyboard order.
    Sequential,
}

/// The length of the longest repeated group that is recognised.
const PERIOD_MAX: usize = 16;

/// Shorter repetitions may occur by chance.
const REPEATED_MIN: usize = 12;

/// Sequences of this length do not occur by chance: only one in a million texts of random
/// hexadecimal digits contains one.
const SEQUENCE_MIN: usize = 8;

/// Sequences of this length count if they make up most of the text.
const SHORT_SEQUENCE_MIN: usize = 4;

/// Returns how the text is regular, if it is.
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

/// Returns `true` if the text is a short prefix followed by one repeated character.
pub(super) fn is_prefix_and_one_character(text: &[u8]) -> bool {
    let Some(&last) = text.last() else { return true };
    let tail = text.iter().rev().take_while(|&&byte| byte == last).count();
    tail >= 8 && tail * 2 >= text.len() && text.len() - tail <= 12
}

/// Returns `true` if more than half of the text is one character in a row.
fn is_one_character(text: &[u8]) -> bool {
    let middle = text.len() / 2;
    let Some(&byte) = text.get(middle) else { return false };
    run_around(text, middle, |at| text[at] == byte) * 2 > text.len() && text.len() >= 4
}

/// Returns `true` if more than half of the text is a repeated group of characters.
fn is_repeated(text: &[u8]) -> bool {
    let middle = text.len() / 2;
    let Some(&byte) = text.get(middle) else { return false };
    let is_most = |run: usize, period: usize| {
        let covered = run + period;
        // The group must occur two and a half times, so that a text written twice does not count.
        covered >= REPEATED_MIN && covered * 2 > text.len() && run * 2 >= period * 3
    };
    // The middle character also occurs one group length earlier or, if it is in the first group,
    // later.
    let before = &text[middle - PERIOD_MAX.min(middle)..middle];
    let after = &text[middle + 1..text.len().min(middle + 1 + PERIOD_MAX)];
    memchr::memrchr_iter(byte, before).map(|at| before.len() - at).any(|period| {
        let repeats = |at: usize| at >= period && text[at] == text[at - period];
        is_most(run_around(text, middle, repeats), period)
    }) || memchr::memchr_iter(byte, after).map(|at| at + 1).any(|period| {
        let is_repeated = |at: usize| text.get(at + period) == Some(&text[at]);
        is_most(run_around(text, middle, is_repeated), period)
    })
}

/// Returns the length of the run of positions around `middle` for which `holds` returns `true`; 0
/// if it does not for `middle` itself.
fn run_around(text: &[u8], middle: usize, holds: impl Fn(usize) -> bool) -> usize {
    if !holds(middle) {
        return 0;
    }
    let ahead = (middle..text.len()).take_while(|&at| holds(at)).count();
    let behind = (0..middle).rev().take_while(|&at| holds(at)).count();
    ahead + behind
}

/// The character to the right of each character on the most common keyboard; 0 if there is none.
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

/// The characters that may follow where an order wraps around: `a` or 0 after the digits, 0 after
/// the hexadecimal digits, 0 or `a` after the letters.
const WRAPPED: [[u8; 2]; 256] = {
    let mut wrapped = [[0; 2]; 256];
    wrapped[b'9' as usize] = *b"0a";
    wrapped[b'f' as usize] = *b"00";
    wrapped[b'z' as usize] = *b"0a";
    wrapped
};

/// Returns `true` if `next` follows `byte` in the alphabet or the digits. Both must be lower case
/// letters or digits.
const fn follows(byte: u8, next: u8) -> bool {
    let wrapped = WRAPPED[byte as usize];
    (next == byte.wrapping_add(1)) | (next == wrapped[0]) | (next == wrapped[1])
}

const fn follows_on_keyboard(byte: u8, next: u8) -> bool {
    KEY_AFTER[byte as usize] == next
}

/// Numbers lower case letters and digits from 1; 0 for everything else.
const NUMBERS: [u8; 256] = {
    let mut numbers = [0; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        numbers[byte as usize] = match byte {
            b'0'..=b'9' => byte - b'0' + 1,
            b'a'..=b'z' => byte - b'a' + 11,
            b'A'..=b'Z' => byte - b'A' + 11,
            _ => 0,
        };
        byte += 1;
    }
    numbers
};

/// The second character follows the first in the alphabet or the digits.
const NEXT: u8 = 1;
/// The second character follows the first there or on a keyboard.
const UPWARDS: u8 = 2;
/// The first character follows the second.
const DOWNWARDS: u8 = 4;
/// The characters are equal.
const SAME: u8 = 8;

/// How two numbered characters follow each other.
const RELATIONS: [[u8; 64]; 64] = {
    let mut relations = [[0; 64]; 64];
    let characters = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut first = 0;
    while first < characters.len() {
        let mut second = 0;
        while second < characters.len() {
            let (one, two) = (characters[first], characters[second]);
            let next = follows(one, two);
            let upwards = next || follows_on_keyboard(one, two);
            let downwards = follows(two, one) || follows_on_keyboard(two, one);
            relations[first + 1][second + 1] = next as u8 * NEXT
                + upwards as u8 * UPWARDS
                + downwards as u8 * DOWNWARDS
                + (one == two) as u8 * SAME;
            second += 1;
        }
        first += 1;
    }
    relations
};

/// The kinds of sequences: ascending, descending, ascending in every second character, and
/// ascending with doubled characters.
const KINDS: usize = 4;

/// Returns `true` if most of the text is in sequence: `12345678`, `hgfedcba`, `11223344`,
/// `a1b2c3d4`, `qwertyui`. Signs are skipped and case does not matter.
fn is_sequential(text: &[u8]) -> bool {
    let mut current = [1_usize; KINDS];
    let mut covered = [0_usize; KINDS];
    // One repeated character is not a sequence: doubled characters must also advance.
    let mut steps = 0;
    let (mut before, mut last) = (0, 0);
    let mut len = 0;
    for number in text.iter().map(|&byte| NUMBERS[usize::from(byte)]).filter(|&number| number != 0)
    {
        len += 1;
        let number = usize::from(number & 63);
        let relation = RELATIONS[last][number];
        let alternates = RELATIONS[before][number] & NEXT;
        (before, last) = (last, number);
        // Usually no sequence continues.
        if relation | alternates == 0 {
            (current, steps) = ([1; KINDS], 0);
            continue;
        }
        let is_next = relation & NEXT != 0;
        let goes_on = [
            relation & UPWARDS != 0,
            relation & DOWNWARDS != 0,
            alternates != 0,
            relation & (NEXT | SAME) != 0,
        ];
        steps = if goes_on[3] { steps + usize::from(is_next) } else { 0 };
        for kind in 0..KINDS {
            current[kind] = if goes_on[kind] { current[kind] + 1 } else { 1 };
            covered[kind] += match current[kind].cmp(&SHORT_SEQUENCE_MIN) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => SHORT_SEQUENCE_MIN,
                std::cmp::Ordering::Greater => 1,
            };
            if current[kind] >= SEQUENCE_MIN && (kind < 3 || steps >= 3) {
                return true;
            }
        }
    }
    covered[..3].iter().any(|&covered| covered > 0 && covered * 2 > len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_texts_are_recognised() {
        for (text, expected) in [
            ("aaaaaaaaaaaa", Regularity::OneCharacter),
            ("key-0000000000000000", Regularity::OneCharacter),
            ("abcabcabcabc", Regularity::Repeated),
            ("sk_k3Qk3Qk3Qk3Qk3Qk3Q", Regularity::Repeated),
            ("deadf00ddeadf00ddeadf00d", Regularity::Repeated),
            ("deadf00ddeadf00ddeadVq3rT8xLm", Regularity::Repeated),
            ("Vq3rT8xLmdeadf00ddeadf00ddead", Regularity::Repeated),
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

    /// The repetition may begin anywhere, and the reversed text counts just the same.
    #[test]
    fn a_repetition_of_more_than_half_is_found_anywhere() {
        let other = b"Vq3rT8xLm2Zp6KwYb4Nc";
        for period in 3..=PERIOD_MAX {
            let group = &b"k7Qz9fW2hJ5sD8gT"[..period];
            let length = (period * 5).div_ceil(2).max(REPEATED_MIN);
            let repeated: Vec<u8> = group.iter().copied().cycle().take(length).collect();
            for around in 0..other.len().min(length) {
                for before in 0..=around {
                    let parts = [&other[..before], &repeated, &other[before..around]];
                    let mut text = parts.concat();
                    assert!(is_repeated(&text), "{}", text.escape_ascii());
                    text.reverse();
                    assert!(is_repeated(&text), "{}", text.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn a_prefix_with_one_repeated_character_is_recognised() {
        assert!(is_prefix_and_one_character(b"tok_xxxxxxxxxxxxxxxxxxxx"));
        assert!(is_prefix_and_one_character(b"0000000000000000"));
        assert!(!is_prefix_and_one_character(b"tok_k3Qz9fxxxxxxxx0000000000"));
        assert!(!is_prefix_and_one_character(b"xxxx"));
    }
}
