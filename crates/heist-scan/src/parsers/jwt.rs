//! JSON Web Tokens: three parts in base64url, of which the first two are JSON objects (signed), or
//! five with a header that is one (encrypted).
//!
//! The parser reads the header and the claims, so it does not mistake other text for a token. It
//! ignores the expiry time: a finding must not depend on the day of the scan.

use super::json;
use super::{Form, Hit, Reach, Window};
use crate::confidence::Confidence;
use crate::noise::NoiseCheck;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::ops::Range;

/// The length of the longest token. Tokens with many claims take some kilobytes.
pub(super) const REACH: Reach = Reach { before: 4, after: 8 * 1024 };

/// The length of the longest encoded header.
const HEADER_LENGTH_MAX: usize = 2048;

/// Every header that names an algorithm is longer than this.
const HEADER_LENGTH_MIN: usize = 16;

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let text = window.text;
    if !text[window.at..].starts_with(b"eyJ")
        || !begins_token(&text[..window.at], window.begins_object)
    {
        return;
    }
    let Some(header) = part(window, window.at).filter(|header| header.len() >= HEADER_LENGTH_MIN)
    else {
        return;
    };
    if text.get(header.end) != Some(&b'.') || header.len() > HEADER_LENGTH_MAX {
        return;
    }
    let mut buffer = [0; HEADER_LENGTH_MAX];
    let Ok(length) = URL_SAFE_NO_PAD.decode_slice(&text[header.clone()], &mut buffer) else {
        return;
    };
    let Some(named) = Header::read(&buffer[..length]) else { return };
    let judged = if named.encrypts {
        encrypted(window, header.end + 1)
    } else {
        signed(window, header, &named)
    };
    let Some((end, confidence, reason)) = judged else { return };
    let whole = window.at..end;
    hits.push(Hit {
        whole: whole.clone(),
        secret: whole,
        key: 0..0,
        form: Form::Secret(confidence, reason.into()),
        noise: NoiseCheck::Skip,
    });
}

/// Returns `true` if a token can begin after these bytes: they end with a sign or with an escape
/// (`\n`, `%3D`).
fn begins_token(before: &[u8], begins_object: bool) -> bool {
    match before {
        [] => begins_object,
        [.., b'\\', b'n' | b'r' | b't'] | [.., b'%', _, _] => true,
        [.., last] => !is_base64url(*last),
    }
}

/// Returns the part that begins at `begin`, or `None` if the window's end cuts it off.
fn part(window: &Window<'_>, begin: usize) -> Option<Range<usize>> {
    let rest = window.text.get(begin..)?;
    match rest.iter().position(|&byte| !is_base64url(byte)) {
        Some(length) => Some(begin..begin + length),
        None => window.ends_object.then_some(begin..window.text.len()),
    }
}

/// The relevant members of a header.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// The length of the encoded signature, if the algorithm determines it.
    signature_length: Option<usize>,
    unsigned: bool,
    encrypts: bool,
}

impl Header {
    fn read(text: &[u8]) -> Option<Self> {
        let (mut algorithm, mut encrypts) = (None, false);
        json::read_object(text, |key, value| match key {
            b"alg" => algorithm = Some(value),
            b"enc" => encrypts = true,
            _ => {}
        })?;
        let algorithm = algorithm?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let signature_length = match algorithm {
            b"HS256" => Some(43),
            b"HS384" => Some(64),
            b"HS512" | b"ES256" | b"ES256K" | b"EdDSA" | b"Ed25519" => Some(86),
            b"ES384" => Some(128),
            b"ES512" => Some(176),
            _ => None,
        };
        let unsigned = algorithm.eq_ignore_ascii_case(b"none");
        (!algorithm.is_empty()).then_some(Self { signature_length, unsigned, encrypts })
    }
}

