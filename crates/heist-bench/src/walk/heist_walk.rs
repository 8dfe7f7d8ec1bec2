//! The walks of the library `heist-walk`, as programs that take part in the race.
//!
//! They belong here as soon as the crate is part of the workspace: a function like those in `libraries`, from a path
//! and a question to totals, and a line each in [`CONTENDERS`]. Until then nobody takes part for it.

use super::contender::Contender;

/// Those who walk for `heist-walk`.
pub(crate) const CONTENDERS: &[Contender] = &[];
