//! Looking at one text: the prefilter's candidates, and what the rules say about each.
//!
//! A rule is tried on a window around a candidate, never on more, so what it finds depends on the bytes of that window
//! alone. An expression sees one byte more on each side, for `\b` and its like.

use super::SecretDetector;
use super::allow::contains;
use super::boundary::begins_word;
use super::literal::LITERAL_BYTES_MAX;
use super::pattern::{Match, Searcher};
use super::plan::Use;
use super::prefilter::Candidates;
use super::rule::{ActiveRule, Found, KEYWORD_REACH, Proposed, Surroundings};
use crate::hand::{ASSIGNMENT_REACH, Assignment, Hit, Reach, Window, assignment};
use crate::rules::Rule;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// A text, and which of its positions are to be looked at.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) owned: Range<usize>,
    pub(crate) begins_object: bool,
    pub(crate) ends_object: bool,
    /// The object's offset of the first byte; for decoded text, any.
    pub(crate) offset: u64,
    pub(crate) path: &'a Path,
}

impl Text<'_> {
    /// How far into a block the text begins.
    fn block_offset(&self) -> usize {
        (self.offset % BLOCK_BYTES as u64) as usize
    }
}

/// What a worker needs to look at texts.
#[derive(Debug, Default)]
pub(crate) struct Examiner {
    pub(crate) candidates: Candidates,
    pub(crate) found: Vec<Found>,
    hits: Vec<Hit>,
    /// Those in a key.
    keywords: Candidates,
    /// The blocks near keywords in which a rule was tried.
    blocks: HashSet<(u32, usize)>,
    /// One for each rule. Boxed: there are many rules, and most never need one.
    searchers: Vec<Option<Box<Searcher>>>,
}

/// Expressions without any literal are tried block by block. The blocks are the object's, so that it does not matter
/// where the text begins.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// How far before its first long run a value may begin.
const VALUE_BEFORE_RUN: usize = 96;

/// If the match can begin at so few positions, each is tried by itself.
const STARTS_MAX: usize = 4;

impl Examiner {
    pub(crate) fn new(rules: usize) -> Self {
        let mut searchers = Vec::new();
        searchers.resize_with(rules, || None);
        Self { searchers, ..Self::default() }
    }

    /// Adds what begins at the text's owned positions to `found`. The candidates stay, for those who decode.
    pub(crate) fn examine(&mut self, detector: &SecretDetector, text: &Text<'_>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        self.blocks.clear();
        detector.prefilter.sweep(text.bytes, text.owned.clone(), &mut candidates);
        for hit in &candidates.anchors {
            for &place in detector.plan.uses(hit.literal) {
                self.look(detector, text, hit.at, place);
            }
        }
        for &at in &candidates.runs {
            for &(rule, kind) in &detector.plan.at_runs {
                self.look(detector, text, at, Use::Hand { rule, kind });
            }
        }
        if !detector.plan.keywords.is_empty() {
            for &at in candidates.runs.iter().chain(&candidates.values) {
                self.look_at_value(detector, text, at);
            }
        }
        self.candidates = candidates;
        for &rule in &detector.plan.everywhere {
            self.look_everywhere(detector, text, rule);
        }
    }

    fn look(&mut self, detector: &SecretDetector, text: &Text<'_>, at: usize, place: Use) {
        match place {
            Use::Regex { rule, after_min, after_max } => {
                self.look_around(detector, text, at, rule, after_min, after_max);
            }
            Use::Near { rule } => self.look_near(detector, text, at, rule),
            Use::Assignment { rule } => self.look_at_assignment(detector, text, at, rule),
            Use::Hand { rule, kind } => {
                let (window, from) = cut(text, at, kind.reach());
                let mut hits = std::mem::take(&mut self.hits);
                hits.clear();
                kind.examine(&window, &detector.noise, &mut hits);
                let moved = |range: Range<usize>| range.start + from..range.end + from;
                for hit in hits.drain(..) {
                    let (whole, secret) = (moved(hit.whole), moved(hit.secret));
                    let (key, confidence, reason) = (moved(hit.key), hit.confidence, hit.reason);
                    let proposed = Some(Proposed { key, confidence, reason });
                    self.judge(detector, text, rule, whole, secret, proposed);
                }
                self.hits = hits;
            }
            // Who decodes looks at the candidates again.
            Use::UrlEscape | Use::JsonEscape => {}
        }
    }

