//! Recognises values that are not secrets by their form: references and templates, URLs, file
//! names, versions, dates, colours, types.

use super::composition::{Composition, begins_no_case, contains_any};
use super::vocabulary::Reading;

/// Returns the known form of a text that is not a secret.
pub(super) fn known_form(
    text: &[u8],
    shape: &Composition,
    reading: &Reading,
) -> Option<&'static str> {
    if shape.signs == 0 {
        return None;
    }
    if is_template(text) {
        Some("a reference or template, filled in elsewhere")
    } else if is_url(text) {
        Some("a URL")
    } else if is_version(text) {
        Some("a version or an address")
    } else if is_date(text) {
        Some("a date or time")
    } else if is_colour(text) {
        Some("a colour")
    } else if is_media_type(text) {
        Some("a media type")
    } else if is_locale(text) {
        Some("a locale")
    } else if is_file(text, reading) {
        Some("a file name")
    } else {
        None
    }
}

/// Recognises `${NAME}`, `{{ name }}`, `<name>`, `%s`, `$(command)`, `$NAME`, `#{name}`, `%NAME%`,
/// `[name]`, and stars.
pub(super) fn is_template(text: &[u8]) -> bool {
    let [first, .., last] = text else { return false };
    let is_bracketed =
        matches!((first, last), (b'<', b'>') | (b'[', b']') | (b'{', b'}') | (b'%', b'%'));
    let is_variable = *first == b'$'
        && text[1..]
            .iter()
            .all(|&byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_bracketed
        || is_variable
        || text.iter().enumerate().any(|(at, byte)| is_mark(*byte) && begins_template(&text[at..]))
}

/// Returns `true` if a template marker may begin with this byte.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'$' | b'{' | b'#' | b'<' | b'%' | b'*' | b'.' | 0xE2)
}

/// Returns `true` if the text begins with a template marker, or with a mask such as stars.
fn begins_template(text: &[u8]) -> bool {
    match text[0] {
        b'$' => matches!(text, [_, b'{' | b'(', ..]),
        b'{' => matches!(text, [_, b'{' | b'}', ..] | [_, b'0', b'}', ..]),
        b'#' => matches!(text, [_, b'{', ..]),
        b'<' => matches!(text, [_, b'%' | b'<', ..]),
        b'%' => matches!(text, [_, b'{' | b's' | b'd' | b'v', ..]),
        b'*' => text.starts_with(b"****"),
        b'.' => text.starts_with(b"...."),
        0xE2 => text.starts_with("\u{2026}".as_bytes()),
        _ => false,
    }
}

fn is_url(text: &[u8]) -> bool {
    memchr::memchr(b':', text).is_some_and(|at| text[at..].starts_with(b"://"))
        || ["www.", "mailto:", "data:", "urn:", "arn:aws:", "file:"]
            .iter()
            .any(|prefix| begins_no_case(text, prefix))
}

/// Recognises `1.2.3`, `v0.14.0-rc1`, `10.0.0.1:80`: numbers of up to five digits, separated by
/// dots.
fn is_version(text: &[u8]) -> bool {
    let mut rest = text.strip_prefix(b"v").or_else(|| text.strip_prefix(b"V")).unwrap_or(text);
    rest = rest.strip_prefix(b"^").or_else(|| rest.strip_prefix(b"~")).unwrap_or(rest);
    let mut numbers = 0;
    loop {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > 5 {
            return false;
        }
        numbers += 1;
        rest = &rest[digits..];
        match rest.first() {
            None => return numbers >= 2,
            Some(b'.') if rest.get(1).is_some_and(u8::is_ascii_digit) => rest = &rest[1..],
            Some(b'.' | b'-' | b'+' | b':' | b'/') => return numbers >= 3,
            Some(_) => return false,
        }
    }
}

/// Recognises `2024-01-31`, `2024/01/31 12:00`, `20240131T120000Z`, `31.01.2024`, `12:00:00`: only
/// digits and separators, in such groups.
fn is_date(text: &[u8]) -> bool {
    let is_part = |byte: &u8| {
        byte.is_ascii_digit()
            || matches!(byte, b'-' | b'/' | b':' | b'.' | b'+' | b' ' | b'T' | b'Z' | b',')
    };
    if text.len() > 40 || !text.iter().all(is_part) {
        return false;
    }
    let mut groups =
        text.split(|byte| !byte.is_ascii_digit()).map(<[u8]>::len).filter(|&len| len > 0);
    match (groups.next(), groups.next(), groups.next()) {
        (Some(4), Some(1..=2), _) | (Some(1..=2), Some(1..=2), Some(4 | 2)) => true,
        (Some(8), Some(4 | 6 | 8 | 9), _) => text.contains(&b'T'),
        _ => false,
    }
}

