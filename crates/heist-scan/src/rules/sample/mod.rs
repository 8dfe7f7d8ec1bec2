//! Generates random secrets that a rule finds, for testing rules and for texts with planted
//! secrets.
//!
//! The generator creates a random text that the rule's regular expression matches, takes the secret
//! out of it as the rule would, and corrects the checksum. It tries again if the rule would reject
//! the result (too little entropy, or allowed by an allowlist).
//!
//! Invariants: the same rule and the same random numbers give the same secret, and the regular
//! expression finds that secret.
//!
//! Not guaranteed: that every possible secret can occur. Where an expression accepts any character,
//! the generator uses letters and digits: most secrets consist of these, and a quote would end the
//! secret.

mod parsers;
mod text;

use super::model::{ParserKind, Pattern, RegexTarget, Rule};
use super::syntax;
use crate::checksum::Checksum;
use crate::noise::shannon_entropy;
use heist::rng::XorShift64;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, Look};
use std::ops::Range;
use text::Part;

/// The number of attempts after which a secret counts as impossible.
const ATTEMPTS: usize = 500;

/// The placeholder for a secret in an example.
const SECRET: &str = "{secret}";

/// The placeholder for a secret with a wrong checksum in an example.
const WRONG: &str = "{wrong}";

/// Generates a random secret that the rule finds. Returns `None` if that is impossible, for
/// instance because the rule only looks at paths.
///
/// ```
/// use heist_scan::rules::{Pattern, Rule, sample};
///
/// let rule = Rule::new("house-token", Pattern::Regex("house_[a-z0-9]{32}".to_owned()));
/// let secret = sample(&rule, &mut heist::rng::XorShift64::new(1)).expect("the rule has samples");
/// assert!(secret.starts_with("house_") && secret.len() == 38);
/// ```
#[must_use]
pub fn sample(rule: &Rule, rng: &mut XorShift64) -> Option<String> {
    Sampler::new(rule)?.secret(rng)
}

/// Replaces each `{secret}` and `{wrong}` in an example with a random secret. Returns `None` if one
/// of them cannot be generated.
#[must_use]
pub fn expand_example(text: &str, rule: &Rule, rng: &mut XorShift64) -> Option<String> {
    if !text.contains(SECRET) && !text.contains(WRONG) {
        return Some(text.to_owned());
    }
    Some(Sampler::new(rule)?.expand(text, rng)?.text)
}

/// An example with its placeholders filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expanded {
    /// The text.
    pub text: String,
    /// The ranges of the secrets that replaced `{secret}`.
    pub secrets: Vec<Range<usize>>,
}

/// Generates many secrets for one rule. Does the same as [`sample`] but parses the rule only once.
#[derive(Debug)]
pub struct Sampler {
    maker: Maker,
    secret_group: Option<usize>,
    entropy: f64,
    max_length: usize,
    checksum: Option<Checksum>,
    stopwords: Vec<String>,
    allowed: Vec<(RegexTarget, Regex)>,
}

/// How the secrets are generated.
#[derive(Debug)]
enum Maker {
    Text {
        part: Part,
        regex: Regex,
        /// `true` if the whole text is the secret.
        whole: bool,
    },
    Parser(ParserKind),
}

