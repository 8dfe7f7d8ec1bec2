//! Credentials in URLs.
use super::{Hit, Reach, Window};
use crate::noise::Noise;

pub(super) const REACH: Reach = Reach { before: 32, after: 1024 };

pub(super) fn examine(_window: &Window<'_>, _noise: &Noise, _hits: &mut Vec<Hit>) {}
