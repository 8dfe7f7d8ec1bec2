//! Scans one text: runs the prefilter over it and tries the rules at each hit.
//!
//! A rule sees only a bounded window around a position, so its result depends only on the bytes in
//! that window. A regular expression also sees one byte on each side, for assertions such as `\b`.

use super::SecretDetector;
use super::allow::contains;
use super::boundary::begins_word;
use super::conditions::Conditions;
use super::explain::{NotedCandidate, Notes};
use super::literal::LITERAL_BYTES_MAX;
use super::owned_match::{Cause, OwnedMatch};
use super::pattern::{RegexMatch, Searchers};
use super::plan::{LiteralUse, Plan};
use super::prefilter::{AnchorHit, Candidates};
use super::prices;
use super::rule::{ActiveRule, KEYWORD_REACH};
use super::search_starts::{DECODED_SEARCH_MAX, SearchStarts};
use super::verdict::{Candidate, ContentVerdict, Parsed, Rejection, Unobserved, rejects_generic};
use crate::chunk::{Chunk, StopCheck};
use crate::confidence::Confidence;
use crate::decode::{Decoded, is_in_text};
use crate::detector::{Match, Overlap, RuleIndex};
use crate::encoding::Encoding;
use crate::masked::Secret;
use crate::parsers::{
    ASSIGNMENT_REACH, Assignment, AssignmentText, Hit, Reach, ValueFinder, Window, assignment,
    examine_generic,
};
use crate::rules::{ParserKind, Rule};
use crate::tree_rules::Standing;
use crate::version::PathFreeMatch;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// A text, and the positions in it to scan.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) owned: Range<usize>,
    pub(crate) begins_object: bool,
    pub(crate) ends_object: bool,
    pub(crate) path: &'a Path,
    /// How the text is encoded in its object.
    pub(crate) encoding: Encoding,
    pub(crate) origin: TextOrigin<'a>,
    pub(crate) stop: StopCheck<'a>,
}

impl<'a> Text<'a> {
    /// Returns the plain text of a chunk.
    pub(crate) fn of_chunk(chunk: &Chunk<'a>) -> Self {
        Self {
            bytes: chunk.bytes,
            owned: chunk.owned.clone(),
            begins_object: chunk.offset == 0,
            ends_object: chunk.is_end,
            path: chunk.path,
            encoding: Encoding::Plain,
            origin: TextOrigin::Plain { offset: chunk.offset },
            stop: chunk.stop,
        }
    }
}

/// The origin of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextOrigin<'a> {
    /// A part of the object itself, starting at this offset.
    Plain { offset: u64 },
    /// A decoded text.
    Decoded(View<'a>),
    /// The part of a decoded text that a rule sees from one position. It begins at `from`.
    Seen { from: usize },
}

/// A decoded window of encoded text. The window's limits do not affect the result: from each
/// position a rule sees the same part of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) decoded: &'a Decoded,
    /// How far a rule sees from a position, in bytes of the source.
    pub(crate) seen: Overlap,
    /// Where in the source the encoded text begins and ends, if known.
    pub(crate) begin: Option<usize>,
    pub(crate) end: Option<usize>,
    /// The first scanned position of the source, if known. It is also a search start.
    pub(crate) first: Option<usize>,
    /// `true` if matches count only in printable text, because other bytes suggest that the source
    /// is not encoded text.
    pub(crate) must_be_text: bool,
}

impl<'a> View<'a> {
    /// Returns the part of the text that a rule sees from a position, and where that part begins.
    fn seen_from(&self, text: &Text<'a>, at: usize) -> (Text<'a>, usize) {
        let source = self.decoded.source_of(at..at + 1).start;
        let (from, to) = (source.saturating_sub(self.seen.before), source + self.seen.after);
        let seen = self.decoded.first_from(from)..self.decoded.first_beyond(to);
        let begin = seen.start;
        let text = Text {
            bytes: &text.bytes[seen.clone()],
            owned: 0..seen.len(),
            begins_object: self.begin.is_some_and(|begin| begin >= from),
            ends_object: self.end.is_some_and(|end| end <= to),
            path: text.path,
            encoding: text.encoding,
            origin: TextOrigin::Seen { from: begin },
            stop: text.stop,
        };
        (text, begin)
    }
}

