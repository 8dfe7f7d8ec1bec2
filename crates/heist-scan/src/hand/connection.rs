//! Connection strings.
use super::{Hit, Reach, Trigger, Window};
use crate::noise::Noise;

pub(super) const TRIGGERS: &[Trigger] = &[
    Trigger::Literal("://"),
    Trigger::LiteralNoCase("password="),
    Trigger::LiteralNoCase("pwd="),
    Trigger::Literal("AccountKey="),
    Trigger::Literal("SharedAccessKey="),
];
pub(super) const REACH: Reach = Reach { before: 1024, after: 1024 };

pub(super) fn examine(_window: &Window<'_>, _noise: &Noise, _hits: &mut Vec<Hit>) {}
