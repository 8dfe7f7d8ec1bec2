//! [`ActiveRule`]: a rule with what is compiled of it, and whether a match of it is one after all.

use super::allow::{Allow, Shown, contains};
use super::pattern::LazyRegex;
use crate::confidence::Confidence;
use crate::noise::{Noise, NoiseContext, NoiseVerdict, shannon_entropy};
use crate::rules::{ParserKind, Pattern, Rule};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// How far from a match its rule's keyword may be.
pub(crate) const KEYWORD_REACH: usize = 1024;

/// How much of a line around a match is looked at.
pub(crate) const LINE_REACH: usize = 512;

/// A rule with what is compiled of it.
#[derive(Debug)]
pub(crate) struct ActiveRule {
    pub(crate) rule: Rule,
    /// The pattern's expression, if it has one.
    pub(crate) regex: LazyRegex,
    path: Option<LazyRegex>,
    allows: Vec<Allow>,
    /// Whether the literals that the rule is looked for by do not already say that a keyword is there.
    needs_keyword: bool,
}

/// What a match is judged by, besides its rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) path: &'a Path,
    pub(crate) noise: &'a Noise,
    /// What no rule reports.
    pub(crate) allows: &'a [Allow],
}

/// What a hand-written detector says about a match.
#[derive(Debug)]
pub(crate) struct Proposed {
    /// What the secret is assigned to.
    pub(crate) key: Range<usize>,
    pub(crate) confidence: Confidence,
    pub(crate) reason: Cow<'static, str>,
}

/// A match in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    pub(crate) rule: u32,
    pub(crate) whole: Range<usize>,
    pub(crate) secret: Range<usize>,
    pub(crate) confidence: Confidence,
    pub(crate) reason: Cow<'static, str>,
}

impl FoundSecret {
    /// For a text of which the one that was looked at is the part from `by` on.
    pub(crate) fn move_by(&mut self, by: usize) {
        for range in [&mut self.whole, &mut self.secret] {
            *range = range.start + by..range.end + by;
        }
    }
}

impl ActiveRule {
    pub(crate) fn new(rule: Rule) -> Self {
        let regex = match &rule.pattern {
            Pattern::Regex(pattern) => LazyRegex::new(pattern.clone()),
            // All of the value, whichever alternative that takes.
            Pattern::Assignment(pattern) => LazyRegex::new(format!(r"\A(?:{pattern})\z")),
            Pattern::Parser(_) | Pattern::Path => LazyRegex::new(""),
        };
        let needs_keyword = matches!(rule.pattern, Pattern::Regex(_)) && !rule.keywords.is_empty();
        Self {
            regex,
            path: rule.path.as_deref().map(LazyRegex::new),
            allows: rule.allowlists.iter().map(Allow::new).collect(),
            needs_keyword,
            rule,
        }
    }

    /// Expressions that could not be compiled when they were needed.
    pub(crate) fn has_failed(&self) -> bool {
        let others = self.path.iter().chain(self.allows.iter().flat_map(Allow::regexes));
        self.regex.has_failed() || others.into_iter().any(LazyRegex::has_failed)
    }

    /// Whether the rule is for objects with this path.
    pub(crate) fn is_for(&self, path: &Path) -> bool {
        self.path.as_ref().is_none_or(|regex| regex.is_match(&super::allow::slashed(path)))
    }

    /// Whether an allowlist of the rule has this path, whatever is in the object.
    pub(crate) fn allows_path(&self, path: &Path) -> bool {
        self.allows.iter().any(|allow| allow.has_path_alone(path))
    }

    /// Whether a keyword is in the match or near it, if the rule has any.
    pub(crate) fn has_keyword(&self, text: &[u8], whole: &Range<usize>) -> bool {
        if !self.needs_keyword {
            return true;
        }
        let near = |part: &[u8]| {
            self.rule.keywords.iter().any(|keyword| contains(part, keyword.as_bytes()))
        };
        let reach = KEYWORD_REACH;
        near(&text[whole.clone()])
            || near(&text[whole.start.saturating_sub(reach)..(whole.end + reach).min(text.len())])
    }

    /// How sure a match is, and why; `None` if it is none after all.
    pub(crate) fn judge(
        &self,
        surroundings: &Surroundings<'_>,
        whole: &Range<usize>,
        secret: &Range<usize>,
        proposed: Option<Proposed>,
    ) -> Option<(Confidence, Cow<'static, str>)> {
        let Surroundings { text, path, noise, allows } = *surroundings;
        let bytes = &text[secret.clone()];
        if bytes.is_empty() {
            return None;
        }
        let certain = match self.rule.checksum {
            Some(checksum) if checksum.holds(bytes) => true,
            Some(_) => return None,
            None => false,
        };
        if self.rule.entropy.is_some_and(|least| shannon_entropy(bytes) < least) {
            return None;
        }
        if !self.is_for(path) {
            return None;
        }
        let line = line_around(text, secret);
        let shown = Shown { path, secret: bytes, whole: &text[whole.clone()], line };
        if self.allows.iter().chain(allows).any(|allow| allow.has(&shown)) {
            return None;
        }
        if certain {
            return Some((Confidence::Certain, Cow::Borrowed("its checksum holds")));
        }
        let Proposed { key, confidence, reason } = proposed.unwrap_or_else(|| {
            let reason = match (&self.rule.pattern, self.rule.confidence) {
                (Pattern::Assignment(_), _) => {
                    "assigned to a name of this vendor's, and of the right form"
                }
                (_, Confidence::Certain | Confidence::High) => {
                    "the vendor's prefix, length and alphabet"
                }
                _ => "the form that the rule describes",
            };
            let reason = Cow::Borrowed(reason);
            Proposed { key: 0..0, confidence: self.rule.confidence, reason }
        });
        let context = NoiseContext { path, key: &text[key], line };
        let verdict = match self.rule.pattern {
            Pattern::Parser(ParserKind::GenericSecret | ParserKind::Password) => {
                noise.judge_generic(bytes, &context)
            }
            // Parsed down to what is in them: nothing about their letters speaks against them.
            Pattern::Parser(ParserKind::PrivateKey | ParserKind::Jwt) => NoiseVerdict::Keep,
            Pattern::Assignment(_) | Pattern::Regex(_) | Pattern::Parser(_) | Pattern::Path => {
                noise.judge_vendor(bytes)
            }
        };
        match verdict {
            NoiseVerdict::Keep => Some((confidence, reason)),
            NoiseVerdict::Lower(reason) => Some((Confidence::Low, Cow::Borrowed(reason))),
            NoiseVerdict::Drop(_) => None,
        }
    }
}

/// The line that `range` is in, as far as it is near.
pub(crate) fn line_around<'a>(text: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    let from = range.start.saturating_sub(LINE_REACH);
    let to = (range.end + LINE_REACH).min(text.len());
    let begin = memchr::memrchr(b'\n', &text[from..range.start]).map_or(from, |at| from + at + 1);
    let end = memchr::memchr(b'\n', &text[range.end..to]).map_or(to, |at| range.end + at);
    &text[begin..end]
}
