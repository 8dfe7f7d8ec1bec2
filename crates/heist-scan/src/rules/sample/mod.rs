//! Random secrets that a rule finds: for its tests, and for texts with secrets in them.
//!
//! A secret is made from the rule's regular expression: a random text that it matches, and what it finds to be the
//! secret in there. Checksums are put right. What the rule itself would not take (too little entropy, on its allowlist)
//! is made again.
//!
//! Invariants: the same rule and the same random numbers give the same secret; and the regular expression finds it.
//!
//! Not guaranteed: that every secret of the form can come. Where an expression takes any character, letters and digits
//! are taken, as most secrets have nothing else and quotes would end them.

mod hand;
mod text;

use super::model::{ParserKind, Pattern, RegexTarget, Rule};
use super::syntax;
use crate::checksum::Checksum;
use crate::noise::shannon_entropy;
use heist::XorShift64;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, Look};
use std::ops::Range;
use text::Part;

/// How often something is made again before it counts as impossible.
const ATTEMPTS: usize = 500;

/// What stands for a secret in an example.
const SECRET: &str = "{secret}";

/// What stands for a secret with a wrong checksum in an example.
const WRONG: &str = "{wrong}";

/// One random secret that the rule finds. `None`: none can be made, as for a rule that looks at paths only.
///
/// ```
/// use heist_scan::rules::{Pattern, Rule, sample};
///
/// let rule = Rule::new("house-token", Pattern::Regex("house_[a-z0-9]{32}".to_owned()));
/// let secret = sample(&rule, &mut heist::XorShift64::new(1)).expect("it can be made");
/// assert!(secret.starts_with("house_") && secret.len() == 38);
/// ```
#[must_use]
pub fn sample(rule: &Rule, rng: &mut XorShift64) -> Option<String> {
    Sampler::new(rule)?.secret(rng)
}

/// An example with random secrets for each `{secret}` and `{wrong}` in it. `None`: one of them cannot be made.
#[must_use]
pub fn expand_example(text: &str, rule: &Rule, rng: &mut XorShift64) -> Option<String> {
    if !text.contains(SECRET) && !text.contains(WRONG) {
        return Some(text.to_owned());
    }
    Some(Sampler::new(rule)?.expand(text, rng)?.text)
}

/// An example with random secrets in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// The text.
    pub text: String,
    /// Where in it the secrets are that stand for `{secret}`.
    pub secrets: Vec<Range<usize>>,
}

/// Makes many secrets of one rule; what [`sample`] does, prepared once.
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

/// What makes the secrets.
#[derive(Debug)]
enum Maker {
    Text {
        part: Part,
        regex: Regex,
        /// The whole text is the secret.
        whole: bool,
    },
    Hand(ParserKind),
}

impl Sampler {
    /// For a rule. `None`: its expression cannot be used, or it looks at paths only.
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
            Pattern::Parser(kind) => Maker::Hand(*kind),
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

    /// One random secret, with the right checksum if it has one. `None`: none was found in many attempts.
    pub fn secret(&self, rng: &mut XorShift64) -> Option<String> {
        (0..ATTEMPTS).find_map(|_| {
            let (text, secret) = self.attempt(rng)?;
            let Some(checksum) = self.checksum else {
                return String::from_utf8(text[secret].to_vec()).ok();
            };
            let completed = checksum.complete(&text[secret.clone()])?;
            let mut text = text;
            text.splice(secret.clone(), completed.iter().copied());
            // The checksum's characters may be none that the expression takes.
            let place = secret.start..secret.start + completed.len();
            (self.accepts(&text)? == place).then(|| String::from_utf8(completed).ok()).flatten()
        })
    }

    /// One random secret with a wrong checksum. `None`: it has no checksum, or none was found in many attempts.
    pub fn wrong(&self, rng: &mut XorShift64) -> Option<String> {
        let checksum = self.checksum?;
        (0..ATTEMPTS).find_map(|_| {
            let (text, secret) = self.attempt(rng)?;
            let secret = &text[secret];
            if checksum.holds(secret) { None } else { String::from_utf8(secret.to_vec()).ok() }
        })
    }

    /// An example with a random secret of its own for each `{secret}` and `{wrong}`.
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

    /// One text with a secret in it that the rule takes, checksum aside; and where the secret is.
    fn attempt(&self, rng: &mut XorShift64) -> Option<(Vec<u8>, Range<usize>)> {
        let text = match &self.maker {
            Maker::Text { part, .. } => part.generate(self.max_length, rng)?,
            Maker::Hand(kind) => hand::generate(*kind, rng).into_bytes(),
        };
        let secret = self.accepts(&text)?;
        Some((text, secret))
    }

    /// Where in the text the rule finds its secret, checksum aside.
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

    /// Where the expression finds the secret in its own text.
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
