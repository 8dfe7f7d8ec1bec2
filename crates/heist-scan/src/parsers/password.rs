//! Passwords: the value of an assignment whose key names one.
//!
//! A password may be short and made of words, so its form says little. The parser distinguishes it
//! from everything else that follows the word "password": types, labels, prompts, templates,
//! patterns, names of variables. Without quotes, it counts only where configuration files have
//! values.
//!
//! Not guaranteed: that passwords with spaces, or of a single word, are found. The confidence in a
//! single word is low at most.

use super::assignment::{Assignment, after_key, key_as_value};
use super::key_words;
use super::shape::{self, ValueShape};
use super::value::{ValueAlphabet, is_key};
use super::words::{is_one_of, split};
use super::{Assessment, Hit, Trigger, Window};
use crate::confidence::Confidence;
use crate::noise::NoiseCheck;

pub(super) const TRIGGERS: &[Trigger] = &[
    Trigger::LiteralNoCase("passw"),
    Trigger::LiteralNoCase("passphrase"),
    Trigger::LiteralNoCase("_pass"),
    Trigger::LiteralNoCase("pwd"),
];

/// The length of the rest of a key after this word: `word`, `phrase`, `_production_2`.
const KEY_REST_MAX: usize = 40;

const LENGTH_MIN: usize = 6;
const LENGTH_MAX: usize = 128;

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let text = window.text;
    let rest = &text[window.at..];
    // `_password` is found at its other trigger.
    if rest[0] == b'_' && rest.get(5).is_some_and(|byte| matches!(byte | 0x20, b'w' | b'p')) {
        return;
    }
    // A key ends soon after the word that names the password.
    let key_rest = rest.iter().take(KEY_REST_MAX + 1).take_while(|&&byte| is_key(byte)).count();
    if key_rest > KEY_REST_MAX || is_set_to_key(rest, key_rest) {
        return;
    }
    let Some(found) = after_key(window, ValueAlphabet::Text, LENGTH_MAX) else { return };
    if !key_words::names_password(&text[found.key.clone()]) {
        return;
    }
    let value = &text[found.value.clone()];
    let form = if !(LENGTH_MIN..=LENGTH_MAX).contains(&value.len()) {
        Err("it is shorter than 6 or longer than 128 characters")
    } else if !found.quoted && !is_configuration(window, &found) {
        Err("it is not quoted, and the text around it is code")
    } else {
        judge(value)
    };
    hits.push(Hit {
        whole: found.key.start.min(found.value.start)..found.value.end,
        secret: found.value,
        key: found.key,
        form: form.into(),
        noise: NoiseCheck::Strict,
    });
}

/// Returns `true` if the value is itself an assignment to a password, as in `line=password=...` and
/// `pwd:pwd:...`. The inner assignment is found separately. This check comes first, so that text
/// full of such keys costs no further search.
fn is_set_to_key(rest: &[u8], key_rest: usize) -> bool {
    let repeats = || {
        let (first, second) = rest.split_at_checked(key_rest + 1)?;
        Some(matches!(first.last(), Some(b'=' | b':')) && second.starts_with(first))
    };
    key_as_value(rest).is_some_and(ends_with_password) || repeats() == Some(true)
}

/// Returns `true` if the key ends with one of the words that `is_code` checks for.
fn ends_with_password(key: &[u8]) -> bool {
    [&b"password"[..], b"passwd", b"pwd"].iter().any(|name| {
        key.len() >= name.len() && key[key.len() - name.len()..].eq_ignore_ascii_case(name)
    })
}

/// Returns `true` if the text around a value without quotes is configuration, not code.
fn is_configuration(window: &Window<'_>, found: &Assignment) -> bool {
    let text = window.text;
    let value = &text[found.value.clone()];
    let ends = match text.get(found.value.end) {
        None | Some(b'\n' | b'\r' | b'&' | b'"' | b'\'' | b'`' | b'\\' | b'<') => true,
        Some(b' ' | b'\t') => {
            // A comment or the next word of a command may follow, but not an operator, as in code.
            let next = text[found.value.end..].iter().find(|byte| !matches!(byte, b' ' | b'\t'));
            next.is_none_or(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'#' | b'-' | b'\n' | b'\r' | b'/' | b'\\')
            })
        }
        Some(_) => false,
    };
    let shape = ValueShape::of(value);
    let named = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'$' | b':' | b'/')
    };
    let is_name = value.iter().all(named);
    // `password = name2` may be code or configuration; `password=name2` and `password: name2` are
    // rarely code.
    let between = text.get(found.key.end..found.value.start).unwrap_or_default();
    let tight = between == b"=" || between.contains(&b':') || !between.contains(&b'=');
    ends && shape.digits > 0
        && shape.letters() > 0
        && tight
        && !value.contains(&b'.')
        && value[0] != b'$'
        || ends
            && !is_name
            && shape.letters() > 0
            && !matches!(value[0], b'*' | b'&' | b'!' | b'|' | b'%' | b'@' | b'$')
}