type Judged = (usize, Confidence, &'static str);

/// Reads the claims and the signature after the encoded header.
fn signed(window: &Window<'_>, encoded: Range<usize>, header: &Header) -> Option<Judged> {
    let text = window.text;
    let begin = encoded.end + 1;
    let claims = part(window, begin)?;
    // An object begins with a brace, so its encoding begins with this letter.
    if text.get(begin) != Some(&b'e') || text.get(claims.end) != Some(&b'.') {
        return None;
    }
    let signature = part(window, claims.end + 1)?;
    if signature.is_empty() && !header.unsigned {
        return None;
    }
    // Repeated headers or claims are not a signature.
    if text[signature.clone()] == text[encoded] || text[signature.clone()] == text[claims.clone()] {
        return None;
    }
    let claims = URL_SAFE_NO_PAD.decode(&text[claims]).ok()?;
    json::read_object(&claims, |_, _| {})?;
    let (confidence, reason) = if header.unsigned {
        (Confidence::Low, "header and claims parsed, but it is not signed")
    } else if is_sample(&claims) {
        (Confidence::Low, "header and claims parsed, but it is a sample from documentation")
    } else if header.signature_length.is_some_and(|length| length != signature.len()) {
        (Confidence::Low, "header and claims parsed, but the signature has the wrong length")
    } else {
        (Confidence::High, "header and claims parsed")
    };
    Some((signature.end, confidence, reason))
}

/// Reads the key, the initialisation vector, the text and the tag. The key begins at `begin` and
/// may be empty.
fn encrypted(window: &Window<'_>, begin: usize) -> Option<Judged> {
    let mut end = part(window, begin)?.end;
    for _ in 0..3 {
        if window.text.get(end) != Some(&b'.') {
            return None;
        }
        let next = part(window, end + 1).filter(|next| !next.is_empty())?;
        end = next.end;
    }
    Some((end, Confidence::High, "header parsed, the claims are encrypted"))
}

/// Returns `true` for the sample tokens that documentation shows everywhere.
fn is_sample(claims: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(claims, part).is_some();
    has(b"\"1234567890\"")
        || has(b"John Doe")
        || has(b"Jane Doe")
        || has(b"example.com/is_root")
        || has(b"\"some\":\"payload\"")
}

#[cfg(test)]
mod tests {
    use super::super::ParserKind;
    use super::super::testing::{BASE62, check_bounds, found_by, random};
    use super::*;
    use proptest::prelude::*;

    fn token(header: &str, claims: &str, signature: usize) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        // The last letter of a signature has spare bits, which are zero.
        let signature =
            if signature == 0 { String::new() } else { random(BASE62, signature - 1) + "A" };
        format!("{}.{}.{signature}", encode(header), encode(claims))
    }

    #[track_caller]
    fn check(text: &str, token: &str, expected: Option<Confidence>) {
        let text = text.replace("{}", token);
        let found = found_by(ParserKind::Jwt, text.as_bytes());
        assert_eq!(found.first().map(|hit| hit.assessment().0), expected, "{text}: {found:?}");
        if let Some(hit) = found.first() {
            assert_eq!(&text[hit.secret.clone()], token);
        }
    }

    #[test]
    fn repeated_headers_are_not_a_token() {
        for header in [HEADER, r#"{"alg":"RS256"}"#] {
            let header = URL_SAFE_NO_PAD.encode(header);
            let claims = URL_SAFE_NO_PAD.encode(CLAIMS);
            for text in [format!("{header}.").repeat(9), format!("{header}.{claims}.").repeat(9)] {
                assert_eq!(found_by(ParserKind::Jwt, text.as_bytes()), [], "{text}");
            }
        }
    }

    const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
    const CLAIMS: &str = r#"{"sub":"joe","iat":1516239022,"scope":["a","b"]}"#;

    #[test]
    fn tokens() {
        let good = token(HEADER, CLAIMS, 43);
        for text in [
            "{}",
            "token = \"{}\"",
            "Authorization: Bearer {}\n",
            "?token={}&x",
            "a\\n{}\\n",
            "t%3D{}",
        ] {
            check(text, &good, Some(Confidence::High));
        }
        check(
            "{}",
            &token(r#"{"typ":"JWT","alg":"RS256","kid":"1"}"#, CLAIMS, 342),
            Some(Confidence::High),
        );
        check(
            "{}",
            &token(HEADER, r#"{"sub":"1234567890","name":"John Doe"}"#, 43),
            Some(Confidence::Low),
        );
        check("{}", &token(r#"{"alg":"none","typ":"JWT"}"#, CLAIMS, 0), Some(Confidence::Low));
        check("{}", &token(HEADER, CLAIMS, 20), Some(Confidence::Low));
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"dir","enc":"A256GCM"}"#);
        check(
            "{}",
            &format!(
                "{header}..{}.{}.{}",
                random(BASE62, 16),
                random(BASE62, 80),
                random(BASE62, 22)
            ),
            Some(Confidence::High),
        );
    }

    #[test]
    fn texts_that_are_not_tokens() {
        for not in [
            token(r#"{"typ":"JWT","x":"abcd"}"#, CLAIMS, 43),
            token(r#"{"alg":"HS256","typ":"JWT""#, CLAIMS, 43),
            token(HEADER, r#"{"sub":"joe""#, 43),
            token(HEADER, "[1,2]", 43),
            token(HEADER, CLAIMS, 0),
            URL_SAFE_NO_PAD.encode(CLAIMS),
            format!("{}.{}", URL_SAFE_NO_PAD.encode(HEADER), URL_SAFE_NO_PAD.encode(CLAIMS)),
            "eyJ".to_owned(),
        ] {
            check("{}", &not, None);
        }
        check("a{}", &token(HEADER, CLAIMS, 43), None);
    }

    #[test]
    fn a_token_that_the_window_cuts_is_not_found() {
        let token = token(HEADER, CLAIMS, 43);
        let window =
            Window { text: token.as_bytes(), at: 0, begins_object: true, ends_object: false };
        let mut hits = Vec::new();
        examine(&window, &mut hits);
        assert_eq!(hits, []);
    }

    proptest! {
        #[test]
        fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
            check_bounds(ParserKind::Jwt, &text);
        }

        #[test]
        fn any_parts(parts in prop::collection::vec("\\{\"[a-z\":,{}0-9]{0,30}", 1..6)) {
            let parts: Vec<_> = parts.iter().map(|part| URL_SAFE_NO_PAD.encode(part)).collect();
            check_bounds(ParserKind::Jwt, parts.join(".").as_bytes());
        }
    }
}