/// A secret in a text, as it is if its path changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    pub(crate) rule: u32,
    pub(crate) whole: Range<usize>,
    pub(crate) secret: Range<usize>,
    pub(crate) confidence: Confidence,
    pub(crate) reason: Cow<'static, str>,
    pub(crate) standing: Standing,
    pub(crate) conditions: Conditions,
    /// The position in the whole text from which it was found.
    pub(crate) owner: usize,
    pub(crate) cause: Cause,
}

impl FoundSecret {
    /// Shifts the ranges from a part of a text to the whole text. The part begins at `by`.
    fn move_by(&mut self, by: usize) {
        for range in [&mut self.whole, &mut self.secret] {
            *range = range.start + by..range.end + by;
        }
    }
}

/// A worker's buffers for scanning texts.
#[derive(Debug)]
pub(crate) struct Examiner {
    pub(crate) candidates: Candidates,
    pub(crate) found: Vec<FoundSecret>,
    /// The position from which the examiner searches now, and what is there.
    owner: usize,
    cause: Cause,
    /// Every candidate, recorded only for explanations.
    pub(crate) notes: Option<Vec<NotedCandidate>>,
    hits: Vec<Hit>,
    /// The prefilter's candidates in an assignment's key.
    keywords: Candidates,
    values: ValueFinder,
    /// The search starts; empty unless a rule without a literal needs them.
    starts: SearchStarts,
    /// Search starts near keywords that a rule has already been searched from.
    searched: HashSet<(u32, usize)>,
    searchers: Searchers,
    /// The work since the last look at [`Text::stop`].
    work_since_check: usize,
    is_stopped: bool,
    /// The work that counts, since it was last taken.
    work: u64,
}

/// Which uses of a literal the examiner tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralUses {
    All,
    /// Only [`LiteralUse::Near`].
    Near,
}

/// If a match can begin at no more than this many positions, try each of them.
const STARTS_MAX: usize = 4;

/// How many searches for an expression pass between two looks at the clock. One in a long text
/// counts for several.
const WORK_PER_CHECK: usize = 64;
const WORK_BYTES: usize = 64;

impl Examiner {
    pub(crate) fn new(rules: usize) -> Self {
        Self {
            candidates: Candidates::default(),
            found: Vec::new(),
            owner: 0,
            cause: Cause::Search,
            notes: None,
            hits: Vec::new(),
            keywords: Candidates::default(),
            values: ValueFinder::default(),
            starts: SearchStarts::default(),
            searched: HashSet::new(),
            searchers: Searchers::new(rules),
            work_since_check: 0,
            is_stopped: false,
            work: 0,
        }
    }

    /// Returns the work since the last call.
    pub(crate) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Adds the secrets that begin at the text's owned positions to `found`. Keeps the prefilter's
    /// candidates, because the decoders use them.
    pub(crate) fn examine(&mut self, detector: &SecretDetector, text: &Text<'_>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        self.begin_text();
        detector.prefilter.sweep(text.bytes, text.owned.clone(), &mut candidates);
        for &hit in &candidates.anchors {
            if !self.examine_literal(detector, text, hit, LiteralUses::All) {
                break;
            }
        }
        for (at, has_digit) in candidates.runs_and_values() {
            if !self.examine_run(detector, text, at, has_digit) {
                break;
            }
        }
        self.candidates = candidates;
        self.search_everywhere(detector, text);
    }

    /// Forgets the previous text.
    pub(crate) fn begin_text(&mut self) {
        self.starts.clear();
        self.searched.clear();
        self.values.clear();
        self.is_stopped = false;
    }

    /// Tries the rules at a literal. Returns `false` if the search must end early.
    pub(crate) fn examine_literal(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        hit: AnchorHit,
        wanted: LiteralUses,
    ) -> bool {
        if self.is_stopped(text, 0) {
            return false;
        }
        (self.owner, self.cause) = (hit.at, Cause::Literal(hit.literal));
        self.examine_from(text, hit.at, |examiner, text, at| {
            for &place in detector.plan.uses(hit.literal) {
                if wanted == LiteralUses::All || matches!(place, LiteralUse::Near { .. }) {
                    examiner.apply_use(detector, text, at, place);
                }
            }
        });
        true
    }

