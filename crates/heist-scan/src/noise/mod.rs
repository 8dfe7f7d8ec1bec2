//! The noise filter: what suggests that a match is not a secret.
//!
//! | file | idea |
//! |---|---|
//! | `composition` | classes of characters and alphabets |
//! | `entropy` | how much entropy chance gives a text of a length and an alphabet |
//! | `regular` | repetitions, sequences, keyboard rows |
//! | `vocabulary`, `words.txt` | words, placeholders, and what reads like words |
//! | `form` | templates, URLs, versions, dates, files' names, code |
//! | `content` | hashes, images, public keys, Base64 of text |
//! | `location` | paths of tests, documentation, minified code, tables of numbers |
//! | `generic`, `password` | the strict checks |
//!
//! Invariants: an answer depends only on what is passed in. The filter reads a bounded part of a
//! secret, its key, line and path, and allocates nothing. It keeps random tokens of 20 characters
//! and more, except a few in a thousand: a test counts them.
//!
//! Not guaranteed: that what the filter keeps is a secret. It only recognises what is not.

mod composition;
mod content;
mod entropy;
mod form;
mod generic;
mod location;
mod password;
mod regular;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use entropy::shannon_entropy;

use composition::LOOKED_AT;
use regular::{Regularity, is_empty_form, regularity};
use std::path::Path;

/// The noise filter. It never changes, so all workers share one.
///
/// ```
/// use heist_scan::noise::{Noise, NoiseContext, NoiseVerdict};
///
/// let noise = Noise::default();
/// let context = NoiseContext { key: b"api_key", line: b"" };
/// let placeholder = noise.judge_generic(b"your-api-key-1234567", &context);
/// assert!(matches!(placeholder, NoiseVerdict::Drop(_)));
/// assert_eq!(noise.judge_generic(b"k3Qz9fVq3rT8xLm2Zp6K", &context), NoiseVerdict::Keep);
/// ```
#[derive(Clone, Debug)]
pub struct Noise {
    /// Whether the filter is on. If it is off, it keeps everything.
    pub enabled: bool,
}

impl Default for Noise {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// The filter's answer about one secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseVerdict {
    /// Nothing speaks against the secret.
    Keep,
    /// Something does, for this reason: the confidence becomes [`Low`](crate::Confidence::Low).
    Lower(&'static str),
    /// It is certainly not a secret, for this reason.
    Drop(&'static str),
}

/// How strictly the filter looks at a secret. Parsers choose this for what they find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseCheck {
    /// See [`Noise::judge_generic`].
    Strict,
    /// See [`Noise::judge_vendor`].
    Mild,
    /// See [`Noise::judge_url_password`].
    UrlPassword,
    /// Not at all: the secret was parsed, so its letters say nothing about it.
    Skip,
}

/// The text around a secret.
#[derive(Clone, Copy, Debug)]
pub struct NoiseContext<'a> {
    /// What the secret is assigned to; may be empty.
    pub key: &'a [u8],
    /// The text near it, in its line; may be empty.
    pub line: &'a [u8],
}

/// How many bytes of a key the filter reads, counted from its end.
const KEY_LOOKED_AT: usize = 128;

/// How many bytes of a line the filter reads.
const LINE_LOOKED_AT: usize = 1024;

impl NoiseContext<'_> {
    /// Returns the part of the context that the filter reads.
    fn bounded(&self) -> NoiseContext<'_> {
        NoiseContext {
            key: &self.key[self.key.len().saturating_sub(KEY_LOOKED_AT)..],
            line: &self.line[..self.line.len().min(LINE_LOOKED_AT)],
        }
    }
}

impl Noise {
    /// Judges a generic secret or a password, strictly. If the key names a password, the filter expects words and
    /// years in the value: people choose such passwords, programs do not make such tokens.
    ///
    /// Where the secret is does not matter here: see [`Noise::made_up_path`] and [`Noise::unlikely_line`].
    #[must_use]
    pub fn judge_generic(&self, secret: &[u8], context: &NoiseContext<'_>) -> NoiseVerdict {
        if !self.enabled {
            return NoiseVerdict::Keep;
        }
        let looked_at = &secret[..secret.len().min(LOOKED_AT)];
        generic::judge(looked_at, &context.bounded())
    }

    /// Judges a secret of a vendor's form, mildly. Only placeholders, repetitions and sequences count, and they only
    /// lower the confidence, unless one repeated character is all that follows the prefix. Where the secret is does
    /// not matter: a vendor's token in a test is as valid as anywhere else.
    #[must_use]
    pub fn judge_vendor(&self, secret: &[u8]) -> NoiseVerdict {
        if !self.enabled {
            return NoiseVerdict::Keep;
        }
        let looked_at = &secret[..secret.len().min(LOOKED_AT)];
        if is_empty_form(looked_at) {
            NoiseVerdict::Drop("a form without content")
        } else if let Some(regularity) = regularity(looked_at) {
            NoiseVerdict::Lower(reason(regularity))
        } else if is_crossed_out(looked_at) || vocabulary::has_placeholder(looked_at) {
            NoiseVerdict::Lower("a placeholder")
        } else if form::is_template(looked_at) {
            NoiseVerdict::Lower("a reference or template, filled in elsewhere")
        } else {
            NoiseVerdict::Keep
        }
    }

    /// Judges a password of a URL or a connection string: mildly as it is written, then strictly after percent
    /// decoding. The strict part only lowers the confidence, because a host beside the password speaks for it.
    #[must_use]
    pub fn judge_url_password(&self, written: &[u8], decoded: &[u8]) -> NoiseVerdict {
        match self.judge_vendor(written) {
            NoiseVerdict::Keep => {}
            verdict => return verdict,
        }
        match self.judge_generic(decoded, &NoiseContext { key: b"", line: b"" }) {
            NoiseVerdict::Drop(reason) | NoiseVerdict::Lower(reason) => NoiseVerdict::Lower(reason),
            NoiseVerdict::Keep => NoiseVerdict::Keep,
        }
    }

    /// Returns why a generic secret at this path is likely made up.
    #[must_use]
    pub fn made_up_path(&self, path: &Path) -> Option<&'static str> {
        self.enabled.then(|| location::made_up_by_path(path)).flatten()
    }

    /// Returns why a generic secret in this line is unlikely.
    #[must_use]
    pub fn unlikely_line(&self, line: &[u8]) -> Option<&'static str> {
        self.enabled.then(|| location::unlikely_line(line)).flatten()
    }
}

fn reason(regularity: Regularity) -> &'static str {
    match regularity {
        Regularity::OneCharacter => "one character again and again",
        Regularity::Repeated => "a repeated group of characters",
        Regularity::Sequential => "characters in sequence",
    }
}

/// Returns `true` if it has `xxxx` or `****` in it.
fn is_crossed_out(text: &[u8]) -> bool {
    memchr::memchr3_iter(b'x', b'X', b'*', text).any(|at| text[at..].starts_with(&[text[at]; 4]))
}
