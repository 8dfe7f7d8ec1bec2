//! The vocabulary: measures how much of a text consists of words, and how much of the rest reads
//! like words.
//!
//! `words.txt` holds words of four letters and more: the most common ones in the names, code and
//! comments of packages in several languages, and words of configurations and passwords. The common
//! pairs of letters are derived from it; they distinguish unknown words from random letters.

use super::composition::SECRET_BYTES_READ;
use std::sync::LazyLock;

/// Words in any order. Each has at least four lower case letters.
const WORDS: &str = include_str!("words.txt");

/// Placeholders that people write instead of a secret, even in a vendor's format. Of the random
/// tokens with 40 characters, one in 100,000 contains one of these.
const PLACEHOLDERS: [&str; 22] = [
    "example",
    "changeme",
    "changeit",
    "placeholder",
    "redacted",
    "dummy",
    "sample",
    "foobar",
    "foobaz",
    "lorem",
    "ipsum",
    "replace",
    "insert",
    "deadbeef",
    "cafebabe",
    "notreal",
    "notasecret",
    "yourkey",
    "yourtoken",
    "yoursecret",
    "yourpassword",
    "obfuscated",
];

/// The length of the shortest placeholder.
const PLACEHOLDER_MIN: usize = 5;

/// Placeholders that are short enough to occur by chance, or that are parts of vendor prefixes.
/// They count only as separate words, and only in the strict check.
const SHORT_PLACEHOLDERS: [&str; 11] =
    ["test", "todo", "fake", "mock", "your", "stub", "xxxx", "tests", "testing", "tester", "fixme"];

/// Words of two and three letters. They count only as separate words.
const SHORT_WORDS: &str = "add all and any api app arg bad big bin bit box bug but can cmd com cut day del dev dir doc \
    end env err ext few fix fmt for get git has hex how img int its job key lib log low map max may min mod msg net \
    new not now num obj off old one opt org our out own per pop pos pre ptr pub put raw red ref res ret row run sdk \
    see set sig sql src std str sub sum sys tag tcp the tmp top try two txt udp uid uri url usb use usr val var via \
    web who why win xml zip as at by db do eu fs go hi id if in io ip is it js me my no of ok on op or os ru so to ts \
    ui up us vm ws";

/// How many pairs of letters count as common: these make up nine tenths of the pairs in the words.
const COMMON_PAIRS: usize = 200;

/// The share of common pairs in random letters.
const COMMON_BY_CHANCE: f64 = COMMON_PAIRS as f64 / 676.0;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    /// Counts only as a separate word.
    ShortWord,
    Placeholder,
    ShortPlaceholder,
}

#[derive(Debug)]
struct Vocabulary {
    /// Sorted by the word.
    entries: Vec<(&'static [u8], Kind)>,
    /// The index of the first entry for each combination of three first letters.
    first: Vec<u16>,
    /// The words of two letters: one bit for each pair of letters.
    of_two: [u32; 32],
    /// The common pairs: one bit for each pair of letters.
    common: [u32; 32],
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::build);

/// The number of combinations of three letters.
const BEGINNINGS: usize = 26 * 26 * 26;

/// Returns the index of a pair of letters.
fn pair(letters: &[u8]) -> usize {
    usize::from(letters[0] - b'a') * 26 + usize::from(letters[1] - b'a')
}

/// Returns the index of a combination of three first letters.
fn beginning(letters: &[u8]) -> usize {
    pair(letters) * 26 + usize::from(letters[2] - b'a')
}

impl Vocabulary {
    fn build() -> Self {
        let words = WORDS.split_ascii_whitespace().map(|word| (word, Kind::Word));
        let short_words = SHORT_WORDS.split_ascii_whitespace().map(|word| (word, Kind::ShortWord));
        let placeholders = PLACEHOLDERS.map(|word| (word, Kind::Placeholder));
        let short_placeholders = SHORT_PLACEHOLDERS.map(|word| (word, Kind::ShortPlaceholder));
        let mut entries: Vec<(&[u8], Kind)> = words
            .chain(short_words)
            .chain(placeholders)
            .chain(short_placeholders)
            .map(|(word, kind)| (word.as_bytes(), kind))
            .collect();
        entries.sort_by_key(|&(word, _)| word);

        let mut of_two = [0; 32];
        entries.retain(|&(word, _)| {
            if word.len() == 2 {
                of_two[usize::from(word[0] - b'a')] |= 1 << (word[1] - b'a');
            }
            word.len() > 2
        });
        let mut first = vec![0; BEGINNINGS + 1];
        let mut pairs = [(0_u32, 0_u16); 26 * 26];
        for (at, count) in (0..).zip(&mut pairs) {
            count.1 = at;
        }
        for &(word, kind) in &entries {
            first[beginning(word) + 1] += 1;
            if kind == Kind::Word {
                word.windows(2).for_each(|two| pairs[pair(two)].0 += 1);
            }
        }
        let mut before = 0;
        for count in &mut first {
            before += *count;
            *count = before;
        }
        pairs.sort_unstable_by(|a, b| b.cmp(a));
        let mut common = [0; 32];
        for &(_count, pair) in &pairs[..COMMON_PAIRS] {
            common[usize::from(pair / 26)] |= 1 << (pair % 26);
        }
        Self { entries, first, of_two, common }
    }
}

/// The case of each letter; 0 for all other bytes.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const CASES: [u8; 256] = {
    let mut cases = [0; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        cases[byte as usize] =
            byte.is_ascii_lowercase() as u8 * LOWER + byte.is_ascii_uppercase() as u8 * UPPER;
        byte += 1;
    }
    cases
};

