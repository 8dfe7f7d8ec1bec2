//! [`LazyRegex`]: a regular expression that is compiled when it is first needed. Most rules never are.

use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, Span};
use std::ops::Range;
use std::sync::OnceLock;

/// What a compiled expression may take. A rule of ordinary size takes a hundredth of it.
const SIZE_LIMIT: usize = 16 << 20;

/// What a worker's cache of an expression may take: windows are small, and there are many expressions.
const CACHE_BYTES: usize = 256 << 10;

/// The syntax of all expressions: bytes, and no Unicode.
pub(crate) fn syntax() -> syntax::Config {
    syntax::Config::new().utf8(false).unicode(false)
}

/// A regular expression that is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct LazyRegex {
    pattern: String,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    pub(crate) fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), compiled: OnceLock::new() }
    }

    /// `None` if it cannot be compiled; who wants to know why asks [`compile`].
    fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.pattern).ok()).as_ref()
    }

    /// Whether it was needed and could not be compiled.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.compiled.get(), Some(None))
    }

    /// Whether there is a match anywhere. For small texts only: it has a cache of its own.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.get().is_some_and(|regex| regex.is_match(Input::new(text)))
    }

    /// Whether there is a match anywhere, with a worker's cache.
    pub(crate) fn is_match_with(&self, text: &[u8], cache: &mut Option<Box<Cache>>) -> bool {
        self.get().is_some_and(|regex| {
            let cache = cache.get_or_insert_with(|| Box::new(regex.create_cache()));
            regex.search_half_with(cache, &Input::new(text).earliest(true)).is_some()
        })
    }

    /// The first match in `span` of `text`, with what its groups matched. If `anchored`, it begins where the span does.
    pub(crate) fn find(
        &self,
        text: &[u8],
        span: Range<usize>,
        anchored: bool,
        cache: &mut Option<Box<Cache>>,
    ) -> Option<Groups> {
        let regex = self.get()?;
        let cache = cache.get_or_insert_with(|| Box::new(regex.create_cache()));
        let anchored = if anchored { Anchored::Yes } else { Anchored::No };
        let input = Input::new(text).span(span).anchored(anchored);
        // Mostly there is none, and that is known soonest without groups.
        regex.search_half_with(cache, &input.clone().earliest(true))?;
        let mut captures = regex.create_captures();
        regex.search_captures_with(cache, &input, &mut captures);
        captures.is_match().then(|| Groups(captures.iter().collect()))
    }
}

/// What the groups of a match matched; the first is the whole match.
#[derive(Debug)]
pub(crate) struct Groups(Vec<Option<Span>>);

impl Groups {
    pub(crate) fn whole(&self) -> Range<usize> {
        self.0.first().copied().flatten().map_or(0..0, |span| span.range())
    }

    /// For a text of which the one that was searched is the part from `by` on.
    pub(crate) fn moved_by(mut self, by: usize) -> Self {
        for span in self.0.iter_mut().flatten() {
            *span = Span { start: span.start + by, end: span.end + by };
        }
        self
    }

    /// The secret: the group that the rule names, or the first that is not empty, or everything.
    pub(crate) fn secret(&self, group: Option<usize>) -> Range<usize> {
        let named = group.and_then(|group| self.0.get(group).copied().flatten());
        let first = || self.0.iter().skip(1).flatten().find(|span| !span.is_empty()).copied();
        let chosen = if group.is_some() { named } else { first() };
        chosen.map_or_else(|| self.whole(), |span| span.range())
    }
}

/// Compiles an expression now.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Box<BuildError>> {
    Regex::builder()
        .configure(
            Config::new()
                .nfa_size_limit(Some(SIZE_LIMIT))
                .hybrid_cache_capacity(CACHE_BYTES)
                .utf8_empty(false)
                .which_captures(WhichCaptures::All),
        )
        .syntax(syntax())
        .build(pattern)
        .map_err(Box::new)
}
