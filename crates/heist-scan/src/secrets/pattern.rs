//! [`LazyRegex`]: a regular expression that is compiled on first use. Most rules' expressions never
//! are.

use crate::rules::syntax::COMPILED_BYTES_MAX;
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use std::ops::Range;
use std::sync::OnceLock;

/// The memory limit of a worker's cache for one expression. Windows are small and expressions are
/// many.
const CACHE_BYTES: usize = 256 << 10;

/// Returns the syntax options of all expressions: they match bytes, without Unicode.
pub(crate) fn syntax() -> syntax::Config {
    syntax::Config::new().utf8(false).unicode(false)
}

/// A regular expression that is compiled on first use.
#[derive(Debug)]
pub(crate) struct LazyRegex {
    pattern: String,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    pub(crate) fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), compiled: OnceLock::new() }
    }

    /// Returns the compiled expression, or `None` if it does not compile. [`compile`] returns the
    /// error.
    fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.pattern).ok()).as_ref()
    }

    /// Returns `true` if the expression was used and did not compile.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.compiled.get(), Some(None))
    }

    /// Returns `true` if the expression matches anywhere in `text`. For small texts only, because
    /// it uses the expression's shared cache.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.get().is_some_and(|regex| regex.is_match(Input::new(text)))
    }

    /// Returns `true` if the expression matches anywhere in `text`, using the worker's own
    /// searcher.
    pub(crate) fn is_match_with(&self, text: &[u8], kept: &mut Option<Box<Searcher>>) -> bool {
        self.get().is_some_and(|regex| {
            let searcher = kept.get_or_insert_with(|| Box::new(Searcher::new(regex)));
            let input = Input::new(text).earliest(true);
            regex.search_half_with(&mut searcher.cache, &input).is_some()
        })
    }

    /// Returns the first match in `span` of `text`. If `anchored`, the match must begin where the
    /// span does. The secret is the named `group`; without a name, it is the first group that is
    /// not empty, or else the whole match.
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

/// A worker's buffers for one expression.
#[derive(Debug)]
pub(crate) struct Searcher {
    cache: Cache,
    /// The start and end of each group; the first is the whole match.
    slots: Vec<Option<NonMaxUsize>>,
}

impl Searcher {
    fn new(regex: &Regex) -> Self {
        let slots = vec![None; regex.group_info().slot_len()];
        Self { cache: regex.create_cache(), slots }
    }
}

/// The ranges of a match.
#[derive(Debug)]
pub(crate) struct RegexMatch {
    pub(crate) whole: Range<usize>,
    pub(crate) secret: Range<usize>,
}

impl RegexMatch {
    /// Shifts the ranges from a part of a text to the whole text. The part begins at `by`.
    pub(crate) fn moved_by(self, by: usize) -> Self {
        let moved = |range: Range<usize>| range.start + by..range.end + by;
        Self { whole: moved(self.whole), secret: moved(self.secret) }
    }
}

/// Compiles an expression immediately.
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
