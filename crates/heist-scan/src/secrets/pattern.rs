//! [`LazyRegex`]: a regular expression that is compiled when it is first needed. Most rules never are.

use crate::rules::syntax::COMPILED_BYTES_MAX;
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use std::ops::Range;
use std::sync::OnceLock;

/// What a worker's cache of an expression may take: windows are small, and there are many expressions.
const CACHE_BYTES: usize = 256 << 10;

/// Returns the syntax of all expressions: bytes, and no Unicode.
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

    /// Returns the compiled expression, or `None` if it cannot be compiled. [`compile`] says why.
    fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.pattern).ok()).as_ref()
    }

    /// Returns `true` if it was needed and could not be compiled.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.compiled.get(), Some(None))
    }

    /// Returns `true` if there is a match anywhere. For small texts only: it has a cache of its
    /// own.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.get().is_some_and(|regex| regex.is_match(Input::new(text)))
    }

    /// Returns `true` if there is a match anywhere, with what a worker keeps for it.
    pub(crate) fn is_match_with(&self, text: &[u8], kept: &mut Option<Box<Searcher>>) -> bool {
        self.get().is_some_and(|regex| {
            let searcher = kept.get_or_insert_with(|| Box::new(Searcher::new(regex)));
            let input = Input::new(text).earliest(true);
            regex.search_half_with(&mut searcher.cache, &input).is_some()
        })
    }

    /// Returns the first match in `span` of `text`. If `anchored`, it begins where the span does.
    /// The secret in it is what the `group` matched, or, if no group is named, the first that is
    /// not empty, or everything.
    pub(crate) fn find(
        &self,
        text: &[u8],
        span: Range<usize>,
        anchored: bool,
        group: Option<usize>,
        kept: &mut Option<Box<Searcher>>,
    ) -> Option<RegexMatch> {
        let regex = self.get()?;
        let Searcher { cache, slots } =
            &mut **kept.get_or_insert_with(|| Box::new(Searcher::new(regex)));
        let anchored = if anchored { Anchored::Yes } else { Anchored::No };
        let input = Input::new(text).span(span).anchored(anchored);
        regex.search_slots_with(cache, &input, slots)?;
        let group_at = |place: usize| {
            let (start, end) = (slots.get(2 * place)?, slots.get(2 * place + 1)?);
            Some((*start)?.get()..(*end)?.get())
        };
        let whole = group_at(0)?;
        let chosen = match group {
            Some(group) => group_at(group),
            None => (1..slots.len() / 2).filter_map(group_at).find(|group| !group.is_empty()),
        };
        let secret = chosen.unwrap_or_else(|| whole.clone());
        Some(RegexMatch { whole, secret })
    }
}

/// What a worker keeps for an expression.
#[derive(Debug)]
pub(crate) struct Searcher {
    cache: Cache,
    /// Where each group begins and ends; the first is the whole match.
    slots: Vec<Option<NonMaxUsize>>,
}

impl Searcher {
    fn new(regex: &Regex) -> Self {
        let slots = vec![None; regex.group_info().slot_len()];
        Self { cache: regex.create_cache(), slots }
    }
}

/// Where an expression matches.
#[derive(Debug)]
pub(crate) struct RegexMatch {
    pub(crate) whole: Range<usize>,
    pub(crate) secret: Range<usize>,
}

impl RegexMatch {
    /// Moves the ranges from a part of a text to the text itself, in which the part begins at `by`.
    pub(crate) fn moved_by(self, by: usize) -> Self {
        let moved = |range: Range<usize>| range.start + by..range.end + by;
        Self { whole: moved(self.whole), secret: moved(self.secret) }
    }
}

/// Compiles an expression now.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Box<BuildError>> {
    Regex::builder()
        .configure(
            Config::new()
                .nfa_size_limit(Some(COMPILED_BYTES_MAX))
                .hybrid_cache_capacity(CACHE_BYTES)
                .utf8_empty(false)
                .which_captures(WhichCaptures::All),
        )
        .syntax(syntax())
        .build(pattern)
        .map_err(Box::new)
}
