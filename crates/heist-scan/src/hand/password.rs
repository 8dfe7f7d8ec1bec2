//! Passwords.
use super::assignment::after_key;
use super::value::Alphabet;
use super::{Hit, Trigger, Window};
use crate::confidence::Confidence;

pub(super) const TRIGGERS: &[Trigger] = &[
    Trigger::LiteralNoCase("passw"),
    Trigger::LiteralNoCase("passphrase"),
    Trigger::LiteralNoCase("_pass"),
    Trigger::LiteralNoCase("pwd"),
];

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let Some(found) = after_key(window, Alphabet::Text) else { return };
    if found.quoted && (6..=128).contains(&found.value.len()) {
        let whole = found.key.start.min(found.value.start)..found.value.end;
        let (confidence, reason) = (Confidence::Medium, "the key names a password".into());
        hits.push(Hit { whole, secret: found.value, confidence, reason });
    }
}
