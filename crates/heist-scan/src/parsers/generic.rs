//! Generic secrets: the value of an assignment whose key names a secret, if it looks random.
//!
//! The difficulty is avoiding false findings: source trees are full of identifiers, checksums,
//! paths and tables whose keys sound like secrets. A value must be one token of 16 to 512
//! characters, with a mixture of classes and with enough entropy for its length. Without quotes, it
//! must also be where configuration files have values.
//!
//! Not guaranteed: that the value is free of words. The noise filter checks that.

use super::assignment::Assignment;
use super::key_words::{Strength, names_secret};
use super::shape::{self, ValueShape};
use super::value_finder::{AssignmentText, ValueFinder};
use super::{Hit, Window};
use crate::confidence::Confidence;
use crate::noise::{NoiseCheck, shannon_entropy};

const LENGTH_MIN: usize = 16;
const LENGTH_MAX: usize = 512;

/// Examines the value around the window's position. Nearly every random value has a run with a
/// digit near its beginning; later runs would find the same value again, at a high cost: long
/// base64 text is full of runs. So the finder considers only values that begin shortly before the
/// run.
pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let &Window { text: bytes, at, begins_object, ends_object } = window;
    let text = AssignmentText { bytes, begins_object, ends_object, offset: 0 };
    if let Some(found) = ValueFinder::default().find(&text, at) {
        examine_assignment(window, found, hits);
    }
}

/// Examines an assignment, whose positions are those of the window.
pub(crate) fn examine_assignment(window: &Window<'_>, found: Assignment, hits: &mut Vec<Hit>) {
    let text = window.text;
    if !(LENGTH_MIN..=LENGTH_MAX).contains(&found.value.len()) {
        return;
    }
    let Some(strength) = names_secret(&text[found.key.clone()]) else { return };
    // Functions about keys take all kinds of arguments.
    if strength == Strength::Faint && text.get(found.key.end) == Some(&b'(') {
        return;
    }
    let value = &text[found.value.clone()];
    let form = if !is_in_place(window, &found) {
        Err("without quotes, and followed by what follows names in code")
    } else {
        check_random(value, strength, found.quoted).map(|()| {
            let reason = match strength {
                Strength::Strong => "the key names a secret, and the value is random",
                Strength::Weak | Strength::Faint => {
                    "the key may name a secret, and the value is random"
                }
            };
            (Confidence::Medium, reason)
        })
    };
    hits.push(Hit {
        whole: found.key.start.min(found.value.start)..found.value.end,
        secret: found.value,
        key: found.key,
        form: form.into(),
        noise: NoiseCheck::Strict,
    });
}

/// Returns `true` if the value is quoted, or if the text after it looks like configuration rather
/// than code.
fn is_in_place(window: &Window<'_>, found: &Assignment) -> bool {
    found.quoted
        || match window.text.get(found.value.end) {
            None
            | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' | b'&' | b'\\' | b' ' | b'\t') => {
                true
            }
            // `{key: value, ...}` in YAML. Code has separators in the same place, but rarely a
            // digit in every name.
            Some(b',' | b'}' | b']') => {
                let shape = ValueShape::of(&window.text[found.value.clone()]);
                shape.digits * 6 >= shape.length
            }
            Some(_) => false,
        }
}

