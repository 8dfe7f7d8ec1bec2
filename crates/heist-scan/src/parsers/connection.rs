//! Connection strings: how to reach a database, a queue or a storage account, with a password or a
//! key.
//!
//! | form | the secret |
//! |---|---|
//! | `postgres://user:password@host/...` | the password |
//! | `Server=...;User Id=...;Password=...;`, `host=... password=...`, `jdbc:...?user=...&password=...` | the password |
//! | `host:6379,password=...` | the password |
//! | `AccountName=...;AccountKey=...` | the key, 64 bytes in base64 |
//! | `Endpoint=sb://...;SharedAccessKey=...` | the key |
//!
//! A password alone is not a connection string: it needs a host beside it. The host also shows
//! whether the string is an example.

use super::shape::ValueShape;
use super::url;
use super::{Assessment, Hit, Reach, Trigger, Window};
use crate::confidence::Confidence;
use crate::noise::NoiseCheck;
use memchr::{memchr3, memmem, memrchr3};
use std::ops::Range;

pub(super) const TRIGGERS: &[Trigger] = &[
    Trigger::Literal("://"),
    Trigger::LiteralNoCase("password="),
    Trigger::LiteralNoCase("pwd="),
    Trigger::Literal("AccountKey="),
    Trigger::Literal("SharedAccessKey="),
];

pub(super) const REACH: Reach = Reach { before: 512, after: 1024 };

/// How far from its password the parts of a connection string may be.
const PARTS_WITHIN: usize = 400;

/// The greatest number of parts that are read.
const PARTS_MAX: usize = 32;

/// The length of the longest password.
const PASSWORD_LENGTH_MAX: usize = 128;

/// The names of the part that contains the host.
const HOSTS: [&str; 9] = [
    "server",
    "data source",
    "datasource",
    "host",
    "hostname",
    "addr",
    "address",
    "servername",
    "network address",
];

/// The names of other parts of connection strings.
const OTHERS: [&str; 13] = [
    "user id",
    "userid",
    "uid",
    "user",
    "username",
    "database",
    "initial catalog",
    "dbname",
    "driver",
    "port",
    "db",
    "provider",
    "integrated security",
];

/// The well-known key of every storage emulator.
const EMULATOR: &[u8] = b"devstoreaccount1";

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let rest = &window.text[window.at..];
    let hit = match rest[0] {
        b':' => by_url(window),
        b'A' if rest.starts_with(b"AccountKey=") => by_key(window, b"AccountKey=", 64),
        b'S' if rest.starts_with(b"SharedAccessKey=") => by_key(window, b"SharedAccessKey=", 32),
        b'p' | b'P' => by_parts(window),
        _ => None,
    };
    hits.extend(hit);
}

/// Parses `scheme://user:password@host`.
fn by_url(window: &Window<'_>) -> Option<Hit> {
    let text = window.text;
    // Check the last letter of the scheme first: most URLs are web addresses.
    let last = *text.get(window.at.checked_sub(1)?)?;
    if !text[window.at..].starts_with(b"://")
        || matches!(last, b'p' | b'P') && !text[..window.at].ends_with(b"amqp")
    {
        return None;
    }
    let found = url::with_credentials(window)?;
    if !url::is_database(&text[found.scheme.clone()]) {
        return None;
    }
    let password = found.password?;
    let (user, host) = (&text[found.user], &text[found.host.clone()]);
    if password.is_empty() {
        return None;
    }
    let (form, noise) = url::judge(user, &text[password.clone()], host);
    let whole = found.scheme.start..found.host.end;
    Some(Hit { whole, secret: password, key: 0..0, form: form.into(), noise })
}

/// Returns the text around a position that belongs to the same string: up to quotes and the ends of
/// the line.
fn surroundings(text: &[u8], at: usize) -> Range<usize> {
    let leftmost = at.saturating_sub(PARTS_WITHIN);
    let rightmost = text.len().min(at + PARTS_WITHIN);
    let (before, after) = (&text[leftmost..at], &text[at..rightmost]);
    // Take the nearest of the two limits on each side.
    let begin = memrchr3(b'"', b'`', b'\n', before).max(memrchr3(b'\r', b'<', b'>', before));
    let end = memchr3(b'"', b'`', b'\n', after).unwrap_or(after.len());
    let end = memchr3(b'\r', b'<', b'>', &after[..end]).unwrap_or(end);
    begin.map_or(leftmost, |found| leftmost + found + 1)..at + end
}

