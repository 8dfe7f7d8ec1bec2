//! What speaks against a secret. This is the least that the hand-written detectors need: everything is kept.

use std::path::Path;

/// What is known about noise. Shared and never changed.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Whether anything is judged at all.
    pub enabled: bool,
}

/// What is to become of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Keep,
    /// Its confidence becomes low, for this reason.
    Lower(&'static str),
    /// It is certainly nothing, for this reason.
    Drop(&'static str),
}

/// Where a secret stands.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The object's path below the root of the scan; may be empty.
    pub path: &'a Path,
    /// What it is assigned to; may be empty.
    pub key: &'a [u8],
    /// The text near it.
    pub line: &'a [u8],
}

impl Default for Noise {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Noise {
    /// Strictly: for generic secrets and passwords.
    #[must_use]
    pub fn judge_generic(&self, secret: &[u8], context: &Context<'_>) -> Verdict {
        let _ = (secret, context);
        Verdict::Keep
    }

    /// Mildly: for vendors' forms.
    #[must_use]
    pub fn judge_vendor(&self, secret: &[u8], context: &Context<'_>) -> Verdict {
        let _ = (secret, context);
        Verdict::Keep
    }
}

/// Bits per byte.
#[must_use]
pub fn shannon_entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let total = bytes.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}