    /// Tries the rules at a run of letters and digits. Returns `false` if the search must end
    /// early.
    pub(crate) fn examine_run(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        at: usize,
        has_digit: bool,
    ) -> bool {
        let Plan { at_runs, keywords, .. } = &detector.plan;
        if at_runs.is_empty() && keywords.is_empty() {
            return true;
        }
        if self.is_stopped(text, 0) {
            return false;
        }
        (self.owner, self.cause) = (at, Cause::Value);
        self.examine_from(text, at, |examiner, text, at| {
            examiner.examine_value(detector, text, at, has_digit);
        });
        true
    }

    /// Moves the secrets found in plain text to `matches`. The text begins at this offset of its
    /// object.
    pub(crate) fn take_found(&mut self, offset: u64, matches: &mut Vec<OwnedMatch>) {
        let in_object =
            |range: Range<usize>| offset + range.start as u64..offset + range.end as u64;
        matches.extend(self.found.drain(..).map(|found| {
            let owner = offset + found.owner as u64;
            let (cause, conditions) = (found.cause, found.conditions);
            let found = Match {
                rule: RuleIndex(found.rule),
                whole: in_object(found.whole),
                secret: in_object(found.secret),
                decoded: None,
                encoding: Encoding::Plain,
                confidence: found.confidence,
                reason: found.reason,
                standing: found.standing,
                is_identifier: false,
            };
            OwnedMatch { found: PathFreeMatch { found, conditions }, owner, cause }
        }));
    }

    /// Counts work, in bytes that an expression or a parser may read. Returns `true` if the search
    /// must end early.
    fn is_stopped(&mut self, text: &Text<'_>, bytes: usize) -> bool {
        self.work_since_check += 1 + bytes / WORK_BYTES;
        if self.work_since_check >= WORK_PER_CHECK {
            self.work_since_check = 0;
            self.is_stopped |= text.stop.is_stopped();
        }
        self.is_stopped
    }

    /// Scans from one position: the whole text if it is plain, or else the part seen from there.
    fn examine_from<'a>(
        &mut self,
        text: &Text<'a>,
        at: usize,
        examine: impl FnOnce(&mut Self, &Text<'a>, usize),
    ) {
        let TextOrigin::Decoded(view) = text.origin else {
            self.work += prices::CANDIDATE;
            return examine(self, text, at);
        };
        if view.must_be_text && !is_in_text(text.bytes, at) {
            return;
        }
        self.work += prices::CANDIDATE + prices::SEEN;
        let (seen, from) = view.seen_from(text, at);
        self.examine_part(from, |examiner| examine(examiner, &seen, at - from));
    }

    /// Scans a part of a text that begins at `from`, then shifts the results to the whole text.
    fn examine_part(&mut self, from: usize, examine: impl FnOnce(&mut Self)) {
        let before = self.found.len();
        let noted_before = self.notes.as_ref().map_or(0, Vec::len);
        examine(self);
        for found in &mut self.found[before..] {
            found.move_by(from);
        }
        if let Some(notes) = &mut self.notes {
            notes[noted_before..].iter_mut().for_each(|noted| noted.move_by(from));
        }
    }

    fn apply_use(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        at: usize,
        place: LiteralUse,
    ) {
        match place {
            LiteralUse::Regex { rule, after_min, after_max } => {
                self.search_around(detector, text, at, rule, after_min, after_max);
            }
            LiteralUse::Near { rule } => {
                // It depends on the chunk how many searches several keywords share.
                let work = self.work + prices::KEYWORD;
                self.search_near(detector, text, at, rule);
                self.work = work;
            }
            LiteralUse::Assignment { rule } => self.examine_assignment(detector, text, at, rule),
            LiteralUse::Parser { rule, kind } => {
                if detector.rules[rule as usize].rule.generic && !self.wants_generic(text) {
                    return;
                }
                self.work += match kind {
                    ParserKind::Password => prices::PASSWORD_PARSER,
                    ParserKind::ConnectionString => prices::CONNECTION_PARSER,
                    ParserKind::PrivateKey => prices::PRIVATE_KEY_PARSER,
                    _ => prices::PARSER,
                };
                let (window, from) = cut(text, at, kind.reach());
                let mut hits = std::mem::take(&mut self.hits);
                kind.examine(&window, &mut hits);
                self.judge_hits(detector, text, from, rule, &mut hits);
                self.hits = hits;
            }
            // The decoders handle these candidates later.
            LiteralUse::UrlEscape | LiteralUse::JsonEscape => {}
        }
    }