/// Parses `Password=...` among other parts.
fn by_parts(window: &Window<'_>) -> Option<Hit> {
    let text = window.text;
    let length = [&b"password="[..], b"pwd="]
        .iter()
        .find(|name| {
            text[window.at..].get(..name.len()).is_some_and(|part| part.eq_ignore_ascii_case(name))
        })?
        .len();
    // It must be a separate part, not the end of another part's name.
    let before = window.at.checked_sub(1).map(|at| text[at]);
    if !matches!(before, None | Some(b';' | b'&' | b'?' | b' ' | b',' | b'"' | b'\'' | b'-')) {
        return None;
    }
    let begin = window.at + length;
    let ends = |byte: &u8| {
        matches!(byte, b';' | b'&' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',')
            || *byte <= b' '
    };
    let limit = text.len().min(begin + PASSWORD_LENGTH_MAX + 1);
    let end = match text[begin..limit].iter().position(ends) {
        Some(length) => begin + length,
        None if limit == text.len() && window.ends_object => limit,
        None => return None,
    };
    // Leave out the end of a call around it.
    let end = if text[begin..end].ends_with(b")") && !text[begin..end].contains(&b'(') {
        end - 1
    } else {
        end
    };
    if begin == end {
        return None;
    }
    let around = surroundings(text, window.at);
    let near = &text[around.clone()];
    let host = host_of_parts(near, window.at - around.start)?;
    let (form, noise) = url::judge(b"", &text[begin..end], host);
    let form = form.map(|(confidence, reason)| {
        let reason = match confidence {
            Confidence::High => "a connection string, for a host that is not an example",
            Confidence::Medium => "a connection string, for a local host",
            _ => reason,
        };
        (confidence, reason)
    });
    let whole = window.at..end;
    Some(Hit { whole, secret: begin..end, key: 0..0, form: form.into(), noise })
}

/// Returns the host that a connection string names, or `None` if the text is not a connection
/// string.
fn host_of_parts(near: &[u8], password_at: usize) -> Option<&[u8]> {
    let mut host = None;
    let mut has_others = false;
    for at in memchr::memchr_iter(b'=', near).take(PARTS_MAX) {
        let name = name_before(near, at);
        if name.eq_ignore_ascii_case(b"password") || name.eq_ignore_ascii_case(b"pwd") {
            continue;
        }
        // The first host counts. No name belongs to both a host and another part.
        if host.is_none() && HOSTS.iter().any(|known| ends_with_word(name, known)) {
            host = Some(value_after(near, at + 1));
        } else if !has_others && OTHERS.iter().any(|known| ends_with_word(name, known)) {
            has_others = true;
        }
        if has_others && host.is_some() {
            return host;
        }
    }
    // `jdbc:mysql://host/db?user=...&password=...`
    let before = &near[..password_at];
    if let Some(begin) = memmem::find(before, b"://") {
        let named = before.windows(5).any(|part| part.eq_ignore_ascii_case(b"jdbc:")) || {
            let scheme = before[..begin]
                .iter()
                .rposition(|byte| !byte.is_ascii_alphanumeric())
                .map_or(0, |at| at + 1);
            url::is_database(&before[scheme..begin])
        };
        return named.then(|| value_after(before, begin + 3));
    }
    // `host:6379,password=...`
    let redis = before.strip_suffix(b",").or_else(|| before.strip_suffix(b", "))?;
    let colon = redis
        .iter()
        .rposition(|byte| !byte.is_ascii_digit())
        .filter(|&at| redis[at] == b':' && at + 1 < redis.len())?;
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let begin = redis[..colon].iter().rposition(|byte| !is_host(byte)).map_or(0, |at| at + 1);
    (begin < colon).then(|| &redis[begin..colon])
}

/// Returns the name before an `=`, without the part before it.
fn name_before(near: &[u8], equals: usize) -> &[u8] {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_');
    let begin = near[..equals].iter().rposition(|byte| !is_name(byte)).map_or(0, |at| at + 1);
    near[begin..equals].trim_ascii()
}

fn ends_with_word(name: &[u8], word: &str) -> bool {
    // The last letter distinguishes most words, at the lowest cost.
    name.len() >= word.len()
        && name.last().map(u8::to_ascii_lowercase) == word.as_bytes().last().copied()
        && name[name.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
        && (name.len() == word.len() || name[name.len() - word.len() - 1] == b' ')
}

/// Returns the host that begins at `begin`: without `tcp:`, instance and port.
fn value_after(near: &[u8], begin: usize) -> &[u8] {
    let value = near[begin..].trim_ascii_start();
    let value = value.strip_prefix(b"tcp:").unwrap_or(value);
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    &value[..value.iter().position(|byte| !is_host(byte)).unwrap_or(value.len())]
}

/// Parses `AccountKey=...` and `SharedAccessKey=...`: a key of `bytes` bytes in base64.
fn by_key(window: &Window<'_>, name: &[u8], bytes: usize) -> Option<Hit> {
    let text = window.text;
    let begin = window.at + name.len();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let digits = bytes.div_ceil(3) * 4 - (3 - bytes % 3) % 3;
    let length = bytes.div_ceil(3) * 4;
    let value = text.get(begin..begin + length)?;
    if !value[..digits].iter().all(is_base64) || !value[digits..].iter().all(|&byte| byte == b'=') {
        return None;
    }
    if text.get(begin + length).is_some_and(|byte| is_base64(byte) || *byte == b'=') {
        return None;
    }
    let near = &text[surroundings(text, window.at)];
    let has =
        |part: &[u8]| near.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part));
    let form: Assessment = if ValueShape::of(value).is_masked() {
        Err("it is masked")
    } else if has(EMULATOR) {
        Ok((Confidence::Low, "a connection string, but of an emulator"))
    } else if has(b"AccountName=") || has(b"Endpoint=") || has(b"HostName=") {
        Ok((Confidence::High, "a connection string with a key of the right length"))
    } else {
        Ok((Confidence::Medium, "a key of the right length, without a host"))
    };
    Some(Hit {
        whole: window.at..begin + length,
        secret: begin..begin + length,
        key: 0..0,
        form: form.into(),
        noise: NoiseCheck::Mild,
    })
}

