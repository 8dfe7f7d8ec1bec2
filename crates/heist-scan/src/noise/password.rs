//! The check for passwords. People make them from words, years and signs, so it is less strict than
//! the check for tokens.

use super::NoiseVerdict;
use super::composition::{Composition, begins_no_case, contains_any};
use super::entropy::{least_by_chance, shannon_entropy};
use super::form::is_mail_address;
use super::vocabulary::Reading;

/// Placeholder words for a password.
const PLACEHOLDER_WORDS: [&str; 30] = [
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "text",
    "required",
    "optional",
    "empty",
    "default",
    "username",
    "user",
    "value",
    "hidden",
    "unset",
    "input",
    "prompt",
    "boolean",
    "object",
    "unknown",
    "disabled",
];

/// Returns `true` if a key names a password.
pub(super) fn is_named_by(key: &[u8]) -> bool {
    contains_any(key, &["passw", "passphrase", "pwd", "passcode"])
        || key.len() >= 4 && begins_no_case(&key[key.len() - 4..], "pass")
}

/// Judges a password that a person may have chosen.
pub(super) fn judge(secret: &[u8], shape: &Composition, reading: &Reading) -> NoiseVerdict {
    let is_word = |word: &&str| secret.eq_ignore_ascii_case(word.as_bytes());
    let spaces = secret.iter().filter(|&&byte| byte == b' ').count();
    let all_words = reading.letters > 0 && reading.covered * 5 >= reading.letters * 4;
    let mostly_words = reading.letters > 0 && reading.covered * 2 >= reading.letters;
    let has_only_names_signs = secret
        .iter()
        .all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    if shape.len < 4 {
        NoiseVerdict::Drop("too short for a password")
    } else if PLACEHOLDER_WORDS.iter().any(is_word) {
        NoiseVerdict::Drop("a placeholder for a password")
    } else if spaces >= 2 && mostly_words || spaces >= 1 && all_words {
        NoiseVerdict::Drop("text with spaces")
    } else if all_words && reading.parts >= 2 && shape.digits == 0 && has_only_names_signs {
        NoiseVerdict::Drop("an identifier")
    } else if is_mail_address(secret) {
        NoiseVerdict::Lower("an e-mail address")
    } else if reading.short_placeholder || contains_any(secret, &["password", "passwd", "secret"]) {
        NoiseVerdict::Lower("a placeholder for a password")
    } else if all_words && shape.digits + shape.signs == 0 {
        NoiseVerdict::Lower("a word")
    } else if shape.digits == shape.len {
        NoiseVerdict::Lower("only digits")
    } else if shannon_entropy(secret) < least_by_chance(shape) * 0.75 {
        NoiseVerdict::Lower("too little entropy")
    } else {
        NoiseVerdict::Keep
    }
}