    /// Tries an expression whose literal stands at `at`.
    fn look_around(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        at: usize,
        rule: u32,
        after_min: usize,
        after_max: Option<usize>,
    ) {
        let active = &detector.rules[rule as usize];
        let reach = detector.plan.longest[rule as usize];
        let Some(last) = at.checked_sub(after_min) else { return };
        let first = at.saturating_sub(after_max.unwrap_or(reach).min(reach));
        if last < first {
            // The literal is further from the beginning than any match is long.
            return;
        }
        let end = |start: usize| (start + reach).min(text.bytes.len());
        if last - first < STARTS_MAX {
            let group = active.rule.secret_group;
            for start in first..=last {
                let searcher = &mut self.searchers[rule as usize];
                let span = start..end(start);
                let found = active
                    .regex
                    .find(text.bytes, span.clone(), true, group, searcher)
                    .or_else(|| {
                        // To the expression an escape's last letter is one of a word.
                        let is_after_escape = start > 0
                            && text.bytes[start - 1].is_ascii_alphanumeric()
                            && begins_word(text.bytes, start);
                        let (rest, span) = (&text.bytes[start..], 0..span.len());
                        is_after_escape
                            .then(|| active.regex.find(rest, span, true, group, searcher))
                            .flatten()
                            .map(|found| found.moved_by(start))
                    });
                if let Some(found) = found.filter(|found| found.whole.end > at) {
                    self.judge(detector, text, rule, found.whole, found.secret, None);
                    return;
                }
            }
        } else {
            let covers = |whole: &Range<usize>| whole.contains(&at);
            self.look_in(detector, text, rule, first..end(last), covers);
        }
    }

    /// Looks for all matches of an expression in a window, and takes those that are wanted.
    fn look_in(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        rule: u32,
        window: Range<usize>,
        wanted: impl Fn(&Range<usize>) -> bool,
    ) {
        let active = &detector.rules[rule as usize];
        let mut from = window.start;
        while from < window.end {
            let searcher = &mut self.searchers[rule as usize];
            let (span, group) = (from..window.end, active.rule.secret_group);
            let found = active.regex.find(text.bytes, span, false, group, searcher);
            let Some(Match { whole, secret }) = found else { return };
            // An empty match would be found for ever.
            from = whole.end.max(from + 1);
            if whole.len() <= detector.plan.longest[rule as usize] && wanted(&whole) {
                self.judge(detector, text, rule, whole, secret, None);
            }
        }
    }

    /// Tries an expression in every block that begins in the text's owned part.
    fn look_everywhere(&mut self, detector: &SecretDetector, text: &Text<'_>, rule: u32) {
        let block_offset = text.block_offset();
        let first = (text.owned.start + block_offset).next_multiple_of(BLOCK_BYTES) - block_offset;
        for block in (first..text.owned.end).step_by(BLOCK_BYTES) {
            self.look_in_block(detector, text, rule, block);
        }
    }

    /// Tries an expression in the blocks near a keyword, each once, however many keywords there are.
    fn look_near(&mut self, detector: &SecretDetector, text: &Text<'_>, at: usize, rule: u32) {
        let reach = KEYWORD_REACH + detector.plan.longest[rule as usize];
        let block_offset = text.block_offset();
        let first = (at.saturating_sub(reach) + block_offset) / BLOCK_BYTES * BLOCK_BYTES;
        let end = (at + reach).min(text.bytes.len());
        for block in (first..end + block_offset).step_by(BLOCK_BYTES) {
            if self.blocks.insert((rule, block)) {
                self.look_in_block(detector, text, rule, block.saturating_sub(block_offset));
            }
        }
    }

    /// Tries an expression at every position of the block that begins at `block`.
    fn look_in_block(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        rule: u32,
        block: usize,
    ) {
        let next = block + BLOCK_BYTES - (block + text.block_offset()) % BLOCK_BYTES;
        let reach = detector.plan.longest[rule as usize];
        let window = block..(next + reach).min(text.bytes.len());
        self.look_in(detector, text, rule, window, |whole| whole.start < next);
    }

