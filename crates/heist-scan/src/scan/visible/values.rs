//! Where the value after an operator ends: strings in all kinds of quotes, lists, blocks, elements,
//! and words without quotes.

use super::Denied;
use memchr::memmem;

/// Words that are no values. A value of the same letters is not worth hiding.
const EMPTY: [&[u8]; 8] =
    [b"nil", b"null", b"none", b"true", b"false", b"undefined", b"self", b"this"];

/// Adds the value at `from`, and returns where it ends. White space may come before it.
pub(super) fn value(text: &[u8], from: usize, denied: &mut Denied) -> usize {
    let space = text[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let at = from + space;
    if memchr::memchr(b'\n', &text[from..at]).is_some() {
        if begins_pair(text, at) {
            return from;
        }
        if text[at..].starts_with(b"- ") {
            return items(text, at, denied);
        }
    }
    // The type of a value in YAML.
    if text[at..].starts_with(b"!!") {
        let tag = text[at..].iter().take_while(|byte| byte.is_ascii_graphic()).count();
        return value(text, at + tag, denied);
    }
    if let Some(open) = opening(text, at) {
        let end = closing(text, open, denied);
        return end;
    }
    match &text[at..] {
        [b'[' | b'(' | b'{', ..] => list(text, at, denied),
        [b'|' | b'>', ..] if ends_line(&text[at + 1..]) => block(text, at, denied),
        [b'<', b'!' | b'a'..=b'z', ..] => {
            xml_text(text, at, denied);
            text.len()
        }
        _ => {
            // The sign of a reference or a pointer does not end a value.
            let signs = text[at..].iter().take_while(|byte| matches!(byte, b'&' | b'*' | b'@'));
            let end = end_of_words(text, at + signs.count());
            let word = text[at..end].trim_ascii_end();
            if !EMPTY.iter().any(|empty| word.eq_ignore_ascii_case(empty)) {
                denied.add(at..at + word.len());
            }
            end
        }
    }
}

/// Returns the quotes that open a string at `at`, perhaps after a prefix such as `r#` or `b`.
fn opening(text: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let rest = &text[at..];
    let is_prefix =
        |byte: &&u8| byte.is_ascii_alphabetic() || matches!(byte, b'&' | b'@' | b'$' | b'#' | b'*');
    let begin = rest.iter().take(4).take_while(is_prefix).count();
    for begin in [begin, 0] {
        let rest = &rest[begin..];
        let slashes = rest.iter().take_while(|&&byte| byte == b'\\').count();
        let length = match &rest[slashes..] {
            [b'"', b'"', b'"', ..] if slashes == 0 => 3,
            [b'\'', b'\'', b'\'', ..] if slashes == 0 => 3,
            [b'"' | b'\'' | b'`', ..] => 1,
            rest if rest.starts_with(b"&quot;") || rest.starts_with(b"&apos;") => 6,
            rest if rest.starts_with(b"&#34;") || rest.starts_with(b"&#39;") => 5,
            rest if rest.starts_with(b"%22") || rest.starts_with(b"%27") => 3,
            rest if slashes == 1 && rest.starts_with(b"u0022") => 5,
            _ => continue,
        };
        return Some(at + begin..at + begin + slashes + length);
    }
    None
}

/// Adds the string that `open` opens, and returns where it ends.
fn closing(text: &[u8], open: std::ops::Range<usize>, denied: &mut Denied) -> usize {
    let (mark, mut at) = (&text[open.clone()], open.end);
    loop {
        let Some(found) = memmem::find(&text[at..], mark) else {
            denied.add(open.end..text.len());
            return text.len();
        };
        let end = at + found;
        let slashes = text[open.end..end].iter().rev().take_while(|&&byte| byte == b'\\').count();
        let is_doubled = mark.len() == 1 && end > open.end && text.get(end + 1) == Some(&mark[0]);
        if slashes % 2 == 1 {
            at = end + 1;
        } else if is_doubled {
            at = end + 2;
        } else {
            denied.add(open.end..end);
            return end + mark.len();
        }
    }
}

/// Adds the strings of a list that begins at `at`, except names in it, and in square brackets also
/// words without quotes. Returns where the list ends.
fn list(text: &[u8], at: usize, denied: &mut Denied) -> usize {
    let has_words = text[at] == b'[';
    let (mut depth, mut at) = (0_usize, at);
    while at < text.len() {
        if let Some(open) = opening(text, at).filter(|open| open.start == at) {
            at = if begins_pair(text, at) {
                // A name: skip its quotes, and let its own value be judged by it.
                closing(text, open, &mut Denied::default())
            } else {
                closing(text, open, denied)
            };
            continue;
        }
        match text[at] {
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            byte if has_words && (byte.is_ascii_graphic() && byte != b',') => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']');
                let length = text[at..].iter().position(ends).unwrap_or(text.len() - at);
                if !begins_pair(text, at) {
                    denied.add(at..at + length);
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// Adds the lines that begin with `- `, and returns where they end.
fn items(text: &[u8], mut at: usize, denied: &mut Denied) -> usize {
    while text[at..].starts_with(b"- ") {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        if !begins_pair(text, at + 2) {
            denied.add(at + 2..end);
        }
        at = end + text[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }
    at
}

/// Returns `true` if a line ends here, perhaps after the signs of a block in YAML.
fn ends_line(rest: &[u8]) -> bool {
    let signs = rest
        .iter()
        .take(3)
        .take_while(|byte| matches!(byte, b'-' | b'+' | b'0'..=b'9' | b' ' | b'\r'));
    rest.get(signs.count()) == Some(&b'\n')
}

/// Adds the indented lines after a sign such as `|`, and returns where they end.
fn block(text: &[u8], at: usize, denied: &mut Denied) -> usize {
    let mut at = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
    let begin = at;
    while text[at..].starts_with(b"\n ") || text[at..].starts_with(b"\n\t") {
        at += 1 + memchr::memchr(b'\n', &text[at + 1..]).unwrap_or(text.len() - at - 1);
    }
    denied.add(begin..at);
    at
}

/// Adds the text of an element that begins at `at`, up to its end.
pub(super) fn xml_text(text: &[u8], mut at: usize, denied: &mut Denied) {
    at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if text[at..].starts_with(b"<![CDATA[") {
        let end = memmem::find(&text[at..], b"]]>").map_or(text.len(), |length| at + length);
        return denied.add(at..end);
    }
    // Another element holds the value.
    if let [b'<', first, ..] = text[at..]
        && first.is_ascii_alphabetic()
        && let Some(close) = memchr::memchr(b'>', &text[at..])
    {
        at += close + 1;
    }
    let line = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
    let end = memchr::memchr(b'<', &text[at..]).map(|length| at + length);
    match end {
        Some(end) if end <= line || memmem::find(&text[at..end], b"\n\n").is_none() => {
            denied.add(at..end);
        }
        _ => denied.add(at..end_of_words(text, at)),
    }
}

/// Returns `true` if a name with an operator begins at `at`: the next pair of a list of pairs.
pub(super) fn begins_pair(text: &[u8], at: usize) -> bool {
    let quotes = |byte: &&u8| {
        matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b'\\'
                | b' '
                | b'\t'
                | b'\n'
                | b'\r'
                | b'{'
                | b'('
                | b'['
                | b','
                | b'&'
        )
    };
    let Some(rest) = text.get(at..) else { return false };
    let begin = rest.iter().take(40).take_while(quotes).count();
    let is_quoted = begin > 0 && matches!(rest[begin - 1], b'"' | b'\'' | b'`');
    let rest = &rest[begin..];
    let is_name =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$');
    let length = rest.iter().take(48).take_while(is_name).count();
    if length == 0 || !(rest[0].is_ascii_alphabetic() || matches!(rest[0], b'_' | b'$' | b'-')) {
        return false;
    }
    let rest = &rest[length..];
    let is_quote = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']');
    let quotes = rest.iter().take(4).take_while(is_quote).count();
    let closes = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`');
    if is_quoted && !rest[..quotes].iter().any(closes) {
        // A string that only begins like a name.
        return false;
    }
    let rest = &rest[quotes..];
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match &rest[spaces..] {
        // `key==` is the end of base64 rather than a name, and so may `key=` be.
        [b'=', b'=', ..] => false,
        [b'=', next, ..] => spaces > 0 || !next.is_ascii_whitespace(),
        [b':', b'/', b'/', ..] => false,
        // The colon of a pair has space or a quote after it.
        [b':', next, ..] => {
            next.is_ascii_whitespace() || matches!(next, b'"' | b'\'' | b'=' | b'{' | b'[' | b'\\')
        }
        _ => false,
    }
}

/// Returns where a value without quotes ends: at white space, unless only words follow in its line,
/// or before the next name.
fn end_of_words(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < text.len() {
        match text[at] {
            b'\n' | b'\r' => return at,
            b' ' | b'\t' => return end_of_sentence(text, at).unwrap_or(at),
            b'<' if text.get(at + 1) == Some(&b'/') => return at,
            b'&' | b';' | b',' | b'?' | b'"' | b'\'' | b'|' if begins_pair(text, at + 1) => {
                return at;
            }
            _ => at += 1,
        }
    }
    at
}

/// Returns where the line or a comment in it begins, if there are only words until then.
fn end_of_sentence(text: &[u8], from: usize) -> Option<usize> {
    for at in from..text.len() {
        match text[at] {
            b'\n' | b'\r' => return Some(at),
            b'-' if text[at - 1].is_ascii_whitespace() && is_option(&text[at..]) => {
                return Some(at);
            }
            b'#' if text[at - 1].is_ascii_whitespace() => return Some(at),
            b'/' if text[at - 1].is_ascii_whitespace() && text.get(at + 1) == Some(&b'/') => {
                return Some(at);
            }
            b'=' | b':' | b';' | b',' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>'
            | b'"' | b'\'' | b'`' | b'&' | b'|' => return None,
            _ => {}
        }
    }
    Some(text.len())
}

/// Returns `true` if an option of a command begins here.
fn is_option(rest: &[u8]) -> bool {
    let dashes = rest.iter().take_while(|&&byte| byte == b'-').count();
    dashes <= 2 && rest.get(dashes).is_some_and(u8::is_ascii_alphabetic)
}