#[cfg(test)]
mod tests {
    use super::super::ParserKind;
    use super::super::testing::{check_bounds, found_by, random_text};
    use super::Confidence;
    use super::url::Host;
    use proptest::prelude::*;

    #[track_caller]
    fn check(template: &str, expected: Option<Confidence>) {
        let (text, secret) = random_text(template);
        let found = found_by(ParserKind::ConnectionString, text.as_bytes());
        assert_eq!(found.first().map(|hit| hit.assessment().0), expected, "{text}: {found:?}");
        if let Some(hit) = found.first().filter(|_| !secret.is_empty()) {
            assert!(text[hit.secret.clone()].starts_with(&secret), "{text}: {found:?}");
        }
    }

    #[test]
    fn connection_strings() {
        use Confidence::{High, Low, Medium};
        for (template, confidence) in [
            ("postgres://joe:{b62:16}@db.corp.net:5432/x", High),
            ("postgresql+psycopg2://joe:{b62:16}@db.corp.net/x", High),
            ("mongodb+srv://joe:{b62:16}@cluster0.corp.net/x", High),
            ("mongodb://joe:{b62:16}@one.corp.net:27017,two.corp.net:27017/x", High),
            ("redis://:{b62:24}@cache.corp.net:6379/0", High),
            ("rediss://default:{b62:24}@cache.corp.net:6379", High),
            ("amqp://joe:{b62:16}@queue.corp.net", High),
            ("mysql://joe:{b62:16}@localhost/x", Medium),
            ("mysql://joe:{b62:16}@db.example.com/x", Low),
            ("\"Server=db.corp.net;Database=x;User Id=sa;Password={b62:14};\"", High),
            ("Server=tcp:db.corp.net,1433;Uid=sa;Pwd={b62:14};", High),
            ("Data Source=.\\SQLEXPRESS;Initial Catalog=x;User=sa;Password={b62:14}", Medium),
            ("'host=db.corp.net user=joe password={b62:14} dbname=x'", High),
            ("jdbc:postgresql://db.corp.net/x?user=joe&password={b62:14}", High),
            ("cache.corp.net:6380,password={b62:43}=,ssl=True", High),
            ("AccountName=joe;AccountKey={b64:86}==;EndpointSuffix=x", High),
            ("AccountName=devstoreaccount1;AccountKey={b64:86}==", Low),
            ("Endpoint=sb://x.corp.net/;SharedAccessKeyName=k;SharedAccessKey={b64:43}=", High),
            ("postgres://postgres:postgres@localhost/x", Low),
        ] {
            check(template, Some(confidence));
        }
    }

    #[test]
    fn texts_without_connection_strings_have_no_hits() {
        for template in [
            "postgres://db.corp.net/x",
            "postgres://joe@db.corp.net/x",
            "postgres://user:password@localhost/x",
            "postgres://${USER}:${PASSWORD}@db.corp.net/x",
            "https://joe:{b62:16}@db.corp.net/x",
            "password={b62:16}",
            "Server=db.corp.net;Database=x;User Id=sa;Password=;",
            "Server=db.corp.net;Database=x;User Id=sa;Password=${PASSWORD};",
            "Server=db.corp.net;Database=x;User Id=sa;Password=********;",
            "AccountName=joe;AccountKey={b64:20}==",
            "mypassword={b62:16} host=db.corp.net user=x",
            "redis://cache.corp.net:6379/0",
            "connect(host=None, port=1, user=None, password=None)",
        ] {
            check(template, None);
        }
    }

    #[test]
    fn the_host_is_read_from_its_part() {
        let host = super::host_of_parts(b"Server=tcp:db.corp.net,1433;Uid=sa;Pwd=x", 33);
        assert_eq!(host.map(Host::of), Some(Host::Real));
    }

    proptest! {
        #[test]
        fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
            check_bounds(ParserKind::ConnectionString, &text);
        }

        #[test]
        fn any_parts(text in "(Server=|[a-z:.;,=?&/ ]){0,20}(Password=|Pwd=|AccountKey=|redis://:)[ -~]{0,30}") {
            check_bounds(ParserKind::ConnectionString, text.as_bytes());
        }
    }
}
