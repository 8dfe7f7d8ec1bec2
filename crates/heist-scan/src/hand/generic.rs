//! Generic secrets.
use super::assignment::from_value;
use super::{Hit, Window};
use crate::confidence::Confidence;

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let Some(found) = from_value(window) else { return };
    let key = window.text[found.key.clone()].to_ascii_lowercase();
    let named = [&b"token"[..], b"secret", b"api_key", b"apikey"]
        .iter()
        .any(|word| key.windows(word.len()).any(|part| part == *word));
    if named && found.value.len() >= 16 {
        let whole = found.key.start.min(found.value.start)..found.value.end;
        let (confidence, reason) = (Confidence::Medium, "the key names a secret".into());
        hits.push(Hit { whole, secret: found.value, confidence, reason });
    }
}
