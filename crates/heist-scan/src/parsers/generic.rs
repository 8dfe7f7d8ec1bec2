//! Generic secrets: the value of an assignment whose key names a secret, if it looks random.
//!
//! What it is about is what is *not* found: source trees are full of identifiers, checksums, paths and tables with
//! keys that sound like secrets. A value has to be one token of 16 to 512 characters, with a mixture of classes and
//! with enough entropy for its length; without quotes it also has to stand where configuration files have values.
//!
//! Not guaranteed: that no words are in it. Those are left to the noise filter.

use super::assignment::{Assignment, from_value_within};
use super::key_words::{Strength, names_secret};
use super::shape::{self, ValueShape};
use super::{Hit, Window};
use crate::confidence::Confidence;
use crate::noise::shannon_entropy;

const LENGTH_MIN: usize = 16;
const LENGTH_MAX: usize = 512;

/// A run that has a digit in it begins this near the beginning of nearly every random value. Further runs find the
/// same, so going further back for them would only cost: long base64 text is full of runs.
const RUN_WITHIN: usize = 96;

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let Some(found) = from_value_within(window, RUN_WITHIN) else { return };
    let text = window.text;
    if !(LENGTH_MIN..=LENGTH_MAX).contains(&found.value.len()) {
        return;
    }
    let Some(strength) = names_secret(&text[found.key.clone()]) else { return };
    // A function about keys is called with all kinds of things.
    if strength == Strength::Faint && text.get(found.key.end) == Some(&b'(') {
        return;
    }
    if !is_in_place(window, &found) {
        return;
    }
    let value = &text[found.value.clone()];
    if !is_random(value, strength, found.quoted) {
        return;
    }
    let whole = found.key.start.min(found.value.start)..found.value.end;
    let reason = match strength {
        Strength::Strong => "the key names a secret, and the value is random",
        Strength::Weak | Strength::Faint => "the key may name a secret, and the value is random",
    };
    hits.push(Hit {
        whole,
        secret: found.value,
        key: found.key,
        confidence: Confidence::Medium,
        reason: reason.into(),
    });
}

/// Without quotes, what follows must be what follows a value in configuration, and not in code.
fn is_in_place(window: &Window<'_>, found: &Assignment) -> bool {
    found.quoted
        || match window.text.get(found.value.end) {
            None
            | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' | b'&' | b'\\' | b' ' | b'\t') => {
                true
            }
            // `{key: value, ...}` in YAML; code has its separators at the same place, but no digits in every name.
            Some(b',' | b'}' | b']') => {
                let shape = ValueShape::of(&window.text[found.value.clone()]);
                shape.digits * 6 >= shape.length
            }
            Some(_) => false,
        }
}

/// Whether a token is random enough to be a secret.
fn is_random(value: &[u8], strength: Strength, quoted: bool) -> bool {
    let in_alphabet = |&byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=' | b':' | b'!' | b'@')
    };
    if !value.iter().all(in_alphabet)
        || !(value[0].is_ascii_alphanumeric() || matches!(value[0], b'/' | b'+'))
    {
        return false;
    }
    let shape = ValueShape::of(value);
    // Numbers, dates and versions have hardly a letter; words have hardly a digit.
    if shape.digits == 0 || shape.letters() * 8 < shape.length || shape.others * 4 > shape.length {
        return false;
    }
    if shape.is_wordy()
        || shape::is_path(value)
        || shape::is_known_data(value)
        || shape::is_masked(value)
    {
        return false;
    }
    if strength == Strength::Faint
        && (!quoted
            || shape.length < 24
            || shape.lower == 0
            || shape.upper == 0
            || shape.digits < 2)
    {
        return false;
    }
    if shape::is_uuid(value) {
        return strength == Strength::Strong;
    }
    // Tokens that are parsed elsewhere.
    if value.starts_with(b"eyJ") && value.contains(&b'.') {
        return false;
    }
    if shape.is_hex() {
        // A weak key with a hash's length is a hash, mostly.
        let is_hash = matches!(shape.length, 32 | 40 | 56 | 64 | 96 | 128);
        if strength != Strength::Strong && (is_hash || shape.length < 24) || shape.letters() < 3 {
            return false;
        }
        return shannon_entropy(value) >= 3.0;
    }
    if value.starts_with(b"0x") {
        return false;
    }
    if !quoted && is_member(value) {
        return false;
    }
    let least = match (shape.length, strength) {
        (..20, Strength::Strong) => 3.0,
        (..20, _) => 3.3,
        (..32, Strength::Strong) => 3.3,
        (_, Strength::Faint) => 4.0,
        _ => 3.5,
    };
    shannon_entropy(value) >= least
}

/// The path to a member in code: names all over, or at least at its end.
fn is_member(value: &[u8]) -> bool {
    let separates = |byte: &u8| matches!(byte, b'.' | b':');
    let Some(last) = value.iter().rposition(separates) else { return false };
    let last = ValueShape::of(&value[last + 1..]);
    value.split(separates).all(is_identifier)
        || last.length >= 8 && last.in_words * 2 >= last.length
}

/// A name in code: letters first, and not many digits.
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

    /// Every `{b62:n}`, `{hex:n}`, `{b64:n}`, `{uuid}` in it is replaced, and all that is found is given.
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
    fn what_source_trees_are_full_of() {
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

    /// How many of a thousand random secrets are found. What is lost has no run with a digit in it,
    /// or looks like words by chance.
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
    fn it_is_asked_at_runs() {
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
