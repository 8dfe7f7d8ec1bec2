//! The noise filter: what speaks against a secret.

use std::path::Path;

/// The noise filter. Immutable, shared by all workers.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Whether it filters at all: if not, every verdict is [`Verdict::Keep`].
    pub enabled: bool,
}

impl Default for Noise {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// What the filter says about a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Keep,
    /// Something does: it becomes [`Confidence::Low`](crate::Confidence::Low), for this reason.
    Lower(&'static str),
    /// It is certainly none, for this reason.
    Drop(&'static str),
}

/// Where a secret stands.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The object's path below the root of the scan; may be empty.
    pub path: &'a Path,
    /// What the secret is assigned to; may be empty.
    pub key: &'a [u8],
    /// The text near it, in its line.
    pub line: &'a [u8],
}

impl Default for Noise {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Noise {
    /// Strict: for generic secrets and passwords.
    #[must_use]
    pub fn judge_generic(&self, secret: &[u8], context: &Context<'_>) -> Verdict {
        let _ = context;
        if self.enabled && shannon_entropy(secret) < 2.5 {
            Verdict::Drop("too regular")
        } else {
            Verdict::Keep
        }
    }

    /// Mild: for vendors' forms.
    #[must_use]
    pub fn judge_vendor(&self, secret: &[u8], context: &Context<'_>) -> Verdict {
        let _ = context;
        let is_example = secret.windows(7).any(|part| part.eq_ignore_ascii_case(b"example"));
        if self.enabled && is_example {
            Verdict::Lower("says that it is an example")
        } else {
            Verdict::Keep
        }
    }
}

/// Shannon's entropy of the bytes, in bits per byte; 0 for none.
#[must_use]
pub fn shannon_entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let len = bytes.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) / len)
        .map(|share| -share * share.log2())
        .sum()
}
