//! Shared by the parsers' tests: runs a parser at its triggers, as a scan does, and generates
//! random secrets, so that the source files do not contain any.

use super::{Form, Hit, ParserKind, Trigger, Window};
use crate::confidence::Confidence;
use heist::rng::XorShift64;
use std::cell::RefCell;

thread_local! {
    static RANDOM: RefCell<XorShift64> = const { RefCell::new(XorShift64::new(0x5eed)) };
}

/// Returns the positions of a trigger, in a slow and obvious way.
fn positions(trigger: Trigger, text: &[u8]) -> Vec<usize> {
    let occurrences = |literal: &str, fold: bool| {
        (0..text.len())
            .filter(|&at| {
                text.get(at..at + literal.len()).is_some_and(|part| {
                    part == literal.as_bytes()
                        || fold && part.eq_ignore_ascii_case(literal.as_bytes())
                })
            })
            .collect()
    };
    match trigger {
        Trigger::Literal(literal) => occurrences(literal, false),
        Trigger::LiteralNoCase(literal) => occurrences(literal, true),
        Trigger::Run => (0..text.len())
            .filter(|&at| {
                let run = text[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric());
                (at == 0 || !text[at - 1].is_ascii_alphanumeric())
                    && run.clone().count() >= 12
                    && run.clone().any(u8::is_ascii_digit)
            })
            .collect(),
    }
}

impl Hit {
    /// Returns the confidence and the reason of a hit that the parser accepts as a secret.
    pub(super) fn assessment(&self) -> (Confidence, &str) {
        match &self.form {
            Form::Secret(confidence, reason) => (*confidence, reason),
            Form::Other(reason) => panic!("not taken for a secret: {reason}"),
        }
    }
}

/// Returns all hits that the parser accepts as secrets, as positions in the text. Each window is
/// cut to the parser's reach.
pub(super) fn found_by(kind: ParserKind, text: &[u8]) -> Vec<Hit> {
    let reach = kind.reach();
    let mut found = Vec::new();
    for &trigger in kind.triggers() {
        for at in positions(trigger, text) {
            let begin = at.saturating_sub(reach.before);
            let end = text.len().min(at + reach.after);
            let window = Window {
                text: &text[begin..end],
                at: at - begin,
                begins_object: begin == 0,
                ends_object: end == text.len(),
            };
            let mut hits = Vec::new();
            kind.examine(&window, &mut hits);
            for hit in hits {
                assert!(
                    hit.whole.start <= hit.secret.start && hit.secret.end <= hit.whole.end,
                    "{hit:?}"
                );
                assert!(
                    hit.secret.start < hit.secret.end && hit.whole.end <= window.text.len(),
                    "{hit:?}"
                );
                let moved = |range: std::ops::Range<usize>| range.start + begin..range.end + begin;
                let (whole, secret) = (moved(hit.whole), moved(hit.secret));
                let hit = Hit { whole, secret, key: moved(hit.key), ..hit };
                if matches!(hit.form, Form::Secret(..)) && !found.contains(&hit) {
                    found.push(hit);
                }
            }
        }
    }
    found
}

/// Runs the parser at every position, with every kind of edge, and checks that it does not panic
/// and that hits lie inside the window.
pub(super) fn check_bounds(kind: ParserKind, text: &[u8]) {
    found_by(kind, text);
    for at in 0..=text.len() {
        for edges in 0..4 {
            let window =
                Window { text, at, begins_object: edges & 1 != 0, ends_object: edges & 2 != 0 };
            let mut hits = Vec::new();
            kind.examine(&window, &mut hits);
            for hit in hits {
                assert!(
                    hit.whole.start <= hit.secret.start && hit.secret.end <= hit.whole.end,
                    "{hit:?}"
                );
                assert!(
                    hit.secret.start < hit.secret.end && hit.whole.end <= text.len(),
                    "{hit:?}"
                );
            }
        }
    }
}

/// Returns random characters of an alphabet.
pub(super) fn random(alphabet: &str, length: usize) -> String {
    let letters = alphabet.as_bytes();
    RANDOM.with_borrow_mut(|random| {
        (0..length)
            .map(|_| char::from(letters[random.next_u64() as usize % letters.len()]))
            .collect()
    })
}

/// Returns random bytes.
pub(super) fn random_bytes(length: usize) -> Vec<u8> {
    RANDOM.with_borrow_mut(|random| (0..length).map(|_| random.next_u64() as u8).collect())
}

pub(super) const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Replaces `{b62:n}`, `{b36:n}`, `{hex:n}`, `{b64:n}` and `{uuid}` in a text. Returns the text and
/// the last replacement.
pub(super) fn random_text(template: &str) -> (String, String) {
    let (mut text, mut rest, mut last) = (String::new(), template, String::new());
    while let Some((before, inner, after)) = rest.split_once('{').and_then(|(before, after)| {
        let (inner, after) = after.split_once('}')?;
        Some((before, inner, after))
    }) {
        let made = match inner.split_once(':') {
            Some(("b62", length)) => Some(random(BASE62, length.parse().expect("a length"))),
            Some(("b36", length)) => Some(random(
                "abcdefghijklmnopqrstuvwxyz0123456789",
                length.parse().expect("a length"),
            )),
            Some(("hex", length)) => {
                Some(random("0123456789abcdef", length.parse().expect("a length")))
            }
            Some(("b64", length)) => {
                Some(random(&format!("{BASE62}+/"), length.parse().expect("a length")))
            }
            None if inner == "uuid" => {
                let hex = random("0123456789abcdef", 32);
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                Some(parts.join("-"))
            }
            _ => None,
        };
        text.push_str(before);
        if let Some(made) = made {
            text.push_str(&made);
            last = made;
            rest = after;
        } else {
            text.push('{');
            rest = &rest[before.len() + 1..];
        }
    }
    text.push_str(rest);
    (text, last)
}