/// Words that mean there is no password.
const NONE_THERE: [&str; 42] = split(
    "password passwd passphrase secret string required optional hidden default undefined boolean disabled enabled \
     prompt request option argument plaintext plain_text credentials unknown invalid missing redacted removed \
     masked filtered encrypted sha256 sha512 bcrypt scrypt argon2 argon2id pbkdf2 base64 latin1 varchar nvarchar \
     text/plain nullable keyboard-interactive",
);

/// Parts of made-up passwords.
const MADE_UP: [&str; 18] = split(
    "password passwd changeme change_me change-me example your dummy sample placeholder xxxx insert replace todo \
     foobar secret 1234 qwerty",
);

/// Assesses a password by its form.
pub(super) fn judge(value: &[u8]) -> Assessment {
    if value.iter().any(|&byte| byte.is_ascii_whitespace() || byte.is_ascii_control()) {
        return Err("it has spaces or control characters");
    }
    let shape = ValueShape::of(value);
    if shape::is_template(value) {
        return Err("it is a template, filled in elsewhere");
    }
    if shape::is_path(value) {
        return Err("it is a path or a URL");
    }
    if shape.is_masked() {
        return Err("it is masked");
    }
    if is_code(value) {
        return Err("it is code");
    }
    if is_hash(value) {
        return Ok((Confidence::Low, "the hash of a password"));
    }
    if is_pattern(value) || !value.is_ascii() && shape.digits == 0 {
        return Err("it is a regular expression, or text that is not ASCII");
    }
    if is_one_of(value, &NONE_THERE) {
        return Err("it is a word that means there is no password");
    }
    let made_up = MADE_UP.iter().any(|part| contains_ignoring_case(value, part.as_bytes()));
    let separators = value.iter().filter(|byte| matches!(byte, b'_' | b'-' | b'.' | b'/')).count();
    let specials = shape.others - separators;
    if shape.digits == 0 && specials == 0 {
        // Names: `user_password`, `userPassword`, `USER-PASSWORD`, `Kennwort`.
        if made_up || separators > 0 || shape.upper > 0 && shape.in_words() * 10 >= shape.length * 8
        {
            return Err("it is a name");
        }
        if shape.classes() == 1 {
            return Ok((Confidence::Low, "the key names a password, but the value is one word"));
        }
    }
    if made_up {
        return Ok((Confidence::Low, "the key names a password, but the value seems made up"));
    }
    if shape.letters() == 0 {
        return Ok((Confidence::Low, "the key names a password, but the value is a number"));
    }
    if specials == 0
        && separators > 0
        && shape.digits * 4 < shape.length
        && shape.in_words() * 2 > shape.length
    {
        return Ok((Confidence::Low, "the key names a password, but the value is a name"));
    }
    Ok((Confidence::Medium, "the key names a password"))
}

/// Returns `true` for calls, members and markup.
fn is_code(value: &[u8]) -> bool {
    value.windows(2).any(|pair| matches!(pair, b"()" | b"->" | b"::" | b"</" | b"/>" | b"=>"))
        || matches!(value.last(), Some(b':' | b'>' | b'(' | b',' | b';'))
        // Base64 may end with padding, but is longer.
        || value.len() < 20 && value.ends_with(b"=")
        || value.ends_with(b"...")
        || matches!(
            value.first(),
            Some(b'#' | b'.' | b',' | b')' | b']' | b'=' | b'&' | b';' | b'\\' | b'+')
        )
        || value.starts_with(b"--")
        || value.starts_with(b"0x")
        // A nested assignment, whose password is found separately.
        || [&b"password="[..], b"passwd=", b"pwd="]
            .iter()
            .any(|part| contains_ignoring_case(value, part))
}