fn is_colour(text: &[u8]) -> bool {
    let is_hash =
        |rest: &[u8]| matches!(rest.len(), 3 | 4 | 6 | 8) && rest.iter().all(u8::is_ascii_hexdigit);
    text.strip_prefix(b"#").is_some_and(is_hash)
        || ["rgb(", "rgba(", "hsl(", "hsla("].iter().any(|prefix| begins_no_case(text, prefix))
}

fn is_media_type(text: &[u8]) -> bool {
    ["application/", "text/", "image/", "audio/", "video/", "font/", "multipart/", "message/"]
        .iter()
        .any(|prefix| begins_no_case(text, prefix))
}

/// Recognises `en-US`, `de_DE.UTF-8`.
fn is_locale(text: &[u8]) -> bool {
    let [a, b, b'-' | b'_', c, d, rest @ ..] = text else { return false };
    a.is_ascii_lowercase()
        && b.is_ascii_lowercase()
        && c.is_ascii_uppercase()
        && d.is_ascii_uppercase()
        && (rest.is_empty()
            || begins_no_case(rest, ".utf")
            || begins_no_case(rest, ".iso")
            || rest[0] == b'@')
}

/// Endings of file and host names, separated by spaces.
const EXTENSIONS: &str = " \
    js ts jsx tsx mjs cjs json jsonl yml yaml toml xml html htm css scss less md rst txt csv tsv log py \
    rb rs go java kt kts swift c h cc cpp hpp cs php pl pm sh bash zsh ps1 bat cmd lua sql db sqlite \
    conf cfg ini env properties lock pem crt cer key pub der p12 pfx jks keystore png jpg jpeg gif svg \
    ico webp bmp woff woff2 ttf eot mp3 mp4 wav zip tar gz tgz bz2 xz zst 7z jar war so dll dylib exe a \
    o lib bin dat pdf doc docx xls xlsx map proto graphql vue svelte tf tfvars tpl tmpl j2 hbs ejs erb \
    cue nix patch diff snap bak tmp pid sock service com org net io dev local internal ";

fn is_extension(extension: &[u8]) -> bool {
    let mut between_spaces = [b' '; 14];
    let Some(room) = between_spaces.get_mut(1..=extension.len()) else { return false };
    room.copy_from_slice(extension);
    let wanted = &between_spaces[..(extension.len() + 2).min(14)];
    !extension.is_empty() && memchr::memmem::find(EXTENSIONS.as_bytes(), wanted).is_some()
}

/// Recognises a file name, a host name or a path by its beginning or end.
fn is_file(text: &[u8], reading: &Reading) -> bool {
    let is_path = [&b"./"[..], b"../", b"~/", b"\\\\", b".\\", b"..\\"]
        .iter()
        .any(|prefix| text.starts_with(prefix))
        || text.len() > 2 && text[0].is_ascii_alphabetic() && matches!(&text[1..3], b":\\" | b":/");
    // Base64 may also begin with a slash and contain more of them, so require words between the
    // slashes.
    let is_rooted = text[0] == b'/'
        && text[1..].contains(&b'/')
        && reading.letters >= 4
        && reading.covered * 5 >= reading.letters * 2;
    is_path || is_rooted || {
        let dot = text.iter().rev().take(12).position(|&byte| byte == b'.');
        dot.is_some_and(|behind| {
            let (stem, extension) =
                (&text[..text.len() - behind - 1], &text[text.len() - behind..]);
            !stem.is_empty() && is_extension(extension)
        })
    }
}

/// Recognises code instead of a literal value: calls, subscripts, members.
pub(super) fn is_code(text: &[u8], reading: &Reading) -> bool {
    let is_wordy = reading.letters > 0
        && (reading.covered * 2 >= reading.letters || reading.wordiness() > 2.0);
    // Most random text fails this check.
    if !is_wordy {
        return false;
    }
    let has_brackets =
        || text.iter().any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b';'));
    let has_members =
        || text.windows(2).any(|two| matches!(two, b"->" | b"::" | b"=>" | b"&&" | b"||"));
    let is_reference = || {
        ["process.env", "os.environ", "os.getenv", "system.getenv", "import.meta", "std::env"]
            .iter()
            .any(|prefix| begins_no_case(text, prefix))
    };
    has_brackets() || has_members() || is_reference()
}

/// Returns `true` if the whole text is an e-mail address.
pub(super) fn is_mail_address(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|&byte| byte == b'@') else { return false };
    let (name, host) = (&text[..at], &text[at + 1..]);
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    let Some(dot) = host.iter().rposition(|&byte| byte == b'.') else { return false };
    !name.is_empty()
        && name.iter().all(is_name)
        && host.iter().all(is_name)
        && dot > 0
        && (2..=10).contains(&(host.len() - dot - 1))
        && host[dot + 1..].iter().all(u8::is_ascii_lowercase)
}

/// Returns the number of digits of a number in the notation `0x...`, as in code: perhaps with `_`
/// between the digits and a type after them.
pub(super) fn hexadecimal_number(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    let number = rest.iter().take_while(|&&byte| byte.is_ascii_hexdigit() || byte == b'_').count();
    let is_type = number == rest.len()
        || rest[number..].len() <= 5
            && matches!(rest[number], b'u' | b'i' | b'U' | b'L' | b'l' | b'n');
    is_type.then(|| rest[..number].iter().filter(|&&byte| byte != b'_').count())
}

