//! Credentials in URLs: `scheme://user:password@host` and `https://token@host`. The secret is the
//! password or the token.
//!
//! The parser of connection strings handles URLs of databases and queues, so that each place has
//! one finding.

use super::shape::{self, ValueShape};
use super::url::{self, Host};
use super::{Assessment, Hit, Reach, Window};
use crate::confidence::Confidence;
use crate::noise::NoiseCheck;

pub(super) const REACH: Reach = Reach { before: 48, after: 1024 };

/// Fixed passwords that some services expect if the user is a token.
const FIXED_PASSWORDS: [&[u8]; 4] = [b"", b"x-oauth-basic", b"x", b"api_token"];

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let text = window.text;
    if !text[window.at..].starts_with(b"://") {
        return;
    }
    let Some(found) = url::with_credentials(window) else { return };
    if url::is_database(&text[found.scheme.clone()]) {
        return;
    }
    let (user, host) = (&text[found.user.clone()], &text[found.host.clone()]);
    let (secret, (form, noise)) = match found.password {
        Some(password) if !FIXED_PASSWORDS.contains(&&text[password.clone()]) => {
            let judged = url::judge(user, &text[password.clone()], host);
            (password, judged)
        }
        _ => {
            let scheme = &text[found.scheme.clone()];
            let is_web = scheme.get(..4).is_some_and(|four| four.eq_ignore_ascii_case(b"http"));
            if !is_web || user.is_empty() {
                return;
            }
            (found.user.clone(), (judge_token(user, host), NoiseCheck::Mild))
        }
    };
    if secret.is_empty() {
        return;
    }
    hits.push(Hit {
        whole: found.scheme.start..found.host.end,
        secret,
        key: 0..0,
        form: form.into(),
        noise,
    });
}

/// Assesses a user without a password, which counts as a token only if it looks like one.
fn judge_token(user: &[u8], host: &[u8]) -> Assessment {
    let in_alphabet =
        |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~');
    let shape = ValueShape::of(user);
    if user.len() < 16 || !user.iter().all(in_alphabet) || shape.digits < 2 || shape.letters() < 2 {
        return Err("a user without a password that does not look like a token");
    }
    if shape.is_wordy() || shape.is_masked() || shape::is_uuid(user) {
        return Err("a user without a password: words, a mask or a UUID");
    }
    // The address of an error collector contains a key that every client receives.
    let is_public = host.windows(6).any(|part| part.eq_ignore_ascii_case(b"sentry"));
    Ok(match Host::of(host) {
        _ if is_public => (Confidence::Low, "a token in a URL, but a public one for clients"),
        Host::Example => (Confidence::Low, "a token in a URL, but the host is an example"),
        Host::Local | Host::Real => (Confidence::Medium, "a token in a URL"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ParserKind;
    use super::super::testing::{check_bounds, found_by, random_text};
    use super::Confidence;
    use proptest::prelude::*;

    #[track_caller]
    fn check(template: &str, expected: Option<Confidence>) {
        let (text, secret) = random_text(template);
        let found = found_by(ParserKind::UrlCredentials, text.as_bytes());
        assert_eq!(found.first().map(|hit| hit.assessment().0), expected, "{text}: {found:?}");
        if let Some(hit) = found.first().filter(|_| !secret.is_empty()) {
            assert_eq!(&text[hit.secret.clone()], secret);
        }
    }

    #[test]
    fn credentials() {
        use Confidence::{High, Low, Medium};
        for (template, confidence) in [
            ("https://deploy:{b62:20}@git.corp.net/x.git", High),
            ("\"ftp://joe:{b62:12}@files.corp.net\"", High),
            ("proxy=http://joe:{b62:12}@proxy:3128", Medium),
            ("https://joe:{b62:16}@localhost:8080/", Medium),
            ("https://joe:{b62:16}@api.example.com/", Low),
            ("https://{hex:40}@git.corp.net/a/b", Medium),
            ("https://{b62:40}:x-oauth-basic@git.corp.net/a/b", Medium),
            ("https://x-access-token:{b62:36}@git.corp.net/a/b", High),
            ("https://{hex:32}@o1.ingest.sentry.io/1", Low),
            ("https://joe:elephant@git.corp.net", Low),
            ("cvs://:pserver:anoncvs@cvs.corp.net", Low),
            ("[x](https://joe:{b62:16}@git.corp.net)", High),
        ] {
            check(template, Some(confidence));
        }
    }

    #[test]
    fn urls_without_credentials_have_no_hits() {
        for template in [
            "https://user:pass@example.com",
            "https://user:password@git.corp.net",
            "https://${USER}:${PASS}@git.corp.net",
            "https://<user>:<password>@git.corp.net",
            "https://%s:%s@git.corp.net",
            "https://{user}:{password}@git.corp.net",
            "http://host:8080/@x",
            "https://git.corp.net/a@b",
            "ssh://git@git.corp.net/a",
            "https://joe@git.corp.net/a",
            "https://git.corp.net",
            "https?://[^:]+:[^@]+@[a-z]+",
            "https://joe:********@git.corp.net",
            "postgres://joe:{b62:16}@db.corp.net/x",
            "://joe:{b62:16}@db.corp.net/x",
            "https://unpkg.com/@scope/name@1.2.3",
            "https://joe:{b62:16}@",
            "https://$USER:$PASSWORD@git.corp.net",
        ] {
            check(template, None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
            check_bounds(ParserKind::UrlCredentials, &text);
        }

        #[test]
        fn any_url(text in "[a-z+]{0,5}://[a-z0-9%:@./$-]{0,40}@[a-z.]{0,9}[ -~]?") {
            check_bounds(ParserKind::UrlCredentials, text.as_bytes());
        }
    }
}
