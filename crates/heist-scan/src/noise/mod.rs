//! The noise filter: recognises matches that are not secrets.
//!
//! | file | idea |
//! |---|---|
//! | `composition` | classes of characters and alphabets |
//! | `entropy` | the entropy of random texts with a given length and alphabet |
//! | `regular` | repetitions, sequences, keyboard rows |
//! | `vocabulary`, `words.txt` | words, placeholders, and text that reads like words |
//! | `form` | templates, URLs, versions, dates, file names, code |
//! | `content` | hashes, images, public keys, Base64 of text |
//! | `location` | paths of tests, documentation, minified code, tables of numbers |
//! | `generic`, `password` | the strict checks |
//! | `ordinary` | the opposite: text that may be shown beside a secret |
//!
//! Invariants: an answer depends only on the arguments. The filter reads a bounded part of a
//! secret, its key, line and path, and does not allocate. It keeps random tokens of 20 characters
//! and more, except a few in a thousand: a test counts them.
//!
//! Not guaranteed: that a value is a secret because the filter keeps it. The filter only recognises
//! values that are not.

mod composition;
mod content;
mod entropy;
mod form;
mod generic;
mod location;
mod ordinary;
mod password;
mod regular;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use entropy::shannon_entropy;
pub(crate) use ordinary::{is_known_word, is_ordinary};

use composition::SECRET_BYTES_READ;
use regular::{Regularity, is_prefix_and_one_character, regularity};
use std::path::Path;

/// The noise filter. It never changes, so all workers share one.
///
/// ```
/// use heist_scan::noise::{Noise, NoiseContext, NoiseVerdict};
///
/// let noise = Noise::default();
/// let context = NoiseContext::new(b"api_key", b"");
/// let placeholder = noise.judge_generic(b"your-api-key-1234567", &context);
/// assert!(matches!(placeholder, NoiseVerdict::Drop(_)));
/// assert_eq!(noise.judge_generic(b"k3Qz9fVq3rT8xLm2Zp6K", &context), NoiseVerdict::Keep);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    /// The filter has no objection.
    Keep,
    /// The secret is doubtful, for this reason: its confidence becomes
    /// [`Low`](crate::Confidence::Low).
    Lower(&'static str),
    /// The value is certainly not a secret, for this reason.
    Drop(&'static str),
}

/// How strictly the filter checks a secret. Parsers choose this for each hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoiseCheck {
    /// See [`Noise::judge_generic`].
    Strict,
    /// See [`Noise::judge_vendor`].
    Mild,
    /// See [`Noise::judge_url_password`].
    UrlPassword,
    /// No check: a parser verified the secret, so its characters do not matter.
    Skip,
}

/// The text around a secret.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NoiseContext<'a> {
    /// The key that the secret is assigned to; may be empty.
    pub key: &'a [u8],
    /// The part of the secret's line around it; may be empty.
    pub line: &'a [u8],
}

/// How many bytes of a key the filter reads, counted from its end.
const KEY_BYTES_READ: usize = 128;

/// How many bytes of a line the filter reads.
const LINE_BYTES_READ: usize = 1024;

impl<'a> NoiseContext<'a> {
    /// Creates a context from a key and a part of a line.
    #[must_use]
    pub const fn new(key: &'a [u8], line: &'a [u8]) -> Self {
        Self { key, line }
    }
}

impl NoiseContext<'_> {
    /// Returns the part of the context that the filter reads.
    fn bounded(&self) -> NoiseContext<'_> {
        NoiseContext {
            key: &self.key[self.key.len().saturating_sub(KEY_BYTES_READ)..],
            line: &self.line[..self.line.len().min(LINE_BYTES_READ)],
        }
    }
}

impl Noise {
    /// Judges a generic secret or a password, strictly. If the key names a password, the value may
    /// contain words and years: people choose such passwords, while programs do not generate such
    /// tokens.
    ///
    /// This check ignores where the secret is: see [`Noise::made_up_path`] and
    /// [`Noise::unlikely_line`].
    #[must_use]
    pub fn judge_generic(&self, secret: &[u8], context: &NoiseContext<'_>) -> NoiseVerdict {
        if !self.enabled {
            return NoiseVerdict::Keep;
        }
        let text = &secret[..secret.len().min(SECRET_BYTES_READ)];
        generic::judge(text, &context.bounded())
    }

    /// Judges a secret in a vendor's format, mildly. Only placeholders, repetitions and sequences
    /// count, and they only lower the confidence. The filter drops the secret only if it is a
    /// prefix and one repeated character. Its location does not matter: a vendor's token in a test
    /// is as valid as anywhere else.
    #[must_use]
    pub fn judge_vendor(&self, secret: &[u8]) -> NoiseVerdict {
        if !self.enabled {
            return NoiseVerdict::Keep;
        }
        let text = &secret[..secret.len().min(SECRET_BYTES_READ)];
        if is_prefix_and_one_character(text) {
            NoiseVerdict::Drop("a prefix and one repeated character")
        } else if let Some(regularity) = regularity(text) {
            NoiseVerdict::Lower(reason(regularity))
        } else if is_crossed_out(text) || vocabulary::has_placeholder(text) {
            NoiseVerdict::Lower("a placeholder")
        } else if form::is_template(text) {
            NoiseVerdict::Lower("a reference or template, filled in elsewhere")
        } else {
            NoiseVerdict::Keep
        }
    }

    /// Judges a password in a URL or a connection string: mildly as it is written, then strictly
    /// after percent decoding. The strict part only lowers the confidence, because the host beside
    /// the password makes it plausible.
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
        Regularity::OneCharacter => "one repeated character",
        Regularity::Repeated => "a repeated group of characters",
        Regularity::Sequential => "characters in sequence",
    }
}

/// Returns `true` if the text contains `xxxx` or `****`.
fn is_crossed_out(text: &[u8]) -> bool {
    memchr::memchr3_iter(b'x', b'X', b'*', text).any(|at| text[at..].starts_with(&[text[at]; 4]))
}
