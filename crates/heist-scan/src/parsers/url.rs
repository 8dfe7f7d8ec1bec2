//! URLs with credentials, `scheme://user:password@host`, and the confidence in such a password.
//!
//! The parsers of URL credentials and of connection strings share this code.

use super::password;
use super::shape::{self, ValueShape};
use super::words::{is_one_of, split};
use super::{Assessment, Window};
use crate::confidence::Confidence;
use crate::noise::NoiseCheck;
use std::ops::Range;

/// The length of the longest scheme.
pub(super) const SCHEME_LENGTH_MAX: usize = 32;

/// The greatest length of user, password and host together.
const AUTHORITY_LENGTH_MAX: usize = 768;

/// How many bytes of a password are judged.
pub(crate) const JUDGED_LENGTH_MAX: usize = 256;

/// Schemes of databases and queues, without a suffix after `+`.
const DATABASES: [&str; 41] = split(
    "postgres postgresql mysql mysqlx mariadb mongodb redis rediss valkey valkeys amqp amqps mssql sqlserver \
     clickhouse clickhouses cockroachdb cockroach cassandra couchbase couchbases couchdb neo4j bolt influxdb \
     oracle snowflake redshift vertica nats kafka memcached mqtt mqtts stomp timescaledb presto trino db2 \
     firebird sentinel",
);

/// The parts of a URL, as positions in the window.
#[derive(Clone, Debug)]
pub(super) struct Url {
    pub(super) scheme: Range<usize>,
    pub(super) user: Range<usize>,
    /// `None` if the URL does not have a colon after the user.
    pub(super) password: Option<Range<usize>>,
    pub(super) host: Range<usize>,
}

/// Returns the URL whose `://` is at the window's position, if it has credentials before an `@`.
pub(super) fn with_credentials(window: &Window<'_>) -> Option<Url> {
    let text = window.text;
    let begin = window.at + 3;
    let limit = text.len().min(begin + AUTHORITY_LENGTH_MAX);
    let mut sign = None;
    let mut end = begin;
    while end < limit {
        match text[end] {
            b'@' => sign = Some(end),
            b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' => break,
            byte if byte <= b' ' || byte >= 0x7f => break,
            _ => {}
        }
        end += 1;
    }
    let sign = sign?;
    if end == text.len() && !window.ends_object {
        return None;
    }
    let mut scheme = window.at;
    while scheme > 0
        && window.at - scheme < SCHEME_LENGTH_MAX
        && (text[scheme - 1].is_ascii_alphanumeric()
            || matches!(text[scheme - 1], b'+' | b'-' | b'.'))
    {
        scheme -= 1;
    }
    while scheme < window.at && !text[scheme].is_ascii_alphabetic() {
        scheme += 1;
    }
    if window.at - scheme < 2 {
        return None;
    }
    let colon = text[begin..sign].iter().position(|&byte| byte == b':').map(|at| begin + at);
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let host_begin = sign + 1;
    let host_length = text[host_begin..end].iter().take_while(|byte| is_host(byte)).count();
    if host_length == 0 {
        return None;
    }
    // A port, another host, or the end of the surrounding string may follow; anything else is a
    // template or a pattern.
    match text.get(host_begin + host_length) {
        None
        | Some(
            b':' | b',' | b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b')'
            | b']' | b';' | b'}',
        ) => {}
        Some(byte) if *byte <= b' ' => {}
        Some(_) => return None,
    }
    Some(Url {
        scheme: scheme..window.at,
        user: begin..colon.unwrap_or(sign),
        password: colon.map(|colon| colon + 1..sign),
        host: host_begin..host_begin + host_length,
    })
}

/// Returns `true` for the scheme of a database or a queue.
pub(super) fn is_database(scheme: &[u8]) -> bool {
    let base = scheme.split(|&byte| byte == b'+').next().unwrap_or_default();
    is_one_of(base, &DATABASES)
}

/// Host names in documentation.
const EXAMPLES: [&str; 27] = split(
    "example.com example.org example.net example host hostname server domain domain.com foo bar foo.com bar.com \
     test myhost yourhost site.com mysite.com website.com server.com host.com a b c h x y",
);

/// Endings of host names in documentation.
const EXAMPLE_ENDINGS: [&str; 8] =
    split(".example.com .example.org .example.net .example .invalid .test .domain.com .foo.com");

/// The kind of machine that a host name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// An example in documentation: `example.com`, `host`, `foo`.
    Example,
    /// This machine, or a machine without a domain.
    Local,
    /// Any other machine.
    Real,
}