impl Sampler {
    /// Creates a sampler for a rule. Returns `None` if the rule's expression is not usable or the
    /// rule only looks at paths.
    #[must_use]
    pub fn new(rule: &Rule) -> Option<Self> {
        let maker = match &rule.pattern {
            Pattern::Regex(pattern) => {
                let hir = syntax::parse(pattern).ok()?;
                Maker::Text {
                    part: Part::new(&hir),
                    regex: syntax::compile(&hir).ok()?,
                    whole: false,
                }
            }
            Pattern::Assignment(pattern) => {
                let hir = syntax::parse(pattern).ok()?;
                let part = Part::new(&hir);
                let all = Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]);
                Maker::Text { part, regex: syntax::compile(&all).ok()?, whole: true }
            }
            Pattern::Parser(kind) => Maker::Parser(*kind),
            Pattern::Path => return None,
        };
        let mut allowed = Vec::new();
        for allowlist in &rule.allowlists {
            for pattern in &allowlist.regexes {
                let regex = syntax::compile(&syntax::parse(pattern).ok()?).ok()?;
                allowed.push((allowlist.regex_target, regex));
            }
        }
        Some(Self {
            maker,
            secret_group: rule.secret_group,
            entropy: rule.entropy.unwrap_or(0.0),
            max_length: rule.max_length,
            checksum: rule.checksum,
            stopwords: rule.allowlists.iter().flat_map(|list| list.stopwords.clone()).collect(),
            allowed,
        })
    }

    /// Generates a random secret, with a correct checksum if the rule has one. Returns `None` if
    /// many attempts fail.
    pub fn secret(&self, rng: &mut XorShift64) -> Option<String> {
        (0..ATTEMPTS).find_map(|_| {
            let (text, secret) = self.attempt(rng)?;
            let Some(checksum) = self.checksum else {
                return String::from_utf8(text[secret].to_vec()).ok();
            };
            let completed = checksum.complete(&text[secret.clone()])?;
            let mut text = text;
            text.splice(secret.clone(), completed.iter().copied());
            // The expression may not allow the characters of the checksum.
            let place = secret.start..secret.start + completed.len();
            (self.accepts(&text)? == place).then(|| String::from_utf8(completed).ok()).flatten()
        })
    }

    /// Generates a random secret with a wrong checksum. Returns `None` if the rule has no checksum
    /// or many attempts fail.
    pub fn wrong(&self, rng: &mut XorShift64) -> Option<String> {
        let checksum = self.checksum?;
        (0..ATTEMPTS).find_map(|_| {
            let (text, secret) = self.attempt(rng)?;
            let secret = &text[secret];
            if checksum.holds(secret) { None } else { String::from_utf8(secret.to_vec()).ok() }
        })
    }

    /// Replaces each `{secret}` and `{wrong}` in an example with a different random secret.
    pub fn expand(&self, text: &str, rng: &mut XorShift64) -> Option<Expanded> {
        let mut expanded =
            Expanded { text: String::with_capacity(text.len() + 64), secrets: Vec::new() };
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            expanded.text.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix(SECRET) {
                let start = expanded.text.len();
                expanded.text.push_str(&self.secret(rng)?);
                expanded.secrets.push(start..expanded.text.len());
                rest = after;
            } else if let Some(after) = rest.strip_prefix(WRONG) {
                expanded.text.push_str(&self.wrong(rng)?);
                rest = after;
            } else {
                expanded.text.push('{');
                rest = &rest[1..];
            }
        }
        expanded.text.push_str(rest);
        Some(expanded)
    }

    /// Generates one text, and the range of the secret in it, that the rule accepts. Ignores the
    /// checksum.
    fn attempt(&self, rng: &mut XorShift64) -> Option<(Vec<u8>, Range<usize>)> {
        let text = match &self.maker {
            Maker::Text { part, .. } => part.generate(self.max_length, rng)?,
            Maker::Parser(kind) => parsers::generate(*kind, rng).into_bytes(),
        };
        let secret = self.accepts(&text)?;
        Some((text, secret))
    }

    /// Returns the range of the secret if the rule accepts the text. Ignores the checksum.
    fn accepts(&self, text: &[u8]) -> Option<Range<usize>> {
        let secret = self.find(text)?;
        let bytes = &text[secret.clone()];
        let lower = bytes.to_ascii_lowercase();
        let stopped = self
            .stopwords
            .iter()
            .any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some());
        let allowed = self.allowed.iter().any(|(target, regex)| match target {
            RegexTarget::Secret => regex.is_match(bytes),
            RegexTarget::Match | RegexTarget::Line => regex.is_match(text),
        });
        let taken =
            !bytes.is_empty() && !stopped && !allowed && shannon_entropy(bytes) >= self.entropy;
        taken.then_some(secret)
    }

    /// Returns the range of the secret that the expression finds in a generated text.
    fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let Maker::Text { regex, whole, .. } = &self.maker else {
            return Some(0..text.len());
        };
        if *whole {
            return regex
                .is_match(Input::new(text).anchored(Anchored::Yes))
                .then_some(0..text.len());
        }
        let mut captures = regex.create_captures();
        regex.captures(text, &mut captures);
        let span = match self.secret_group {
            Some(group) => captures.get_group(group)?,
            None => {
                let groups =
                    (1..captures.group_len()).filter_map(|group| captures.get_group(group));
                let not_empty = groups.into_iter().find(|span| !span.is_empty());
                not_empty.or_else(|| captures.get_group(0))?
            }
        };
        Some(span.range())
    }
}

#[cfg(test)]
mod tests;
