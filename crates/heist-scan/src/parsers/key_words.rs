//! Decides whether a key names a secret, by its words in snake, kebab, camel or dotted case.
//!
//! The last words of a key determine its meaning: a `token` is a secret, a `token_type` is not. So
//! some words count against a secret only at the end of a key, and a few anywhere (`public`,
//! `cache`, `checksum`).
//!
//! Nothing is allocated: at most [`WORDS_MAX`] words are compared in place, ignoring case.

use super::words::{is_one_of, split};
use std::ops::Range;

/// How many words of a key count, from its end.
const WORDS_MAX: usize = 12;

/// How clearly a key names a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// It ends with `key` after an unspecific word: mostly a lookup key.
    Faint,
    /// It could mean something else: `auth`, or `token` in a compiler.
    Weak,
    /// It names a secret.
    Strong,
}

/// Words that name a secret by themselves.
const STRONG: [&str; 30] = split(
    "secret secrets apikey apitoken apisecret authtoken authkey accesstoken accesskey secretkey secrettoken \
     clientsecret privatekey signingkey signingsecret encryptionkey refreshtoken bearertoken appsecret \
     consumersecret accountkey masterkey webhooksecret credential credentials authorization sharedsecret \
     sessiontoken passwd password",
);

/// Words that may name a secret.
const WEAK: [&str; 7] = ["token", "tokens", "auth", "bearer", "pat", "jwt", "creds"];

/// Words that make a following `key`, `token` or `secret` certain.
const QUALIFIERS: [&str; 38] = split(
    "api access private signing secret encryption auth master shared account service hmac aes storage \
     subscription client webhook session app application deploy admin bearer refresh oauth bot personal user root \
     jwt crypto authentication consumer license write integration server registry",
);

/// Words that rule out a secret anywhere in a key.
const NEVER: [&str; 47] = split(
    "public pub publishable cache cached primary foreign sort partition keyword keywords tokenizer tokenize \
     author authors checksum checksums digest integrity commit etag sha sha1 sha256 sha384 sha512 md5 hash hashes \
     hashed fingerprint thumbprint page cursor continuation csrf xsrf forgery authenticity site sitekey \
     idempotency correlation locale i18n translation keyboard",
);

/// Last words of keys that describe a secret rather than hold one.
const NOT_LAST: [&str; 132] = split(
    "id ids identifier uuid guid name names type types field fields path paths file filename files dir folder url \
     urls uri uris endpoint endpoints host domain header headers prefix suffix length len size count counts index \
     idx expiry expires expiration expired ttl timeout lifetime duration age algorithm alg algo version format \
     regex regexp pattern class kind label labels placeholder hint description desc title message messages msg \
     error errors status state policy arn ref provider scope scopes issuer audience param parameter params \
     attribute property column table env var variable method manager service handler helper factory builder \
     parser stream list limit offset position pos start end line symbol symbols signature image icon template \
     example usage date time at by address contract balance amount price supply enabled required mode info rs js \
     py go ts",
);

/// Words that do not change a name's meaning: `setToken`, `TOKEN_VALUE`, `token1`.
const FRAMES: [&str; 12] =
    split("value string str data default prod production staging dev live new old");

/// Up to [`WORDS_MAX`] words of a key, starting from its end.
struct Words<'a> {
    key: &'a [u8],
    ranges: [(u8, u8); WORDS_MAX],
    count: usize,
}

impl<'a> Words<'a> {
    fn of(key: &'a [u8]) -> Self {
        let mut words = Self { key, ranges: [(0, 0); WORDS_MAX], count: 0 };
        // A key has at most 128 bytes.
        let mut end = key.len().min(usize::from(u8::MAX));
        while end > 0 && words.count < WORDS_MAX {
            if !key[end - 1].is_ascii_alphanumeric() {
                end -= 1;
                continue;
            }
            let begin = begin_of_word(key, end);
            words.ranges[words.count] = (begin as u8, end as u8);
            words.count += 1;
            end = begin;
        }
        words
    }