    /// Returns `false` if the judgement rejects every match of a generic rule in this text, and
    /// no explanation was asked for.
    fn wants_generic(&self, text: &Text<'_>) -> bool {
        !rejects_generic(text.encoding) || self.notes.is_some()
    }

    /// Judges the hits of a parser in a window that begins at `from`.
    fn judge_hits(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        from: usize,
        rule: u32,
        hits: &mut Vec<Hit>,
    ) {
        let moved = |range: Range<usize>| range.start + from..range.end + from;
        for Hit { whole, secret, key, form, noise } in hits.drain(..) {
            let (whole, secret, key) = (moved(whole), moved(secret), moved(key));
            let parsed = Some(Parsed { key, form, noise });
            self.judge(detector, text, rule, whole, secret, parsed);
        }
    }

    /// Tries an expression whose literal is at `at`.
    fn search_around(
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
            // The literal is further from the start than the longest match allows.
            return;
        }
        let end = |start: usize| (start + reach).min(text.bytes.len());
        if last - first < STARTS_MAX {
            if self.is_stopped(text, reach) {
                return;
            }
            let group = active.rule.secret_group;
            for start in first..=last {
                self.work += prices::expression(reach);
                let searcher = self.searchers.of(rule);
                let span = start..end(start);
                let found = active
                    .regex
                    .find(text.bytes, span.clone(), true, group, searcher)
                    .or_else(|| {
                        // To the expression, the last letter of an escape is part of a word.
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
            let window = first..end(last);
            self.work += prices::FAR_BYTE * window.len() as u64;
            self.search_window(detector, text, rule, window, covers);
        }
    }

    /// Finds all matches of an expression in a window, and keeps those that `wanted` accepts.
    fn search_window(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        rule: u32,
        window: Range<usize>,
        wanted: impl Fn(&Range<usize>) -> bool,
    ) {
        let active = &detector.rules[rule as usize];
        self.work += prices::EXPRESSION + window.len() as u64 / prices::SEARCHED_BYTES;
        let mut from = window.start;
        while from < window.end {
            if self.is_stopped(text, window.end - from) {
                return;
            }
            let searcher = self.searchers.of(rule);
            let (span, group) = (from..window.end, active.rule.secret_group);
            let found = active.regex.find(text.bytes, span, false, group, searcher);
            let Some(RegexMatch { whole, secret }) = found else { return };
            // An empty match would be found again forever.
            from = whole.end.max(from + 1);
            if whole.len() <= detector.plan.longest[rule as usize] && wanted(&whole) {
                self.judge(detector, text, rule, whole, secret, None);
            }
        }
    }

    /// Searches a whole text for expressions without a literal, from the owned search starts.
    pub(crate) fn search_everywhere(&mut self, detector: &SecretDetector, text: &Text<'_>) {
        match text.origin {
            TextOrigin::Plain { offset } => self.search_plain_everywhere(detector, text, offset),
            TextOrigin::Decoded(view) => self.search_view_everywhere(detector, text, &view),
            TextOrigin::Seen { .. } => {}
        }
    }

    fn search_plain_everywhere(&mut self, detector: &SecretDetector, text: &Text<'_>, offset: u64) {
        if detector.plan.everywhere.is_empty() {
            return;
        }
        let starts = self.take_starts(text, offset, text.owned.clone());
        self.cause = Cause::Search;
        for (start, next) in starts.within(text.owned.clone()) {
            self.owner = start;
            for &rule in &detector.plan.everywhere {
                self.search_between(detector, text, rule, start, next);
            }
        }
        self.starts = starts;
    }

    /// Searches for an expression near a keyword. Searches from each start only once, even if
    /// several keywords are near it.
    fn search_near(&mut self, detector: &SecretDetector, text: &Text<'_>, at: usize, rule: u32) {
        // In decoded text, `search_view_everywhere` searches for it.
        let TextOrigin::Plain { offset } = text.origin else { return };
        self.cause = Cause::Search;
        let reach = KEYWORD_REACH + detector.plan.longest[rule as usize];
        let near = at.saturating_sub(reach)..(at + reach).min(text.bytes.len());
        let starts = self.take_starts(text, offset, near.clone());
        for (start, next) in starts.within(starts.before(near.start)..near.end) {
            if self.searched.insert((rule, start)) {
                self.search_between(detector, text, rule, start, next);
            }
        }
        self.starts = starts;
    }

    /// Returns the search starts of a plain text in and around `wanted`. Finds them on first use.
    fn take_starts(&mut self, text: &Text<'_>, offset: u64, wanted: Range<usize>) -> SearchStarts {
        let mut starts = std::mem::take(&mut self.starts);
        starts.find_around(text.bytes, offset, wanted);
        starts
    }

    /// Searches a whole decoded text for expressions without a literal, from the owned search
    /// starts. Each search sees only the part of the source around its start.
    fn search_view_everywhere(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        view: &View<'_>,
    ) {
        let Plan { everywhere, near, .. } = &detector.plan;
        let near = if self.has_keyword_near(detector, text) { &**near } else { &[] };
        if everywhere.is_empty() && near.is_empty() {
            return;
        }
        let found_before = self.found.len();
        let noted_before = self.notes.as_ref().map_or(0, Vec::len);
        let mut starts = std::mem::take(&mut self.starts);
        let begin = view.begin.map(|_| 0);
        let first = view.first.map(|first| view.decoded.first_from(first));
        starts.find_decoded(text.bytes, text.owned.clone(), [begin, first]);
        for (start, next) in starts.within(text.owned.clone()) {
            self.owner = start;
            let (seen, from) = view.seen_from(text, start);
            let next = next.min(start + DECODED_SEARCH_MAX).min(from + seen.bytes.len());
            self.examine_part(from, |examiner| {
                let span = start - from..next - from;
                for &rule in everywhere {
                    examiner.search_between(detector, &seen, rule, span.start, span.end);
                }
                // It depends on the chunk whether a keyword is in view.
                let work = examiner.work;
                for &rule in near {
                    examiner.search_between(detector, &seen, rule, span.start, span.end);
                }
                examiner.work = work;
            });
        }
        self.starts = starts;
        if view.must_be_text {
            let is_no_text = |found: &mut FoundSecret| !is_in_text(text.bytes, found.whole.start);
            self.found.extract_if(found_before.., is_no_text).for_each(drop);
            if let Some(notes) = &mut self.notes {
                let is_no_text =
                    |noted: &mut NotedCandidate| !is_in_text(text.bytes, noted.whole.start);
                notes.extract_if(noted_before.., is_no_text).for_each(drop);
            }
        }
    }

    /// Returns `true` if a decoded text contains a keyword of a near-keyword rule, close enough to
    /// the owned part that a match from there could count. `candidates` must be those of the owned
    /// part.
    fn has_keyword_near(&mut self, detector: &SecretDetector, text: &Text<'_>) -> bool {
        let Plan { near, longest, .. } = &detector.plan;
        let Some(longest) = near.iter().map(|&rule| longest[rule as usize]).max() else {
            return false;
        };
        let (reach, owned) = (KEYWORD_REACH + longest, text.owned.clone());
        let before = owned.start.saturating_sub(reach)..owned.start;
        let after = owned.end..(owned.end + DECODED_SEARCH_MAX + reach).min(text.bytes.len());
        for margin in [before, after] {
            if !margin.is_empty() {
                detector.prefilter.sweep(text.bytes, margin, &mut self.candidates);
            }
        }
        let is_near = |place: &LiteralUse| matches!(place, LiteralUse::Near { .. });
        let mut hits = self.candidates.anchors.iter();
        hits.any(|hit| detector.plan.uses(hit.literal).iter().any(is_near))
    }

    /// Searches for an expression from one start up to the next one. Later matches are found from
    /// the next start.
    fn search_between(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        rule: u32,
        start: usize,
        next: usize,
    ) {
        let reach = detector.plan.longest[rule as usize];
        let window = start..next.saturating_add(reach).min(text.bytes.len());
        self.search_window(detector, text, rule, window, |whole| whole.start < next);
    }

    /// Finds the assignment whose value contains the run at `at`, and tries the rules whose
    /// keywords are in its key, and the generic rules if the run has a digit.
    fn examine_value(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        at: usize,
        has_digit: bool,
    ) {
        self.work += prices::RUN;
        let offset = if let TextOrigin::Seen { from } = text.origin { from } else { 0 };
        let &Text { bytes, begins_object, ends_object, .. } = text;
        let visible = AssignmentText { bytes, begins_object, ends_object, offset };
        let Some(found) = self.values.find(&visible, at) else { return };
        self.work += prices::VALUE;
        let (window, from) = cut(text, at, ASSIGNMENT_REACH);
        let in_window = |range: &Range<usize>| range.start - from..range.end - from;
        let found = Assignment {
            key: in_window(&found.key),
            value: in_window(&found.value),
            quoted: found.quoted,
        };
        if has_digit && self.wants_generic(text) {
            for &rule in &detector.plan.at_runs {
                if self.is_stopped(text, 0) {
                    return;
                }
                self.work += prices::VALUE_BYTE * found.value.len() as u64;
                let mut hits = std::mem::take(&mut self.hits);
                examine_generic(&window, found.clone(), &mut hits);
                self.judge_hits(detector, text, from, rule, &mut hits);
                self.hits = hits;
            }
        }
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

    fn examine_assignment(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        at: usize,
        rule: u32,
    ) {
        self.work += prices::ASSIGNMENT;
        let (window, from) = cut(text, at, ASSIGNMENT_REACH);
        if let Some(found) = assignment::from_key(&window) {
            self.compare_value(detector, text, from, &window, &found, rule);
        }
    }

    /// Compares an assignment in a window that begins at `from` with a rule.
    fn compare_value(
        &mut self,
        detector: &SecretDetector,
        text: &Text<'_>,
        from: usize,
        window: &Window<'_>,
        found: &Assignment,
        rule: u32,
    ) {
        self.work += prices::COMPARISON;
        let ActiveRule { rule: Rule { keywords, .. }, regex, .. } = &detector.rules[rule as usize];
        // The prefilter only compares the beginning of a long keyword.
        let is_in_key =
            |keyword: &String| contains(&window.text[found.key.clone()], keyword.as_bytes());
        if keywords.iter().any(|keyword| keyword.len() > LITERAL_BYTES_MAX)
            && !keywords.iter().any(is_in_key)
        {
            return;
        }
        let value = &window.text[found.value.clone()];
        if regex.is_match_with(value, self.searchers.of(rule)) {
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
        parsed: Option<Parsed>,
    ) {
        let (bytes, encoding) = (text.bytes, text.encoding);
        let mut candidate = Candidate { rule, text: bytes, encoding, whole, secret, parsed };
        self.work += prices::judgement(candidate.secret.len());
        let judged = if self.notes.is_some() {
            self.judge_with_notes(detector, &mut candidate, text.path)
        } else {
            detector.judge_content(&mut candidate, &mut self.searchers, &mut Unobserved)
        };
        let Ok(ContentVerdict { confidence, reason, location }) = judged else { return };
        self.work += prices::MATCH;
        let (standing, conditions) = detector.conditions_of(&candidate, location);
        let Candidate { whole, secret, .. } = candidate;
        let (owner, cause) = (self.owner, self.cause);
        self.found.push(FoundSecret {
            rule,
            whole,
            secret,
            confidence,
            reason,
            standing,
            conditions,
            owner,
            cause,
        });
    }

    #[cold]
    fn judge_with_notes(
        &mut self,
        detector: &SecretDetector,
        candidate: &mut Candidate<'_>,
        path: &Path,
    ) -> Result<ContentVerdict, Rejection> {
        let mut notes = Notes::default();
        let (rule, whole, secret) =
            (candidate.rule, candidate.whole.clone(), candidate.secret.clone());
        let masked = Secret::new(&candidate.text[secret.clone()]).masked();
        let (verdict, content) = detector.judge(candidate, path, &mut self.searchers, &mut notes);
        if let Some(noted) = &mut self.notes {
            let steps = notes.steps;
            noted.push(NotedCandidate { rule, whole, secret, masked, steps, verdict });
        }
        content
    }
}

/// Returns the window of this reach around `at`, and where it begins in the text.
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
