//! The strict check, for values whose only sign of being a secret is their key.
//!
//! First it checks whether the value is certainly something else, then its composition (entropy,
//! words). The most certain checks come first, so that the reported reason is the strongest.

use super::composition::{Alphabet, Composition};
use super::content::{HashNamedBy, hash_by_name, is_base64_of_text, is_public_der, known_content};
use super::entropy::{least_by_chance, shannon_entropy};
use super::form::{
    hash_with_its_kind, hexadecimal_number, is_code, is_mail_address, is_uuid, known_form,
    names_an_identifier,
};
use super::password;
use super::regular::{Regularity, regularity};
use super::vocabulary::{self, Reading};
use super::{NoiseContext, NoiseVerdict, is_crossed_out, reason};

/// A text is wordy if its common letter pairs exceed the number expected by chance by this many
/// standard deviations.
const WORDY: f64 = 3.3;

/// Judges a secret, which the caller has cut to a bounded length.
pub(super) fn judge(secret: &[u8], context: &NoiseContext<'_>) -> NoiseVerdict {
    if secret.is_empty() {
        return NoiseVerdict::Drop("empty");
    }
    let shape = Composition::of(secret);
    if shape.foreign > 0 && secret.iter().any(u8::is_ascii_control) {
        return NoiseVerdict::Drop("not printable");
    }
    let is_password = password::is_named_by(context.key);
    match regularity(secret) {
        // People do choose such passwords.
        Some(regular @ (Regularity::Repeated | Regularity::Sequential)) if is_password => {
            return NoiseVerdict::Lower(reason(regular));
        }
        Some(regular) => return NoiseVerdict::Drop(reason(regular)),
        None => {}
    }
    let reading = vocabulary::read(secret);
    if let Some(reason) = known_form(secret, &shape, &reading) {
        return NoiseVerdict::Drop(reason);
    }
    if let Some(digits) = hexadecimal_number(secret) {
        match digits {
            0..=16 | 32 => return NoiseVerdict::Drop("a number"),
            40 => return NoiseVerdict::Lower("an address in hexadecimal digits"),
            _ => {}
        }
    }
    if reading.placeholder || is_crossed_out(secret) {
        return NoiseVerdict::Drop("a placeholder");
    }
    if shape.signs > 0 && is_code(secret, &reading) {
        return NoiseVerdict::Drop("code, not a value");
    }
    match known_encoding(secret, &shape, context) {
        NoiseVerdict::Keep if is_password => password::judge(secret, &shape, &reading),
        NoiseVerdict::Keep => judge_token(secret, &shape, &reading),
        verdict => verdict,
    }
}

/// Recognises hashes, identifiers, files and public keys.
fn known_encoding(secret: &[u8], shape: &Composition, context: &NoiseContext<'_>) -> NoiseVerdict {
    if let Some(reason) = hash_with_its_kind(secret) {
        return match reason {
            "a password's hash" => NoiseVerdict::Lower(reason),
            _ => NoiseVerdict::Drop(reason),
        };
    }
    if let Some(reason) = known_content(secret) {
        return NoiseVerdict::Drop(reason);
    }
    if is_public_der(secret, context) {
        return NoiseVerdict::Drop("a public key or certificate");
    }
    if is_uuid(secret) && names_an_identifier(context.key) {
        return NoiseVerdict::Drop("an identifier, by its name");
    }
    match hash_by_name(secret, shape, context) {
        Some(HashNamedBy::Key) => NoiseVerdict::Drop("a hash, by its name"),
        Some(HashNamedBy::Line) => NoiseVerdict::Lower("a hash, by its line"),
        None => NoiseVerdict::Keep,
    }
}

/// Judges a token by its composition. A program generated it, so it should look random.
fn judge_token(secret: &[u8], shape: &Composition, reading: &Reading) -> NoiseVerdict {
    if secret.iter().any(u8::is_ascii_whitespace) {
        return NoiseVerdict::Drop("text with spaces");
    }
    if is_mail_address(secret) {
        return NoiseVerdict::Drop("an e-mail address");
    }
    if shape.signs * 5 > shape.len * 2 {
        return NoiseVerdict::Drop("mostly signs");
    }
    if shape.foreign > 0 {
        return NoiseVerdict::Lower("not ASCII");
    }
    if shape.alphabet == Alphabet::Decimal {
        return NoiseVerdict::Lower("only digits");
    }
    let (entropy, least) = (shannon_entropy(secret), least_by_chance(shape));
    if entropy < least - 0.4 {
        return NoiseVerdict::Drop("too little entropy");
    }
    match judge_words(secret, shape, reading) {
        NoiseVerdict::Drop(reason) => NoiseVerdict::Drop(reason),
        _ if entropy < least => NoiseVerdict::Lower("little entropy for its length"),
        _ if is_base64_of_text(secret, shape) => NoiseVerdict::Lower("text in Base64"),
        verdict => verdict,
    }
}

/// Rejects or lowers values that are, or look like, words.
fn judge_words(secret: &[u8], shape: &Composition, reading: &Reading) -> NoiseVerdict {
    // Hexadecimal digits rarely spell words.
    if shape.alphabet == Alphabet::Hex {
        return NoiseVerdict::Keep;
    }
    let characters = shape.letters() + shape.digits;
    let is_wordy = reading.wordiness() >= WORDY && reading.letters >= 3 * reading.parts;
    if reading.covered * 2 >= characters {
        NoiseVerdict::Drop("made of words")
    } else if is_identifier(secret, reading) || is_camel_case(secret, shape, reading) {
        NoiseVerdict::Drop("an identifier")
    } else if is_wordy && shape.digits * 8 <= shape.len {
        NoiseVerdict::Drop("reads like words")
    } else if reading.covered * 3 >= characters {
        NoiseVerdict::Lower("contains words")
    } else if is_wordy {
        NoiseVerdict::Lower("reads like words")
    } else if reading.short_placeholder {
        NoiseVerdict::Lower("marked as a test value")
    } else if shape.digits == 0 && (shape.lower == 0 || shape.upper == 0) {
        NoiseVerdict::Lower("letters of one case only")
    } else {
        NoiseVerdict::Keep
    }
}

/// Recognises `snake_case`, `kebab-case`, `dotted.name`: parts with letters of one case (or with a
/// capital first), perhaps with a short number after them. A random token does not contain two such
/// parts.
fn is_identifier(secret: &[u8], reading: &Reading) -> bool {
    let mut pieces = 0;
    let mut long = 0;
    for piece in secret.split(|byte| matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'=')) {
        if piece.is_empty() {
            continue;
        }
        let letters = piece.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let digits = piece.len() - letters;
        if digits > 4 || !piece[letters..].iter().all(u8::is_ascii_digit) {
            return false;
        }
        let upper = piece[..letters].iter().filter(|byte| byte.is_ascii_uppercase()).count();
        if upper > 0 && upper < letters && upper * 4 > letters {
            return false;
        }
        pieces += 1;
        long += usize::from(letters >= 3);
    }
    pieces >= 2 && long >= 1 && (pieces >= 3 || reading.wordiness() > 1.0)
}

/// Recognises `CamelCase`, perhaps with a short number after it, whose parts are as long as words.
fn is_camel_case(secret: &[u8], shape: &Composition, reading: &Reading) -> bool {
    let trailing = secret.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    shape.signs == 0
        && trailing == shape.digits
        && trailing <= 4
        && reading.parts >= 2
        && reading.letters >= 4 * reading.parts
        && reading.wordiness() > 1.5
}
