//! The noise filter: what speaks against a secret.
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
//! | `generic`, `password` | the strict verdicts |
//!
//! Invariants: a verdict depends on what is passed in and on nothing else; no more than a bounded part of a secret, its
//! key, line and path is looked at; nothing is allocated. Random tokens of 20 characters and more are kept, but for a
//! few in a thousand: a test counts them.
//!
//! Not guaranteed: that what is kept is a secret. The filter knows what is none.

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

/// The noise filter. Immutable, shared by all workers.
///
/// ```
/// use heist_scan::noise::{NoiseContext, Noise, NoiseVerdict};
/// use std::path::Path;
///
/// let noise = Noise::default();
/// let context = NoiseContext { path: Path::new("src/main.rs"), key: b"api_key", line: b"" };
/// assert!(matches!(noise.judge_generic(b"your-api-key-1234567", &context), NoiseVerdict::Drop(_)));
/// assert_eq!(noise.judge_generic(b"k3Qz9fVq3rT8xLm2Zp6K", &context), NoiseVerdict::Keep);
/// ```
#[derive(Clone, Debug)]
pub struct Noise {
    /// Whether it filters at all: if not, every verdict is [`NoiseVerdict::Keep`].
    pub enabled: bool,
}

impl Default for Noise {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// What the filter says about a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseVerdict {
    /// Nothing speaks against it.
    Keep,
    /// Something does: it becomes [`Confidence::Low`](crate::Confidence::Low), for this reason.
    Lower(&'static str),
    /// It is certainly none, for this reason.
    Drop(&'static str),
}

/// Where a secret stands.
#[derive(Clone, Copy, Debug)]
pub struct NoiseContext<'a> {
    /// The object's path, as [rules see it](crate::Chunk::path); may be empty.
    pub path: &'a Path,
    /// What the secret is assigned to; may be empty.
    pub key: &'a [u8],
    /// The text near it, in its line; may be empty.
    pub line: &'a [u8],
}

/// No more of a key than this is looked at, from its end.
const KEY_LOOKED_AT: usize = 128;

/// No more of a line than this is looked at.
const LINE_LOOKED_AT: usize = 1024;

impl NoiseContext<'_> {
    /// The same, cut to what is looked at.
    fn bounded(&self) -> NoiseContext<'_> {
        NoiseContext {
            path: self.path,
            key: &self.key[self.key.len().saturating_sub(KEY_LOOKED_AT)..],
            line: &self.line[..self.line.len().min(LINE_LOOKED_AT)],
        }
    }
}

impl Noise {
    /// Strict: for generic secrets and passwords. A key that names a password has its value judged as one: people make
    /// passwords of words and years, programs make no tokens of them.
    #[must_use]
    pub fn judge_generic(&self, secret: &[u8], context: &NoiseContext<'_>) -> NoiseVerdict {
        if !self.enabled {
            return NoiseVerdict::Keep;
        }
        let looked_at = &secret[..secret.len().min(LOOKED_AT)];
        generic::judge(looked_at, &context.bounded())
    }

    /// Mild: for vendors' forms. Only placeholders, repetitions and sequences count, and they only lower it, unless
    /// there is nothing but one character behind the prefix. Where the secret stands does not matter: a vendor's token
    /// in a test is as valid as anywhere.
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
}

fn reason(regularity: Regularity) -> &'static str {
    match regularity {
        Regularity::OneCharacter => "one character again and again",
        Regularity::Repeated => "a repeated group of characters",
        Regularity::Sequential => "characters in sequence",
    }
}

/// Whether it has `xxxx` or `****` in it.
fn is_crossed_out(text: &[u8]) -> bool {
    memchr::memchr3_iter(b'x', b'X', b'*', text).any(|at| text[at..].starts_with(&[text[at]; 4]))
}