    /// Returns the word with this index, counted from the end.
    fn last_but(&self, index: usize) -> Option<&'a [u8]> {
        let (begin, end) = *self.ranges[..self.count].get(index)?;
        let range: Range<usize> = begin.into()..end.into();
        Some(&self.key[range])
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        (0..self.count).filter_map(|index| self.last_but(index))
    }
}

/// Returns where the word that ends at `end` begins: after a separator, or at a change of case
/// (`apiKey`, `APIKey`).
fn begin_of_word(key: &[u8], end: usize) -> usize {
    let mut begin = end - 1;
    while begin > 0 {
        let (before, here) = (key[begin - 1], key[begin]);
        if !before.is_ascii_alphanumeric() {
            break;
        }
        let rises = here.is_ascii_uppercase() && !before.is_ascii_uppercase();
        let last_of_capitals = here.is_ascii_uppercase()
            && before.is_ascii_uppercase()
            && key[begin + 1..end].first().is_some_and(u8::is_ascii_lowercase);
        if rises || last_of_capitals {
            break;
        }
        begin -= 1;
    }
    begin
}

fn ends_with(word: &[u8], ending: &str) -> bool {
    word.len() >= ending.len()
        && word[word.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
}

/// Returns `true` if the key contains the letters of a secret's name. Most keys fail this quick
/// check, which saves splitting them into words.
fn could_name(key: &[u8]) -> bool {
    // Search for letter pairs of token, secret, key, auth, cred, bearer, pat, jwt, passw: single
    // letters are too common.
    key.windows(3).any(|part| {
        let part = [part[0] | 0x20, part[1] | 0x20, part[2] | 0x20];
        matches!(
            &part,
            b"tok" | b"sec" | b"key" | b"aut" | b"cre" | b"bea" | b"pat" | b"jwt" | b"pas"
        )
    })
}

/// Returns `true` if words of the key rule out a secret of any kind.
pub(super) fn is_about_something_else(key: &[u8]) -> bool {
    // Lists of checksums have paths as keys, and translations have sentences.
    if key.iter().any(|byte| matches!(byte, b'/' | b' ')) {
        return true;
    }
    // A name ends with its last word; a pattern or a template does not.
    if !key.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return true;
    }
    let words = Words::of(key);
    words.last_but(0).is_none_or(|last| is_one_of(trim_digits(last), &NOT_LAST))
        || words.iter().any(|word| is_one_of(word, &NEVER))
}

fn trim_digits(word: &[u8]) -> &[u8] {
    let length =
        word.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(word.len(), |last| last + 1);
    &word[..length]
}

/// Returns how clearly the key names a secret, or `None` if it does not.
pub(super) fn names_secret(key: &[u8]) -> Option<Strength> {
    if !could_name(key) || is_about_something_else(key) {
        return None;
    }
    let words = Words::of(key);
    // The path before the last dot is only a location, except in names such as `api.key`.
    let mut index = 0;
    while words.last_but(index).is_some_and(|word| {
        is_one_of(trim_digits(word), &FRAMES) || word.iter().all(u8::is_ascii_digit)
    }) {
        index += 1;
    }
    let last = trim_digits(words.last_but(index)?);
    let before = words.last_but(index + 1);
    if is_one_of(last, &STRONG) {
        return Some(Strength::Strong);
    }
    if is_one_of(last, &["key", "keys", "token", "secret", "cred", "creds"]) {
        let qualified = before.is_some_and(|word| is_one_of(word, &QUALIFIERS));
        if qualified {
            return Some(Strength::Strong);
        }
    }
    if is_one_of(last, &WEAK) {
        // `GITHUB_TOKEN`: with a word before it, it is a name rather than a keyword of a grammar.
        let shouted = last.iter().all(u8::is_ascii_uppercase) && before.is_some();
        return Some(if shouted { Strength::Strong } else { Strength::Weak });
    }
    for ending in ["secret", "apikey", "authtoken", "accesstoken", "secretkey", "accesskey"] {
        if ends_with(last, ending) {
            return Some(Strength::Strong);
        }
    }
    if ends_with(last, "token") {
        return Some(Strength::Weak);
    }
    // `SECRET_KEY_BASE`, `secretForSigning`: an earlier word names the secret, and no later one
    // rules it out.
    if (1..=2).any(|back| {
        words.last_but(index + back).is_some_and(|word| is_one_of(word, &["secret", "apikey"]))
    }) {
        return Some(Strength::Weak);
    }
    is_one_of(last, &["key"]).then_some(Strength::Faint)
}