impl Host {
    pub(super) fn of(host: &[u8]) -> Self {
        let is = |list: &[&str]| is_one_of(host, list);
        let ends = |ending: &str| {
            host.len() > ending.len()
                && host[host.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
        };
        if is(&EXAMPLES) || EXAMPLE_ENDINGS.iter().any(|ending| ends(ending)) {
            return Self::Example;
        }
        // Some drivers use `.` or an empty name for this machine.
        if !host.contains(&b'.')
            || !host.iter().any(u8::is_ascii_alphanumeric)
            || is(&["127.0.0.1", "0.0.0.0", "localhost.localdomain"])
            || ends(".local")
            || ends(".localhost")
        {
            return Self::Local;
        }
        Self::Real
    }
}

/// Placeholder words for a password in documentation.
const STAND_INS: [&str; 31] = split(
    "password passwd pass pwd secret token user username changeme apikey api_key api-key key mypassword mypass \
     yourpassword your_password your-password credentials auth access_token p4ssw0rd pass123 password123 \
     none null nil true false empty undefined",
);

/// Assesses a password for a host, and chooses how strictly the noise filter checks it: a password
/// of low confidence gets the mild check.
pub(super) fn judge(user: &[u8], secret: &[u8], host: &[u8]) -> (Assessment, NoiseCheck) {
    let assessment = assess(user, secret, host);
    let noise = match assessment {
        Ok((Confidence::Low, _)) | Err(_) => NoiseCheck::Mild,
        Ok(_) => NoiseCheck::UrlPassword,
    };
    (assessment, noise)
}

fn assess(user: &[u8], secret: &[u8], host: &[u8]) -> Assessment {
    let mut buffer = [0; JUDGED_LENGTH_MAX];
    let secret = percent_decoded(secret, &mut buffer);
    if secret.len() < 4 {
        return Err("it is shorter than 4 characters");
    }
    if shape::is_template(secret) || shape::is_template(user) {
        return Err("it is a template, filled in elsewhere");
    }
    let shape = ValueShape::of(secret);
    if shape.is_masked() {
        return Err("it is masked");
    }
    // Other kinds of patterns and templates.
    let odd = |&byte: &u8| {
        matches!(byte, b'[' | b']' | b'(' | b')' | b'*' | b'^' | b'{' | b'}' | b'|' | b'+' | b',')
    };
    if user.iter().any(odd) || secret.iter().filter(|byte| odd(byte)).count() >= 2 {
        return Err("it is a pattern or a template");
    }
    let host = Host::of(host);
    let stands_in = is_one_of(secret, &STAND_INS);
    let words = shape.digits == 0 && (shape.upper == 0 || shape.others == 0 && shape.upper == 1);
    let simple = words || shape.classes() == 1 || stands_in || secret.eq_ignore_ascii_case(user);
    if stands_in {
        return Err("it is a placeholder for a password");
    }
    if simple && host == Host::Example {
        return Err("it is a word or a number, and the host is an example");
    }
    if host == Host::Example {
        return Ok((Confidence::Low, "a password in a URL, but the host is an example"));
    }
    if simple {
        return Ok((Confidence::Low, "a password in a URL, but it is a word or a number"));
    }
    if secret.len() >= 6
        && password::judge(secret).map_or(true, |(confidence, _)| confidence == Confidence::Low)
    {
        return Ok((Confidence::Low, "a password in a URL, but it seems made up"));
    }
    Ok(match host {
        Host::Real => (Confidence::High, "a password in a URL, for a host that is not an example"),
        Host::Local | Host::Example => {
            (Confidence::Medium, "a password in a URL, for a local host")
        }
    })
}

/// Decodes the text's `%` escapes, as far as the result fits into the buffer.
pub(crate) fn percent_decoded<'a>(
    text: &'a [u8],
    buffer: &'a mut [u8; JUDGED_LENGTH_MAX],
) -> &'a [u8] {
    if !text.contains(&b'%') {
        return text;
    }
    let digit = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let (mut at, mut length) = (0, 0);
    while at < text.len() && length < buffer.len() {
        buffer[length] = text[at];
        if text[at] == b'%'
            && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
        {
            buffer[length] = (high * 16 + low) as u8;
            at += 2;
        }
        at += 1;
        length += 1;
    }
    &buffer[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        for (text, decoded) in [
            ("a%40b", "a@b"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("abc", "abc"),
            ("%41%42", "AB"),
        ] {
            assert_eq!(
                percent_decoded(text.as_bytes(), &mut [0; JUDGED_LENGTH_MAX]),
                decoded.as_bytes()
            );
        }
    }

    #[test]
    fn hosts() {
        for (host, expected) in [
            ("example.com", Host::Example),
            ("db.example.com", Host::Example),
            ("localhost", Host::Local),
            ("db", Host::Local),
            ("127.0.0.1", Host::Local),
            ("db.prod.internal", Host::Real),
            ("10.0.0.7", Host::Real),
        ] {
            assert_eq!(Host::of(host.as_bytes()), expected, "{host}");
        }
    }
}