fn is_hash(value: &[u8]) -> bool {
    [
        &b"$1$"[..],
        b"$2a$",
        b"$2b$",
        b"$2y$",
        b"$5$",
        b"$6$",
        b"$y$",
        b"$argon2",
        b"$apr1$",
        b"{SSHA",
        b"{SHA",
        b"pbkdf2",
        b"ENC[",
    ]
    .iter()
    .any(|begin| value.starts_with(begin))
}

/// Returns `true` for a regular expression.
fn is_pattern(value: &[u8]) -> bool {
    value.first() == Some(&b'^')
        || value.windows(2).any(|pair| {
            matches!(
                pair,
                b"(?" | b".*" | b".+" | b"\\w" | b"\\d" | b"\\s" | b"\\S" | b"[^" | b"\\b"
            )
        })
        || value.windows(3).any(|part| part == b"a-z" || part == b"A-Z" || part == b"0-9")
}

fn contains_ignoring_case(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::super::ParserKind;
    use super::super::testing::{check_bounds, found_by};
    use super::Confidence;
    use proptest::prelude::*;

    /// Replaces `{}` with a generated password.
    #[track_caller]
    fn check(template: &str, expected: Option<Confidence>) {
        let password = ["h7", "nK", "!w", "q2"].concat();
        let text = template.replace("{}", &password);
        let found = found_by(ParserKind::Password, text.as_bytes());
        let strongest = found.iter().map(|hit| hit.assessment().0).max();
        assert_eq!(strongest, expected, "{text}: {found:?}");
        if template.contains("{}") && expected.is_some() {
            assert!(
                found.iter().all(|hit| text[hit.secret.clone()] == password),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn passwords() {
        for template in [
            "password = \"{}\"",
            "db_password: {}\n",
            "DB_PASSWORD={}",
            "export PGPASSWORD={} psql",
            "\"password\": \"{}\",",
            "userPassword = '{}';",
            "passwd => '{}'",
            "DB_PASS={}\n",
            "pwd: \"{}\"",
            "passphrase = \"{}\"",
            "mysql --password={} db",
            "mysql --password {} db",
            "<password>{}</password>",
            "conn.setPassword(\"{}\")",
            "spring.datasource.password={}\n",
            "- name: DB_PASSWORD\n  value: {}\n",
            "{\\\"password\\\": \\\"{}\\\"}",
            "String password = \"{}\";",
            "password := `{}`",
            "os.environ.get('DB_PASSWORD', '{}')",
            concat!("pass", "word = 'hunter2x'"),
            concat!("pass", "word: hunter2x\n"),
            "https://host/?user=a&password={}&x",
            "password_line = \"PASSWORD={}\"",
        ] {
            check(template, Some(Confidence::Medium));
        }
        for template in [
            "password = \"elephant\"",
            "password = \"changeme1\"",
            "password = \"48151623\"",
            "password = '$2b$12$abcdefghijklmnopqrstuv'",
        ] {
            check(template, Some(Confidence::Low));
        }
    }

    #[test]
    fn values_that_are_not_passwords() {
        for template in [
            "password = \"password\"",
            "password: String,",
            "password: string;",
            "password = None",
            "password = getpass()",
            "password = user_password",
            "password = args.password2",
            "let password = read2;",
            "password = \"${DB_PASSWORD}\"",
            "password: {{ .Values.password }}",
            "password: \"<password>\"",
            "password = \"%s\"",
            "password = \"********\"",
            "password: \"Enter your password\"",
            "password: 'Kennwort'",
            "password_field = \"{}\"",
            "password_hash = \"{}\"",
            "forgotPassword: \"{}\"",
            "passwordLabel = '{}'",
            "password = \"^[a-z0-9]{8}$\"",
            "type=\"password\" name=\"abc123\"",
            "PWD=/home/user1/dir",
            "password = \"a1\"",
            "assert password != \"{}\"",
            "password: userPasswordField",
            "the password is {}",
            "password or PKCS12",
            "('pwd$', 're$read')",
            "password_file = \"{}\"",
            "bypass_all = \"{}\"",
            "password = input2 + \"x\"",
            "password = os.environ[\"X1\"]",
            "const STATUS_BAD_PASSWORD: i32 = 0xC000006B_u32 as _;",
            "[\"password1\", \"{}\"]",
        ] {
            check(template, None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
            check_bounds(ParserKind::Password, &text);
        }

        #[test]
        fn any_line(text in "(password|DB_PASS|pwd)( ?[=:] ?)[\"']?[ -~]{0,60}") {
            check_bounds(ParserKind::Password, text.as_bytes());
        }
    }
}
