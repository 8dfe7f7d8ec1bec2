//! Prose without secrets, as a baseline for other content.

use crate::walk::trees::random::Random;

/// Common words, a few of which contain the letters that rules look for.
const WORDS: [&str; 64] = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "that",
    "for",
    "with",
    "as",
    "was",
    "on",
    "are",
    "by",
    "this",
    "from",
    "or",
    "which",
    "have",
    "not",
    "they",
    "one",
    "had",
    "their",
    "when",
    "there",
    "water",
    "people",
    "between",
    "through",
    "little",
    "called",
    "where",
    "before",
    "another",
    "because",
    "different",
    "picture",
    "again",
    "change",
    "house",
    "point",
    "letter",
    "answer",
    "found",
    "study",
    "still",
    "learn",
    "should",
    "country",
    "plant",
    "every",
    "near",
    "token",
    "secret",
    "keyboard",
    "passage",
    "window",
    "market",
    "number",
    "library",
    "function",
    "return",
    "value",
    "result",
];

/// Returns `length` bytes of sentences, in lines of about eighty characters.
pub(crate) fn prose(random: &mut Random, length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 16);
    let (mut column, mut in_sentence) = (0, 0);
    while text.len() < length {
        let word = WORDS[random.below(WORDS.len())];
        if column > 0 {
            text.push(b' ');
        }
        text.extend_from_slice(word.as_bytes());
        column += word.len() + 1;
        in_sentence += 1;
        if in_sentence > 6 && random.below(8) == 0 {
            text.push(b'.');
            in_sentence = 0;
        }
        if column >= 80 {
            text.push(b'\n');
            column = 0;
        }
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_the_requested_length_and_lines() {
        let text = prose(&mut Random::new(1), 10_000);
        assert_eq!(text.len(), 10_000);
        let longest = text.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert!((60..110).contains(&longest.expect("there are lines")));
        assert_eq!(text, prose(&mut Random::new(1), 10_000));
    }
}
