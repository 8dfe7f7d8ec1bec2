//! Private keys.
use super::{Hit, Reach, Trigger, Window};

pub(super) const TRIGGERS: &[Trigger] = &[
    Trigger::Literal("-----BEGIN "),
    Trigger::Literal("PuTTY-User-Key-File-"),
    Trigger::Literal("<RSAKeyValue>"),
];
pub(super) const REACH: Reach = Reach { before: 64, after: 16 * 1024 };

pub(super) fn examine(_window: &Window<'_>, _hits: &mut Vec<Hit>) {}
