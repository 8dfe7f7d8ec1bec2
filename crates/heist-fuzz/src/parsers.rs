//! The detectors written in Rust, with one target for each. A target calls the detector at its
//! triggers, as a scan does, and at one position that no trigger selected.
//!
//! Checks that they do not panic; that the secret of a hit is not empty and lies within the hit,
//! and the hit within the window; that hits are appended to those already there; and that the same
//! window gives the same hits.

use crate::input::Input;
use heist_scan::parsers::{Form, Hit, Trigger, Window, assignment};
use heist_scan::rules::ParserKind;

/// Fuzzes the detector for random values assigned to names that sound secret.
pub fn generic_secret(data: &[u8]) {
    check(ParserKind::GenericSecret, data);
}

/// Fuzzes the detector for passwords in configuration files.
pub fn password(data: &[u8]) {
    check(ParserKind::Password, data);
}

/// Fuzzes the detector for `scheme://user:password@host`.
pub fn url_credentials(data: &[u8]) {
    check(ParserKind::UrlCredentials, data);
}

/// Fuzzes the detector for JSON Web Tokens.
pub fn jwt(data: &[u8]) {
    check(ParserKind::Jwt, data);
}

/// Fuzzes the detector for PEM private keys.
pub fn private_key(data: &[u8]) {
    check(ParserKind::PrivateKey, data);
}

/// Fuzzes the detector for connection strings.
pub fn connection_string(data: &[u8]) {
    check(ParserKind::ConnectionString, data);
}

/// The maximum number of triggers to try in one text. More take time and find nothing new.
const POSITIONS_MAX: usize = 64;

fn check(kind: ParserKind, data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    let (text, begin) = input.padded();
    for at in positions(kind, &text).take(POSITIONS_MAX) {
        examine(kind, &cut(kind, &text, at));
    }
    // Any position, even beyond the end, with any flags: detectors must not trust their callers.
    let at = begin + usize::from(u16::from_le_bytes([input.choice(4), input.choice(5)]));
    let mut window = Window::new(&text, at);
    window.begins_object = input.choice(3) & 2 != 0;
    window.ends_object = input.choice(3) & 4 != 0;
    examine(kind, &window);
    if at < text.len() {
        check_assignments(&cut(kind, &text, at));
    }
}

/// Returns the positions where a scan calls this detector, computed in a slow and obvious way.
fn positions(kind: ParserKind, text: &[u8]) -> impl Iterator<Item = usize> {
    let stands = |at: usize, trigger: &Trigger| match *trigger {
        Trigger::Literal(literal) => text[at..].starts_with(literal.as_bytes()),
        Trigger::LiteralNoCase(literal) => {
            let there = text.get(at..at + literal.len());
            there.is_some_and(|there| there.eq_ignore_ascii_case(literal.as_bytes()))
        }
        Trigger::Run => {
            let begins = at == 0 || !text[at - 1].is_ascii_alphanumeric();
            let run = text[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric());
            begins && run.clone().count() >= 12 && run.clone().any(u8::is_ascii_digit)
        }
    };
    (0..text.len()).filter(move |&at| kind.triggers().iter().any(|trigger| stands(at, trigger)))
}

/// Returns the window around a position, as a scan cuts it.
fn cut(kind: ParserKind, text: &[u8], at: usize) -> Window<'_> {
    let reach = kind.reach();
    let from = at.saturating_sub(reach.before);
    let to = text.len().min(at + reach.after);
    let mut window = Window::new(&text[from..to], at - from);
    window.begins_object = from == 0;
    window.ends_object = to == text.len();
    window
}

fn examine(kind: ParserKind, window: &Window<'_>) {
    let mut hits = Vec::new();
    kind.examine(window, &mut hits);
    for Hit { whole, secret, form, .. } in &hits {
        assert!(secret.start < secret.end, "{kind}: an empty secret at {secret:?}");
        assert!(
            whole.start <= secret.start && secret.end <= whole.end,
            "{kind}: the secret at {secret:?} is not in {whole:?}"
        );
        let length = window.text.len();
        assert!(whole.end <= length, "{kind}: {whole:?} goes beyond the window's {length} bytes");
        let has_reason = match form {
            Form::Secret(_, reason) => !reason.is_empty(),
            Form::Other(reason) => !reason.is_empty(),
        };
        assert!(has_reason, "{kind}: a hit has no reason");
    }
    let once = hits.clone();
    kind.examine(window, &mut hits);
    assert_eq!(hits, [once.as_slice(), &once].concat(), "{kind}: the same hits, added");
}

/// Checks the assignment parser, which three detectors and the rules with an `assignment` share.
fn check_assignments(window: &Window<'_>) {
    let found = [assignment::from_key(window), assignment::from_value(window)];
    for found in found.into_iter().flatten() {
        let length = window.text.len();
        for range in [&found.key, &found.value] {
            assert!(
                range.start <= range.end && range.end <= length,
                "an assignment's {range:?} in a window of {length} bytes"
            );
        }
    }
}