    /// Compares the assignment in whose value a run begins with the rules of the keywords in its key.
    fn look_at_value(&mut self, detector: &SecretDetector, text: &Text<'_>, at: usize) {
        let (window, from) = cut(text, at, ASSIGNMENT_REACH);
        let Some(found) = assignment::from_value_within(&window, VALUE_BEFORE_RUN) else { return };
        let mut keywords = std::mem::take(&mut self.keywords);
        keywords.clear();
        for place in found.key.clone() {
            detector.keywords.look_up(window.text, place, &found.key, &mut keywords);
        }
        for hit in &keywords.anchors {
            let (keyword, rules) = &detector.plan.keywords[hit.literal as usize];
            if hit.at + keyword.len() <= found.key.end {
                for &rule in rules {
                    self.compare_value(detector, text, from, &window, &found, rule);
                }
            }
        }
        self.keywords = keywords;
    }

    fn look_at_assignment(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        at: usize,
        rule: u32,
    ) {
        let (window, from) = cut(text, at, ASSIGNMENT_REACH);
        if let Some(found) = assignment::from_key(&window) {
            self.compare_value(detector, text, from, &window, &found, rule);
        }
    }

    /// Compares an assignment in a window, which begins at `from`, with a rule.
    fn compare_value(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        from: usize,
        window: &Window<'_>,
        found: &Assignment,
        rule: u32,
    ) {
        let ActiveRule { rule: Rule { keywords, .. }, regex, .. } = &detector.rules[rule as usize];
        // Of a long keyword only the beginning was looked for.
        let is_in_key =
            |keyword: &String| contains(&window.text[found.key.clone()], keyword.as_bytes());
        if keywords.iter().any(|keyword| keyword.len() > LITERAL_BYTES_MAX)
            && !keywords.iter().any(is_in_key)
        {
            return;
        }
        let value = &window.text[found.value.clone()];
        if regex.is_match_with(value, &mut self.searchers[rule as usize]) {
            let secret = found.value.start + from..found.value.end + from;
            let whole = (found.key.start + from).min(secret.start)..secret.end;
            self.judge(detector, text, rule, whole, secret, None);
        }
    }

    fn judge(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        rule: u32,
        whole: Range<usize>,
        secret: Range<usize>,
        proposed: Option<Proposed>,
    ) {
        let active = &detector.rules[rule as usize];
        if !active.has_keyword(text.bytes, &whole) {
            return;
        }
        let surroundings = Surroundings {
            text: text.bytes,
            path: text.path,
            noise: &detector.noise,
            allows: &detector.allows,
        };
        let judged = active.judge(&surroundings, &whole, &secret, proposed);
        if let Some((confidence, reason)) = judged {
            if active.rule.generic && self.has_wrong_checksum(detector, text, &secret) {
                return;
            }
            self.found.push(Found { rule, whole, secret, confidence, reason });
        }
    }
}

impl Examiner {
    /// Whether a generic secret has the form of a vendor's, but not its checksum: then it is somebody's example.
    fn has_wrong_checksum(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        secret: &Range<usize>,
    ) -> bool {
        // One byte more on each side, for those expressions that say what stands there.
        let span = secret.start.saturating_sub(1)..(secret.end + 1).min(text.bytes.len());
        detector.checksum_rules.iter().any(|&rule| {
            let active = &detector.rules[rule as usize];
            let searcher = &mut self.searchers[rule as usize];
            let group = active.rule.secret_group;
            let found = active.regex.find(text.bytes, span.clone(), false, group, searcher);
            let has_form = found.is_some_and(|found| found.secret == *secret);
            let bytes = &text.bytes[secret.clone()];
            has_form && active.rule.checksum.is_some_and(|checksum| !checksum.holds(bytes))
        })
    }
}

/// The window of this reach, and where it begins in the text.
fn cut<'a>(text: &Text<'a>, at: usize, reach: Reach) -> (Window<'a>, usize) {
    let from = at.saturating_sub(reach.before);
    let to = (at + reach.after).min(text.bytes.len());
    let window = Window {
        text: &text.bytes[from..to],
        at: at - from,
        begins_object: from == 0 && text.begins_object,
        ends_object: to == text.bytes.len() && text.ends_object,
    };
    (window, from)
}