/// Recognises a hash that states its kind: of content (`sha256-...`), or of a password (`$2b$...`).
pub(super) fn hash_with_its_kind(text: &[u8]) -> Option<&'static str> {
    // All of these contain a sign near the beginning.
    if !text.iter().take(8).any(|byte| matches!(byte, b'-' | b':' | b'$' | b'}')) {
        return None;
    }
    let is_content = [
        "sha1-", "sha1:", "sha256-", "sha256:", "sha384-", "sha384:", "sha512-", "sha512:", "md5:",
        "md5-", "h1:",
    ]
    .iter()
    .any(|prefix| begins_no_case(text, prefix));
    let is_password = [
        "$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$argon2", "$scrypt$", "$pbkdf2", "{ssha}",
        "pbkdf2:", "scrypt:",
    ]
    .iter()
    .any(|prefix| begins_no_case(text, prefix));
    if is_content {
        Some("a hash of content")
    } else if is_password {
        Some("a password's hash")
    } else {
        None
    }
}

/// Returns `true` if the text is a UUID: 8-4-4-4-12 hexadecimal digits.
pub(super) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns `true` if the key suggests that its value is only an identifier.
pub(super) fn names_an_identifier(key: &[u8]) -> bool {
    let ends_in_id = key.ends_with(b"id")
        && !key.len().checked_sub(3).is_some_and(|at| key[at].is_ascii_lowercase())
        || key.ends_with(b"Id")
        || key.ends_with(b"ID");
    (ends_in_id && !contains_any(key, &["secret"]))
        || contains_any(key, &["uuid", "guid", "identifier"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::vocabulary::read;

    fn form(text: &str) -> Option<&'static str> {
        known_form(text.as_bytes(), &Composition::of(text.as_bytes()), &read(text.as_bytes()))
    }

    #[test]
    fn values_that_are_not_secrets_are_recognised_by_form() {
        for (reason, texts) in [
            (
                "a reference or template, filled in elsewhere",
                &[
                    "${API_KEY}",
                    "{{ .Values.key }}",
                    "<token>",
                    "key-%s",
                    "$(cat key)",
                    "$TOKEN_2",
                    "%TOKEN%",
                    "ab****cd",
                ][..],
            ),
            ("a URL", &["https://host/x1", "www.host.tld", "urn:ietf:params:oauth"]),
            (
                "a version or an address",
                &[
                    "1.2.3",
                    "v0.14.0-rc1",
                    "10.0.0.1:8080",
                    "1.0",
                    "v0.0.0-20200101000000-abcdef123456",
                ],
            ),
            ("a date or time", &["2024-01-31", "2024-01-31T12:00:00Z", "31/01/2024"]),
            ("a colour", &["#a1b2c3", "rgba(1,2,3)"]),
            ("a media type", &["application/x-www-form-urlencoded"]),
            ("a locale", &["en-US", "de_DE.UTF-8"]),
            (
                "a file name",
                &[
                    "tls-server.key",
                    "./secrets",
                    "/etc/ssl/private/server",
                    "C:\\keys",
                    "jquery-3.6.0.min.js",
                ],
            ),
        ] {
            for text in texts {
                assert_eq!(form(text), Some(reason), "{text}");
            }
        }
        for text in [
            "k3Qz-9f86_d081",
            "/k3Qz9f86d08/Vq3rT8xLm2",
            "1000.8cb9f3.k3Qz",
            "P@ss.w0rd",
            "a/b+c==",
        ] {
            assert_eq!(form(text), None, "{text}");
        }
    }

    #[test]
    fn code_mail_addresses_and_hashes_are_recognised() {
        for text in [
            "config.get(\"token\")",
            "getToken()",
            "process.env.KEY",
            "self.token[0]",
            "Secret::new",
        ] {
            assert!(is_code(text.as_bytes(), &read(text.as_bytes())), "{text}");
        }
        assert!(!is_code(b"k3(Qz9[f8", &read(b"k3(Qz9[f8")));
        assert!(
            is_mail_address(b"someone@host.tld")
                && !is_mail_address(b"P@ssw0rd")
                && !is_mail_address(b"@a.b")
        );
        assert!(
            hash_with_its_kind(b"sha512-abc").is_some() && hash_with_its_kind(b"k3Q").is_none()
        );
    }

    #[test]
    fn keys_of_identifiers_are_recognised() {
        for key in ["id", "client_id", "clientId", "CLIENT_ID", "requestUuid"] {
            assert!(names_an_identifier(key.as_bytes()), "{key}");
        }
        for key in ["", "token", "vault_secret_id", "paid", "api_key"] {
            assert!(!names_an_identifier(key.as_bytes()), "{key}");
        }
    }
}