/// Words that turn a following `password` into a sentence or an action.
const NOT_BEFORE_PASSWORD: [&str; 30] = split(
    "forgot forgotten reset change changed show hide invalid wrong incorrect enter missing require required \
     validate check verify is has generate weak no bad lost update encode encrypt ask prompt by",
);

/// Returns `true` if the key names a password.
pub(super) fn names_password(key: &[u8]) -> bool {
    if is_about_something_else(key) {
        return false;
    }
    let words = Words::of(key);
    let mut index = 0;
    while words.last_but(index).is_some_and(|word| {
        is_one_of(trim_digits(word), &FRAMES) || word.iter().all(u8::is_ascii_digit)
    }) {
        index += 1;
    }
    let Some(last) = words.last_but(index).map(trim_digits) else { return false };
    let names = ["password", "passwd", "passphrase", "passwort", "pwd"]
        .iter()
        .any(|ending| ends_with(last, ending))
        || is_one_of(last, &["pass", "dbpass", "userpass", "adminpass", "smtppass"]);
    names && words.last_but(index + 1).is_none_or(|word| !is_one_of(word, &NOT_BEFORE_PASSWORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Option<Strength>, keys: &[&str]) {
        for key in keys {
            assert_eq!(names_secret(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn keys_that_name_secrets() {
        check(
            Some(Strength::Strong),
            &[
                "secret",
                "api_key",
                "apiKey",
                "APIKey",
                "API-KEY",
                "api.key",
                "apikey",
                "APIKEY",
                "client_secret",
                "clientSecret",
                "ClientSecret",
                "aws_secret_access_key",
                "AWS_SECRET_ACCESS_KEY",
                "signing-key",
                "GITHUB_TOKEN",
                "x.setApiKey",
                "private_key",
                "auth_token",
                "_authToken",
                "access_token",
                "github.accessToken",
                "my_app_secret",
                "credential",
                "Authorization",
                "x-api-key",
                "api_key_2",
                "apiKey2",
                "SECRET_VALUE",
                "stripe_secret_key",
                "mysecret",
                "myapikey",
                "SecretKey",
            ],
        );
        check(
            Some(Strength::Weak),
            &[
                "token",
                "auth",
                "botoken",
                "mytoken",
                "setToken",
                "SECRET_KEY_BASE",
                "jwt",
                "token_string",
            ],
        );
    }

    #[test]
    fn vague_keys_name_secrets_faintly() {
        check(Some(Strength::Faint), &["key", "HEX_KEY", "dict_key", "someKey"]);
    }

    #[test]
    fn keys_that_name_passwords() {
        for key in [
            "password",
            "DB_PASS",
            "db.password",
            "userPassword",
            "PGPASSWORD",
            "pwd",
            "password2",
            "x.setPassword",
        ] {
            assert!(names_password(key.as_bytes()), "{key}");
        }
        for key in [
            "password_field",
            "forgotPassword",
            "passwordHash",
            "compass",
            "bypass",
            "passwords/a",
            "passwordless",
        ] {
            assert!(!names_password(key.as_bytes()), "{key}");
        }
    }

    #[test]
    fn keys_that_do_not_name_secrets() {
        check(
            None,
            &[
                "keyword",
                "tokenizer",
                "author",
                "public_key",
                "publicKey",
                "key_id",
                "apiKeyId",
                "token_type",
                "tokenType",
                "cache_key",
                "primary_key",
                "secret_name",
                "secretName",
                "password_field",
                "checksum",
                "sha256",
                "token_sha256",
                "digest",
                "integrity",
                "commit",
                "etag",
                "name",
                "colour",
                "",
                "src/token.rs",
                "token.rs",
                "secret.js",
                "next_page_token",
                "csrf_token",
                "token_url",
                "tokenEndpoint",
                "auth_provider",
                "token_address",
                "secret key",
                "monkey",
                "hotkey",
                "a",
                "_",
                "1",
            ],
        );
    }
}