/// Checks that a token is random enough to be a secret.
fn check_random(value: &[u8], strength: Strength, quoted: bool) -> Result<(), &'static str> {
    let in_alphabet = |&byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=' | b':' | b'!' | b'@')
    };
    if !value.iter().all(in_alphabet)
        || !(value[0].is_ascii_alphanumeric() || matches!(value[0], b'/' | b'+'))
    {
        return Err("it contains characters that tokens do not");
    }
    let shape = ValueShape::of(value);
    // Numbers, dates and versions have few letters; words have few digits.
    if shape.digits == 0 || shape.letters() * 8 < shape.length || shape.others * 4 > shape.length {
        return Err("it has no digits, too few letters, or too many signs");
    }
    if shape.is_wordy() {
        return Err("it is made of words");
    }
    if shape::is_path(value) {
        return Err("it is a path or a URL");
    }
    if shape::is_known_data(value) {
        return Err("it is data of a known kind: an image, a certificate, a hash");
    }
    if shape.is_masked() {
        return Err("it is masked");
    }
    if strength == Strength::Faint
        && (!quoted
            || shape.length < 24
            || shape.lower == 0
            || shape.upper == 0
            || shape.digits < 2)
    {
        return Err("its key is too vague for such a value");
    }
    if shape::is_uuid(value) {
        return match strength {
            Strength::Strong => Ok(()),
            Strength::Weak | Strength::Faint => Err("it is a UUID, and its key is vague"),
        };
    }
    if value.starts_with(b"eyJ") && value.contains(&b'.') {
        return Err("the parser of JSON Web Tokens handles it");
    }
    if shape.is_hex() {
        // With a weak key, a value of a hash's length is mostly a hash.
        let is_hash = matches!(shape.length, 32 | 40 | 56 | 64 | 96 | 128);
        if strength != Strength::Strong && (is_hash || shape.length < 24) || shape.letters() < 3 {
            return Err("it is a number or a hash");
        }
        return match shannon_entropy(value) >= 3.0 {
            true => Ok(()),
            false => Err("it has too little entropy"),
        };
    }
    if value.starts_with(b"0x") {
        return Err("it is a number or a hash");
    }
    if !quoted && is_member(value) {
        return Err("it is the path to a member, in code");
    }
    let least = match (shape.length, strength) {
        (..20, Strength::Strong) => 3.0,
        (..20, _) => 3.3,
        (..32, Strength::Strong) => 3.3,
        (_, Strength::Faint) => 4.0,
        _ => 3.5,
    };
    match shannon_entropy(value) >= least {
        true => Ok(()),
        false => Err("it has too little entropy"),
    }
}

/// Returns `true` for the path to a member in code: names with dots between them, or at least a
/// name at the end.
fn is_member(value: &[u8]) -> bool {
    let separates = |byte: &u8| matches!(byte, b'.' | b':');
    let Some(last) = value.iter().rposition(separates) else { return false };
    let last = ValueShape::of(&value[last + 1..]);
    value.split(separates).all(is_identifier)
        || last.length >= 8 && last.in_words() * 2 >= last.length
}