/// The vocabulary's results for a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The greatest number of letters that words can cover.
    pub(super) covered: usize,
    /// The number of letters.
    pub(super) letters: usize,
    /// The number of parts, which signs, digits and changes to upper case separate.
    pub(super) parts: usize,
    /// `true` if the text contains a placeholder.
    pub(super) placeholder: bool,
    /// `true` if the text contains a short placeholder.
    pub(super) short_placeholder: bool,
    /// The number of letter pairs inside the parts, and how many of them are common in words.
    pub(super) pairs: usize,
    pub(super) common_pairs: usize,
}

impl Reading {
    /// Returns how unlikely this number of common pairs would be in random letters, in standard
    /// deviations.
    pub(super) fn wordiness(&self) -> f64 {
        if self.pairs == 0 {
            return 0.0;
        }
        let pairs = self.pairs as f64;
        let expected = pairs * COMMON_BY_CHANCE;
        (self.common_pairs as f64 - expected) / (expected * (1.0 - COMMON_BY_CHANCE)).sqrt()
    }
}

/// Returns `true` if a text contains a placeholder. Computes only [`Reading::placeholder`].
pub(super) fn has_placeholder(text: &[u8]) -> bool {
    let case = |byte: u8| CASES[usize::from(byte)];
    text.chunk_by(|&one, &next| case(one) == case(next) || case(one) > case(next) && case(next) > 0)
        .filter(|part| part.len() >= PLACEHOLDER_MIN && case(part[0]) > 0)
        .any(|part| (0..=part.len() - PLACEHOLDER_MIN).any(|at| begins_placeholder(&part[at..])))
}

/// Returns `true` if the text begins with a placeholder in lower case, in upper case, or
/// capitalised.
fn begins_placeholder(text: &[u8]) -> bool {
    // The lowest five bits number the letters. Of random letters, one pair in 31 passes.
    const BEGINNINGS: [u32; 32] = {
        let (mut beginnings, mut at) = ([0; 32], 0);
        while at < PLACEHOLDERS.len() {
            let word = PLACEHOLDERS[at].as_bytes();
            beginnings[(word[0] & 31) as usize] |= 1 << (word[1] & 31);
            at += 1;
        }
        beginnings
    };
    let is_beginning = BEGINNINGS[usize::from(text[0] & 31)] >> (text[1] & 31) & 1 == 1;
    is_beginning
        && PLACEHOLDERS.iter().any(|word| {
            // All letters must have one case, except for a first capital.
            let last = word.len() - 1;
            text.get(..=last).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
                && CASES[usize::from(text[1])] == CASES[usize::from(text[last])]
        })
}

/// Reads the first [`SECRET_BYTES_READ`] bytes of a text.
pub(super) fn read(text: &[u8]) -> Reading {
    let text = &text[..text.len().min(SECRET_BYTES_READ)];
    let vocabulary = &*VOCABULARY;
    let mut reading = Reading::default();
    let mut folded = [0; SECRET_BYTES_READ + 1];
    for (folded, byte) in folded.iter_mut().zip(text) {
        *folded = byte.to_ascii_lowercase();
    }
    let folded = &folded[..text.len()];
    // Go from the end to the beginning, and keep the best covering from each position on. Nearly
    // everything is computed without branches, because random text makes branches unpredictable.
    let mut best = [0_u8; SECRET_BYTES_READ + 1];
    let (mut next_case, mut next_letter, mut next_run) = (0, 0, 0);
    for at in (0..text.len()).rev() {
        let case = CASES[usize::from(text[at])];
        let case_before = if at == 0 { 0 } else { CASES[usize::from(text[at - 1])] };
        // The lowest five bits number the letters from 1 on.
        let letter = usize::from(text[at].wrapping_sub(1) & 31);
        let is_letter = case != 0;
        let run =
            if is_letter & (case == next_case) { next_run + 1 } else { usize::from(is_letter) };
        let is_capital = (case == UPPER) & (next_case == LOWER);
        // How far a word from here may go: in one case, or with a first capital.
        let span = if is_capital { next_run + 1 } else { run };
        let begins_part = is_letter
            & ((case_before == 0) | ((case == UPPER) & ((case_before == LOWER) | is_capital)));
        let is_pair = span >= 2;
        let is_common = vocabulary.common[letter] >> next_letter & 1 == 1;
        let is_word_of_two = vocabulary.of_two[letter] >> next_letter & 1 == 1;
        reading.letters += usize::from(is_letter);
        reading.parts += usize::from(begins_part);
        reading.pairs += usize::from(is_pair);
        reading.common_pairs += usize::from(is_pair & is_common);
        best[at] = best[at + 1];
        (next_case, next_letter, next_run) = (case, letter, run);
        if (is_pair & begins_part & is_word_of_two) && ends_part(text, at + 2) {
            best[at] = best[at].max(2 + best[at + 2]);
        }
        if span < 3 {
            continue;
        }
        let rest = &folded[at..at + span];
        let beginning = beginning(rest);
        let range =
            usize::from(vocabulary.first[beginning])..usize::from(vocabulary.first[beginning + 1]);
        for &(word, kind) in &vocabulary.entries[range] {
            if !rest.starts_with(word) {
                continue;
            }
            let stands_alone = || begins_part && ends_part(text, at + word.len());
            match kind {
                Kind::Word => {}
                Kind::Placeholder => reading.placeholder = true,
                Kind::ShortPlaceholder if stands_alone() => reading.short_placeholder = true,
                Kind::ShortWord if stands_alone() => {}
                Kind::ShortWord | Kind::ShortPlaceholder => continue,
            }
            best[at] = best[at].max(word.len() as u8 + best[at + word.len()]);
        }
    }
    reading.covered = usize::from(best[0]);
    reading
}

