//! Recognises ordinary text: words, names composed of words, paths, dates, versions and short
//! numbers. Everything else may be a part of a secret.
//!
//! This is the opposite of the noise filter's question. There, a doubtful value stays a secret to
//! report; here, a doubtful text is not shown.

use super::composition::SECRET_BYTES_READ;
use super::vocabulary::{self, Reading};

/// Longer numbers may be secrets.
const NUMBER_DIGITS_MAX: usize = 7;

/// The greatest number of digits in a text of words, all together and in a row.
const DIGITS_MAX: usize = 6;
const DIGITS_IN_A_ROW_MAX: usize = 4;

/// Letters that belong to no word and are no longer than this are an abbreviation.
const ABBREVIATION_MAX: usize = 4;

/// A part of unknown letters reads like a word if its common pairs of letters exceed those of
/// random letters by this many standard deviations.
const WORDY: f64 = 3.0;

/// Returns `true` if a text without white space is clearly ordinary. Random text of at least 16
/// letters and digits almost never is; a test counts it.
pub(crate) fn is_ordinary(text: &[u8]) -> bool {
    if text.len() > SECRET_BYTES_READ || has_escapes(text) {
        return false;
    }
    let letters = text.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    if is_date(text) || is_version(text) {
        return true;
    }
    if letters == 0 {
        return digits <= NUMBER_DIGITS_MAX;
    }
    let longest = text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let longest = longest.filter(|run| run[0].is_ascii_digit()).map(<[u8]>::len).max();
    if digits > DIGITS_MAX || digits > letters || longest > Some(DIGITS_IN_A_ROW_MAX) {
        return false;
    }
    let reading = vocabulary::read(text);
    if is_covered(&reading, digits) {
        return true;
    }
    digits == 0 && reads_like_words(text)
}

/// Returns `true` for a single word, or a few without signs between them, of the vocabulary.
pub(crate) fn is_known_word(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_alphabetic) && vocabulary::read(text).covered == text.len()
}

/// Returns `true` for `%41`, `\x41` and `\u0041`: text that is written so that it cannot be read.
fn has_escapes(text: &[u8]) -> bool {
    text.windows(3).any(|three| match three {
        [b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [b'\\', b'x' | b'u', digit] => digit.is_ascii_hexdigit(),
        _ => false,
    })
}

/// Returns `true` if known words cover nearly all letters.
fn is_covered(reading: &Reading, digits: usize) -> bool {
    let Reading { covered, letters, parts, .. } = *reading;
    let open = letters - covered;
    // Few short parts: random letters of both cases have many.
    parts * 3 <= letters && open <= 3.min(letters / 5) && digits * 2 <= letters
}

/// Returns `true` if each part between signs and changes of case is a word, reads like one, or is
/// an abbreviation, and the abbreviations are few.
fn reads_like_words(text: &[u8]) -> bool {
    let (mut letters, mut short) = (0, 0);
    for part in parts(text) {
        letters += part.len();
        let reading = vocabulary::read(part);
        let reads_well =
            reading.wordiness() >= WORDY && reading.common_pairs * 4 >= reading.pairs * 3;
        if reading.covered * 4 >= part.len() * 3 || reads_well {
            continue;
        }
        short += part.len();
        if part.len() > ABBREVIATION_MAX {
            return false;
        }
    }
    short * 4 <= letters
}

/// Splits a text into its parts of letters: `getHTTPCode` has three.
fn parts(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(|a, b| {
        a.is_ascii_lowercase() && b.is_ascii_lowercase()
            || a.is_ascii_uppercase() && b.is_ascii_alphabetic()
    })
    .filter(|part| part[0].is_ascii_alphabetic())
    .flat_map(|part| {
        // In `HTTPCode` the last capital belongs to the next part.
        let capitals = part.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let is_one = capitals <= 1 || capitals == part.len();
        let (first, second) = part.split_at(if is_one { 0 } else { capitals - 1 });
        [first, second].into_iter().filter(|part| !part.is_empty())
    })
}

/// Recognises `2024-01-31` and `2024-01-31T12`.
fn is_date(text: &[u8]) -> bool {
    let form = text.iter().take(10).map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte });
    form.eq(*b"0000-00-00")
        && (text.len() == 10 || text[10] == b'T' && text.len() <= 13 && is_number(&text[11..]))
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Recognises `v1.2.3` and `1.20.0-beta`: three or four numbers, and perhaps a word.
fn is_version(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"v").unwrap_or(text);
    let (numbers, name) = match memchr::memchr2(b'-', b'+', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &text[..0]),
    };
    let count = numbers.split(|&byte| byte == b'.').count();
    (3..=4).contains(&count)
        && numbers.split(|&byte| byte == b'.').all(|part| part.len() <= 3 && is_number(part))
        && name.len() <= 6
        && name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::rng::XorShift64;

    #[test]
    fn words_names_paths_and_dates_are_ordinary() {
        for text in [
            "password",
            "AWS_SECRET_ACCESS_KEY",
            "getHTTPResponseCode",
            "src/main/resources",
            "/usr/local/lib/python3",
            "./node_modules",
            "Authorization",
            "2024-01-31",
            "2024-01-31T12",
            "1.20.10-beta",
            "v10.0.14",
            "1234567",
            "api_token_17",
            "kubernetes",
            "configuration.yaml",
        ] {
            assert!(is_ordinary(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_may_be_a_part_of_a_secret_is_not() {
        for text in [
            "12345678",
            "k3Qz9fVq3rT8",
            "deadbeef12345678",
            "hunter2hunter3x9",
            "pass%77ord",
            "\\u0070\\u0061",
            "aGVsbG8gd29ybGQ",
            "xkqzjvwp",
            "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        ] {
            assert!(!is_ordinary(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn random_text_is_almost_never_ordinary() {
        let mut rng = XorShift64::new(18);
        for (alphabet, length) in [
            (&b"0123456789abcdef"[..], 16),
            (b"abcdefghijklmnopqrstuvwxyz0123456789", 16),
            (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
            (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 16),
            (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 20),
        ] {
            let mut shown = 0;
            for _ in 0..50_000 {
                let draw = |_| alphabet[rng.below_usize(alphabet.len())];
                let text: Vec<u8> = (0..length).map(draw).collect();
                shown += usize::from(is_ordinary(&text));
            }
            assert!(shown <= 2, "{shown} of {}", String::from_utf8_lossy(alphabet));
        }
    }
}