/// Returns `true` for an identifier in code: letters first, and few digits.
fn is_identifier(part: &[u8]) -> bool {
    let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
    part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && digits * 4 <= part.len()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_bounds, found_by, random_text};
    use super::super::{ParserKind, Trigger};
    use proptest::prelude::*;

    /// Replaces every `{b62:n}`, `{hex:n}`, `{b64:n}` and `{uuid}` in the template, and checks
    /// whether the secret is found.
    #[track_caller]
    fn check(template: &str, expected: bool) {
        let (text, secret) = random_text(template);
        let found = found_by(ParserKind::GenericSecret, text.as_bytes());
        let secrets: Vec<&str> = found.iter().map(|hit| &text[hit.secret.clone()]).collect();
        if expected {
            assert!(secrets.contains(&secret.as_str()), "{text} has {secrets:?}");
        } else {
            assert!(secrets.is_empty(), "{text} has {secrets:?}");
        }
    }

    #[test]
    fn values_of_secret_keys() {
        for template in [
            "api_key = \"{b62:32}\"",
            "apiKey: '{b62:24}',",
            "API_TOKEN={hex:40}\n",
            "export CLIENT_SECRET={b62:40}",
            "{\"client_secret\": \"{b64:40}\"}",
            "secret: {b62:32}\n",
            "<apiKey>{b62:32}</apiKey>",
            "curl -H \"Authorization: Bearer {b62:40}\" x",
            "client.setApiKey(\"{b62:32}\");",
            "const SECRET_KEY: &str = \"{b62:50}\";",
            "--api-key {b62:32}",
            "os.environ[\"SECRET_KEY\"] = \"{b62:32}\"",
            "token = \"{b62:36}\"",
            "\"key\": \"{b62:40}\"",
            "api_key = \"{uuid}\"",
            "//registry.npmjs.org/:_authToken={uuid}",
            "x = '{\\\"api_key\\\": \\\"{b62:32}\\\"}'",
            "https://host/path?api_key={hex:32}&x=1",
            "- name: API_KEY\n  value: {b62:32}\n",
        ] {
            for _ in 0..8 {
                check(template, true);
            }
        }
    }

    #[test]
    fn common_values_of_source_trees_are_not_secrets() {
        for template in [
            "checksum = \"{hex:64}\"",
            "\"integrity\": \"sha512-{b64:86}==\"",
            "\"src/token.rs\":\"{hex:64}\"",
            "name = \"{b62:32}\"",
            "public_key = \"{b64:64}\"",
            "token = \"{hex:40}\"",
            "token = \"{uuid}\"",
            "token_sha256 = \"{hex:64}\"",
            "commit: {hex:40}",
            "api_key = process.env.API_KEY_NUMBER_12345",
            "api_key = \"${API_KEY_FOR_PRODUCTION_1}\"",
            "secret = config.get(\"my_secret_value_001\")",
            "let token = parse_some_token_from12345(input);",
            "token = NextTokenFromStream12;",
            "secret_key = \"/etc/ssl/private/server0123456789.key\"",
            "auth = \"https://auth.example.com/oauth2/v123456789012\"",
            "token: \"2024-01-01T00:00:00.000000Z\"",
            "secret: \"xxxxxxxxxxxxxxxxxxxx1234567890\"",
            "token = 0x{hex:40}",
            "api_key = \"iVBORw0KGgo{b64:64}\"",
            "the token {b62:32} is here",
            "{b62:32}",
            "key = \"{hex:32}\"",
            "accept_key(b\"{b62:32}\")",
            "private_key: ed25519.Ed25519PrivateKey",
            "key: \"MFkwEwYHKoZIzj0{b64:64}\"",
            "key: {b62:32}\n",
            "key = \"{b62:18}\"",
            "\"next_page_token\": \"{b62:32}\"",
            "csrf_token = \"{b62:32}\"",
            "secretName: my-service-credentials-v1beta2x",
        ] {
            for _ in 0..8 {
                check(template, false);
            }
        }
    }

    /// Checks how many of a thousand random secrets are found. The others have no run with a digit,
    /// or look like words by chance.
    #[track_caller]
    fn check_share(template: &str, least: usize) {
        let found = (0..1000)
            .filter(|_| {
                let (text, secret) = random_text(template);
                let found = found_by(ParserKind::GenericSecret, text.as_bytes());
                found.iter().any(|hit| text[hit.secret.clone()] == secret)
            })
            .count();
        assert!(found >= least, "{template}: {found} of 1000");
    }

    #[test]
    fn nearly_all_random_secrets_are_found() {
        check_share("api_key = \"{b62:20}\"", 950);
        check_share("api_key = \"{b62:32}\"", 990);
        check_share("api_key={b62:40}\n", 995);
        check_share("api_key: \"{b64:40}\"", 950);
        check_share("api_key: {b36:32}\n", 980);
        check_share("secret={hex:32}", 1000);
        check_share("secret={hex:64}", 1000);
        check_share("token = '{b62:40}'", 995);
        check_share("key = '{b62:40}'", 950);
    }

    #[test]
    fn the_parser_runs_at_runs_of_letters_and_digits() {
        assert_eq!(ParserKind::GenericSecret.triggers(), [Trigger::Run]);
    }

    proptest! {
        #[test]
        fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..300)) {
            check_bounds(ParserKind::GenericSecret, &text);
        }

        #[test]
        fn any_line(text in "(api_key|token|secret)( ?[=:] ?)[\"']?[ -~]{0,80}") {
            check_bounds(ParserKind::GenericSecret, text.as_bytes());
        }
    }
}
