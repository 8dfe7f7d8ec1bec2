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

/// The memory limit of the fastest automaton for the groups of a match, for one expression. Without
/// it a slower one is used.
const ONE_PASS_BYTES: usize = 64 << 10;

/// The memory limit of a worker's caches for all expressions.
const ALL_CACHES_BYTES: usize = 16 << 20;

/// How many searches pass between two looks at the memory of the caches.
const SEARCHES_PER_LOOK: u32 = 512;

/// The same for an expression without groups, which is tried on small texts.
const SMALL_CACHE_BYTES: usize = 64 << 10;

/// Returns the syntax options of all expressions: they match bytes, without Unicode.
pub(crate) fn syntax() -> syntax::Config {
    syntax::Config::new().utf8(false).unicode(false)
}

/// A regular expression that is compiled on first use.
#[derive(Debug)]
pub(crate) struct LazyRegex {
    pattern: String,
    has_groups: bool,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    pub(crate) fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), has_groups: true, compiled: OnceLock::new() }
    }

    /// Creates an expression without groups, for [`is_match`](Self::is_match) alone. It needs less
    /// memory.
    pub(crate) fn without_groups(pattern: impl Into<String>) -> Self {
        Self { has_groups: false, ..Self::new(pattern) }
    }

    /// Returns the compiled expression, or `None` if it does not compile.
    fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.pattern, self.has_groups).ok()).as_ref()
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

/// A worker's searchers, at most one for each rule. Most rules never need one.
#[derive(Debug, Default)]
pub(crate) struct Searchers {
    /// Boxed, because there are many rules.
    kept: Vec<Option<Box<Searcher>>>,
    searches: u32,
    /// The memory of the searchers when they were created.
    created_bytes: usize,
    /// The rule whose searcher was created last, and not counted yet.
    created_last: Option<u32>,
}

impl Searchers {
    pub(crate) fn new(rules: usize) -> Self {
        let mut kept = Vec::new();
        kept.resize_with(rules, || None);
        Self { kept, ..Self::default() }
    }

    /// Returns the place of a rule's searcher. Drops all searchers first if they need too much
    /// memory.
    pub(crate) fn of(&mut self, rule: u32) -> &mut Option<Box<Searcher>> {
        self.searches += 1;
        if self.searches == SEARCHES_PER_LOOK {
            self.searches = 0;
            let kept = self.kept.iter().flatten();
            let bytes = kept.map(|searcher| searcher.memory()).sum();
            self.limit_memory(bytes);
        }
        if self.kept[rule as usize].is_none() {
            self.count_created(rule);
        }
        &mut self.kept[rule as usize]
    }

    /// Counts the searcher that was created before the one of `rule`.
    #[cold]
    fn count_created(&mut self, rule: u32) {
        let last = self.created_last.replace(rule);
        let last = last.and_then(|last| self.kept[last as usize].as_deref());
        self.created_bytes += last.map_or(0, Searcher::memory);
        self.limit_memory(self.created_bytes);
    }

    /// Drops all searchers if their memory exceeds the limit.
    fn limit_memory(&mut self, bytes: usize) {
        if bytes > ALL_CACHES_BYTES {
            self.kept.fill_with(|| None);
            self.created_bytes = 0;
        }
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

    fn memory(&self) -> usize {
        self.cache.memory_usage() + size_of_val(&*self.slots)
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
fn compile(pattern: &str, has_groups: bool) -> Result<Regex, Box<BuildError>> {
    let (cache_bytes, groups) = match has_groups {
        true => (CACHE_BYTES, WhichCaptures::All),
        false => (SMALL_CACHE_BYTES, WhichCaptures::Implicit),
    };
    Regex::builder()
        .configure(
            Config::new()
                .nfa_size_limit(Some(COMPILED_BYTES_MAX))
                .hybrid_cache_capacity(cache_bytes)
                .onepass_size_limit(Some(ONE_PASS_BYTES))
                .utf8_empty(false)
                .which_captures(groups),
        )
        .syntax(syntax())
        .build(pattern)
        .map_err(Box::new)
}