/// Returns `true` if a part ends right before `at`. A letter must come before `at`.
fn ends_part(text: &[u8], at: usize) -> bool {
    let case_at = |at: usize| text.get(at).map_or(0, |&byte| CASES[usize::from(byte)]);
    match case_at(at) {
        LOWER => false,
        UPPER => case_at(at - 1) == LOWER || case_at(at + 1) == LOWER,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_found_in_every_spelling() {
        for text in
            ["access_token_secret", "AccessTokenSecret", "accessTokenSecret", "ACCESS-TOKEN-SECRET"]
        {
            let reading = read(text.as_bytes());
            assert_eq!((reading.covered, reading.letters, reading.parts), (17, 17, 3), "{text}");
        }
        // The best covering wins, not the first word: "passwords" contains "pass", "password" and
        // "word".
        assert_eq!(read(b"mypasswords").covered, 8);
        // Mixed case is not a word.
        assert!(read(b"aCcEsStOkEn").covered < 4);
    }

    #[test]
    fn short_words_count_only_as_separate_words() {
        assert_eq!(read(b"get_id").covered, 5);
        assert_eq!(read(b"getID").covered, 5);
        assert_eq!(read(b"xgetx").covered, 0);
    }

    #[test]
    fn placeholders_are_found() {
        for text in ["AKIAEXAMPLE", "my-example-key", "changeme", "xDUMMYx", "INSERT_KEY"] {
            assert!(read(text.as_bytes()).placeholder, "{text}");
            assert!(has_placeholder(text.as_bytes()), "{text}");
        }
        for word in PLACEHOLDERS {
            assert!(word.len() >= PLACEHOLDER_MIN, "{word}");
        }
        for text in ["my_test_key", "keyTest", "todo"] {
            let reading = read(text.as_bytes());
            assert!(reading.short_placeholder && !reading.placeholder, "{text}");
        }
        for text in ["contest", "k3Qtest9", "exAmPle", ""] {
            let reading = read(text.as_bytes());
            assert!(!reading.placeholder, "{text}");
        }
    }

    proptest! {
        #[test]
        fn both_searches_for_placeholders_agree(
            parts in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(PLACEHOLDERS.as_slice()).prop_map(str::to_owned),
                    prop::sample::select(PLACEHOLDERS.as_slice()).prop_map(str::to_uppercase),
                    "[A-Z]{0,2}[a-z]{0,7}",
                    "[0-9_-]",
                ],
                0..5,
            ),
            changed in any::<prop::sample::Index>(),
        ) {
            let mut text = parts.concat().into_bytes();
            prop_assert_eq!(has_placeholder(&text), read(&text).placeholder);
            if !text.is_empty() {
                let at = changed.index(text.len());
                text[at] ^= 0x20;
                prop_assert_eq!(has_placeholder(&text), read(&text).placeholder);
            }
        }
    }

    #[test]
    fn the_word_list_is_well_formed() {
        for word in WORDS.split_ascii_whitespace() {
            assert!(
                word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase()),
                "{word}"
            );
        }
        let entries = &VOCABULARY.entries;
        assert!((1_000..=3_000).contains(&entries.len()), "{}", entries.len());
        for two in entries.windows(2) {
            assert!(two[0].0 < two[1].0, "{:?} twice", std::str::from_utf8(two[0].0));
        }
    }

    #[test]
    fn unknown_words_read_like_words() {
        assert!(read(b"flibbertigibbeting").wordiness() > 2.5);
        assert!(read(b"qzxkvjwqpfxgkzrtmbvq").wordiness() < 1.0);
    }
}
