//! [`SecretDetector`]: finds secrets by rules, at the speed of reading.
//!
//! | file | idea |
//! |---|---|
//! | `anchors`, `literal`, `frequency` | the rarest literals that every match of a rule contains |
//! | `boundary` | where a word begins |
//! | `expression`, `prepared.txt` | facts about a rule's expression, without compiling it |
//! | `plan` | what the detector does at each literal |
//! | `prefilter/` | one sweep that finds all literals and all runs of letters and digits |
//! | `examine` | tries the rules on the windows around what the sweep found |
//! | `search_starts` | where the search for an expression without a literal begins |
//! | `encoded` | the same for decoded text |
//! | `owned_match` | a match, and the position from which it was found |
//! | `changes/` | the same for a version of an object, of which only a part is new |
//! | `verdict` | what becomes of a candidate, and why: the one judgement |
//! | `conditions` | what the path of an object can change about a match |
//! | `tree_view` | whether the scanned tree hides a candidate |
//! | `prices` | what the parts of a search count as work |
//! | `explain` | the judgement of a line, step by step |
//! | `pattern`, `rule`, `allow` | a rule and its allowlists, with expressions that are compiled when needed |
//!
//! **Invariant: whether a rule matches depends on the bytes of a bounded window around a position,
//! and on nothing else.** So the same is found for every chunk size, every split and every
//! prefilter.

mod allow;
mod anchors;
mod boundary;
mod changes;
mod conditions;
mod encoded;
mod examine;
mod explain;
mod expression;
mod frequency;
mod literal;
mod owned_match;
mod pattern;
mod plan;
mod prefilter;
mod prices;
mod rule;
mod search_starts;
mod tree_view;
mod verdict;

pub use explain::{ExplainedStep, Explanation, StepOutcome};
pub use prefilter::PrefilterKind;
pub use verdict::{Step, Verdict};

pub(crate) use changes::Remembered;
pub(crate) use conditions::Conditions;

use crate::chunk::Chunk;
use crate::detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};
use crate::encoding::Encoding;
use crate::noise::Noise;
use crate::parsers::ASSIGNMENT_REACH;
use crate::rules::{Allowlist, Pattern, Rule, RuleSet};
use crate::tree_rules::{Standing, TreeRules};
use crate::version::{Memory, PathFreeMatch, Version};
use allow::{Allow, slashed};
use changes::Reaches;
use encoded::{EncodedScratch, scan_encoded, seen_encoded, with_encoded};
use examine::{Examiner, Text};
use literal::{LITERAL_BYTES_MAX, Literal};
use owned_match::OwnedMatch;
use pattern::LazyRegex;
use plan::{LiteralUse, Plan};
use prefilter::{LiteralTable, PlacedLiteral, Prefilter};
use rule::{ActiveRule, KEYWORD_REACH, LINE_REACH};
use search_starts::SEARCH_START_REACH;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tree_view::TreeView;
use verdict::Unobserved;

// Whether a position is a search start must be visible from it, even where ten bytes of the source
// decode to one.
const _: () = assert!(
    10 * search_starts::DECODED_SPACING.context() <= 2 * (ASSIGNMENT_REACH.before + LINE_REACH)
        && 10 * search_starts::DECODED_SPACING.context()
            <= 2 * (ASSIGNMENT_REACH.after + LINE_REACH)
);

/// How a [`SecretDetector`] searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DetectorOptions {
    /// Whether the noise filter lowers or drops what looks like noise. On by default.
    pub noise_filter: bool,
    /// Whether the detector decodes one layer of encoding. On by default.
    pub decode: bool,
    /// Whether [generic](crate::rules::Rule::generic) rules are used: random values and passwords.
    /// On by default.
    pub generic: bool,
    /// Which prefilter to use. The choice affects only speed.
    pub prefilter: PrefilterKind,
}

impl Default for DetectorOptions {
    fn default() -> Self {
        Self { noise_filter: true, decode: true, generic: true, prefilter: PrefilterKind::Auto }
    }
}

/// Finds secrets by rules.
#[derive(Debug)]
pub struct SecretDetector {
    rules: Vec<ActiveRule>,
    allows: Vec<Allow>,
    plan: Plan,
    prefilter: Box<dyn Prefilter>,
    /// The plan's keywords, in the plan's order.
    keywords: LiteralTable,
    noise: Noise,
    decode: bool,
    overlap: Overlap,
    /// How much of encoded text a rule sees from a position of the source.
    seen_encoded: Overlap,
    /// How far it sees from each candidate, to tell which of them a change can affect.
    reaches: Reaches,
    /// Distinguishes it from other detectors, whose memories mean something else.
    identity: u64,
    path_rules: Vec<u32>,
    /// The rules with a checksum, whose matches are either certain or rejected.
    checksum_rules: Vec<u32>,
    /// The literals of the checksum rules, unless one of them has none.
    checksum_literals: Option<LiteralTable>,
    /// Matches every path that some path rule applies to. Most paths fail this check.
    any_path_rule: LazyRegex,
    /// What the scanned tree changes about the rules, if anything.
    tree: Option<Box<TreeView>>,
    /// Whether the detector finds everything that the built-in rules find.
    finds_builtin: bool,
}

/// A worker's buffers for scanning.
#[derive(Debug)]
pub struct Scratch {
    examiner: Examiner,
    encoded: EncodedScratch,
    found: Vec<OwnedMatch>,
    /// Candidates while they are put in order.
    sorted: Vec<u64>,
}

impl SecretDetector {
    /// Creates a detector for these rules.
    #[must_use]
    pub fn new(rules: RuleSet, options: DetectorOptions) -> Self {
        Self::with_optional_tree(rules, None, options)
    }

    /// Creates a detector for these rules and those that the scanned tree adds. What the tree
    /// switches off or allows is found all the same, as [hidden](crate::Standing::Hidden).
    ///
    /// ```
    /// use heist_scan::rules::RuleSet;
    /// use heist_scan::{Chunk, Detector as _, DetectorOptions, SecretDetector, TreeRules};
    ///
    /// let mut tree = TreeRules::default();
    /// tree.off.insert("password".to_owned());
    /// let (rules, options) = (RuleSet::builtin(), DetectorOptions::default());
    /// let detector = SecretDetector::with_tree_rules(rules, tree, options);
    /// let findings = detector.find(b"password = \"7tRmq!x2Lw9z\""); // heist:allow
    /// assert!(findings[0].standing.is_hidden());
    /// ```
    #[must_use]
    pub fn with_tree_rules(rules: RuleSet, tree: TreeRules, options: DetectorOptions) -> Self {
        Self::with_optional_tree(rules, Some(tree), options)
    }

    fn with_optional_tree(
        rules: RuleSet,
        tree: Option<TreeRules>,
        options: DetectorOptions,
    ) -> Self {
        let RuleSet { rules, allowlists } = rules;
        let mut rules: Vec<Rule> =
            rules.into_iter().filter(|rule| options.generic || !rule.generic).collect();
        let chosen = rules.len();
        let finds_builtin = options.decode && includes_builtin(&rules, &allowlists);
        let tree = tree.map(|TreeRules { added, off, allowlists, no_decode }| {
            let off = rules.iter().map(|rule| off.contains(&rule.id)).collect();
            rules.extend(added.into_iter().filter(|rule| options.generic || !rule.generic));
            Box::new(TreeView::new(off, &allowlists, no_decode))
        });
        let plan = Plan::new(&rules, options.decode);
        let plain = reach(&rules, &plan, SEARCH_START_REACH);
        let seen_encoded =
            seen_encoded(reach(&rules, &plan, search_starts::DECODED_SPACING.context()));
        let encoded = with_encoded(seen_encoded);
        let overlap = match options.decode {
            true => Overlap {
                before: plain.before.max(encoded.before),
                after: plain.after.max(encoded.after),
            },
            false => plain,
        };
        let prefilter = options.prefilter.build(&plan.sought);
        let keywords = plan.keywords.iter().enumerate();
        let keywords = keywords.map(|(number, (keyword, _))| placed(number, keyword));
        let keywords = LiteralTable::new(keywords);
        let numbers_of = |is_one: &dyn Fn(&Rule) -> bool| -> Vec<u32> {
            let numbered = rules.iter().enumerate();
            numbered.filter(|(_, rule)| is_one(rule)).map(|(index, _)| index as u32).collect()
        };
        let path_rules = numbers_of(&|rule| rule.pattern == Pattern::Path);
        let mut checksum_rules = numbers_of(&|rule| {
            rule.checksum.is_some() && matches!(rule.pattern, Pattern::Regex(_))
        });
        // A rule of the tree must not reject what another rule finds.
        checksum_rules.retain(|&rule| (rule as usize) < chosen);
        let checksum_literals = checksum_literals(&checksum_rules, &plan);
        let paths = path_rules.iter().filter_map(|&rule| rules[rule as usize].path.as_deref());
        let any_path = paths.map(|path| format!("(?:{path})")).collect::<Vec<_>>().join("|");
        static DETECTORS: AtomicU64 = AtomicU64::new(0);
        Self {
            reaches: Reaches::new(&rules, &plan),
            // Relaxed: the numbers only have to differ.
            identity: DETECTORS.fetch_add(1, Ordering::Relaxed),
            rules: rules.into_iter().map(ActiveRule::new).collect(),
            allows: allowlists.iter().map(Allow::new).collect(),
            plan,
            prefilter,
            keywords,
            noise: Noise { enabled: options.noise_filter },
            decode: options.decode,
            overlap,
            seen_encoded,
            path_rules,
            checksum_rules,
            checksum_literals,
            any_path_rule: LazyRegex::without_groups(any_path),
            tree,
            finds_builtin,
        }
    }

    /// Returns the rules, in the order of their [`RuleIndex`].
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|active| &active.rule)
    }

    /// Returns the rules that found nothing because their expressions could not be compiled.
    pub fn failed_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|active| active.has_failed()).map(|active| &active.rule)
    }

    /// Returns `true` if what a rule finds is shown in full, as a match with this standing. The
    /// rules of a scanned tree cannot ask for that.
    fn is_identifier(&self, rule: u32, standing: Standing) -> bool {
        self.rules[rule as usize].rule.identifier && standing != Standing::Added
    }

    /// Returns how many places of a text the prefilter passes on, to measure the prefilter alone.
    pub fn count_candidates(&self, text: &[u8], scratch: &mut Scratch) -> usize {
        let candidates = &mut scratch.examiner.candidates;
        candidates.clear();
        self.prefilter.sweep(text, 0..text.len(), candidates);
        candidates.anchors.len() + candidates.runs.len() + candidates.values.len()
    }
}

/// Returns `true` if all built-in rules are among these, unchanged, and nothing else is allowed.
fn includes_builtin(rules: &[Rule], allowlists: &[Allowlist]) -> bool {
    let built_in = RuleSet::builtin();
    let is_included =
        |(at, rule): (usize, &Rule)| rules.get(at) == Some(rule) || rules.contains(rule);
    allowlists.iter().all(|list| built_in.allowlists.contains(list))
        && built_in.rules.iter().enumerate().all(is_included)
}

/// Returns a literal for a table.
fn placed(number: usize, literal: &Literal) -> PlacedLiteral {
    PlacedLiteral {
        number: number as u32,
        literal: literal.clone(),
        window_at: literal.rarest_window().0,
        begins_word: false,
    }
}

/// Returns the literals of which every match of these rules contains one, or `None` if a rule has
/// none.
fn checksum_literals(rules: &[u32], plan: &Plan) -> Option<LiteralTable> {
    let mut without: Vec<u32> = rules.to_vec();
    let mut literals = Vec::new();
    for (number, sought) in plan.sought.iter().enumerate() {
        let mut is_wanted = false;
        for place in plan.uses(number as u32) {
            if let LiteralUse::Regex { rule, .. } = place
                && rules.contains(rule)
            {
                without.retain(|other| other != rule);
                is_wanted = true;
            }
        }
        if is_wanted {
            literals.push(placed(number, &sought.literal));
        }
    }
    without.is_empty().then(|| LiteralTable::new(literals))
}

/// Returns how far any rule sees, given how far away a search start may be.
fn reach(rules: &[Rule], plan: &Plan, start: usize) -> Overlap {
    let mut overlap = Overlap { before: ASSIGNMENT_REACH.before, after: ASSIGNMENT_REACH.after };
    let mut at_least = |before: usize, after: usize| {
        overlap.before = overlap.before.max(before);
        overlap.after = overlap.after.max(after);
    };
    let literals = 0..plan.sought.len();
    for &place in literals.flat_map(|literal| plan.uses(literal as u32)) {
        let Overlap { before, after } = reach_of_use(rules, plan, place, start);
        at_least(before, after);
    }
    for &rule in &plan.everywhere {
        at_least(start, start + plan.longest[rule as usize]);
    }
    Overlap { before: overlap.before + AROUND_MATCH, after: overlap.after + AROUND_MATCH }
}

/// How far the judgement sees around a match: the line, one byte for `\b`, and a literal that
/// starts on the last owned byte.
const AROUND_MATCH: usize = LINE_REACH + LITERAL_BYTES_MAX + 8;

/// Returns how far a rule sees around a literal, given how far away a search start may be, without
/// what is [around the match](AROUND_MATCH).
fn reach_of_use(rules: &[Rule], plan: &Plan, place: LiteralUse, start: usize) -> Overlap {
    match place {
        LiteralUse::Regex { rule, after_max, .. } => {
            let longest = plan.longest[rule as usize];
            let rule = &rules[rule as usize];
            let keyword = if rule.keywords.is_empty() { 0 } else { KEYWORD_REACH };
            Overlap { before: after_max.unwrap_or(longest) + keyword, after: longest + keyword }
        }
        LiteralUse::Near { rule } => {
            // The match may be this far from the keyword that led to it, and the judgement searches
            // for keywords just as far around the match.
            let reach = 2 * KEYWORD_REACH + 2 * plan.longest[rule as usize] + start;
            Overlap { before: reach, after: reach }
        }
        LiteralUse::Parser { kind, .. } => {
            Overlap { before: kind.reach().before, after: kind.reach().after }
        }
        LiteralUse::Assignment { .. } => {
            Overlap { before: ASSIGNMENT_REACH.before, after: ASSIGNMENT_REACH.after }
        }
        LiteralUse::UrlEscape | LiteralUse::JsonEscape => Overlap::default(),
    }
}

impl SecretDetector {
    /// Adds the matches of a chunk as they are if the path changes nothing.
    fn scan_chunk(&self, chunk: &Chunk<'_>, scratch: &mut Scratch, found: &mut Vec<OwnedMatch>) {
        let text = Text::of_chunk(chunk);
        scratch.examiner.found.clear();
        scratch.examiner.examine(self, &text);
        scratch.examiner.take_found(chunk.offset, found);
        if self.decode {
            scan_encoded(self, chunk, scratch, found);
        }
    }
}

impl Detector for SecretDetector {
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        let rules = self.rules.len();
        Scratch {
            examiner: Examiner::new(rules),
            encoded: EncodedScratch::new(rules),
            found: Vec::new(),
            sorted: Vec::new(),
        }
    }

    fn required_overlap(&self) -> Overlap {
        self.overlap
    }

    fn finds_builtin(&self) -> bool {
        self.finds_builtin
    }

    fn wants(&self, path: &Path) -> bool {
        !self.allows.iter().any(|allow| allow.has_path_alone(path))
    }

    fn scan_path(&self, path: &Path, matches: &mut Vec<Match>) {
        if self.path_rules.is_empty() || !self.wants(path) {
            return;
        }
        // Try all path rules at once, if their expressions can be combined: most paths match none
        // of them.
        let any = &self.any_path_rule;
        if !any.is_match(&slashed(path)) && !any.has_failed() {
            return;
        }
        for &index in &self.path_rules {
            let verdict = self.judge_path_rule(index, path, &mut Unobserved);
            if let Verdict::Reported { confidence, reason, standing } = verdict {
                matches.push(Match {
                    rule: RuleIndex(index),
                    whole: 0..0,
                    secret: 0..0,
                    decoded: None,
                    encoding: Encoding::Plain,
                    confidence,
                    reason,
                    standing,
                    is_identifier: false,
                });
            }
        }
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut Scratch, matches: &mut Vec<Match>) {
        let mut found = std::mem::take(&mut scratch.found);
        self.scan_chunk(chunk, scratch, &mut found);
        let settled = found.drain(..).filter_map(|one| self.settle_match(one.found, chunk.path));
        matches.extend(settled);
        scratch.found = found;
    }

    fn scan_changed(
        &self,
        version: &Version<'_>,
        scratch: &mut Scratch,
        matches: &mut Vec<PathFreeMatch>,
    ) -> Memory {
        changes::scan_changed(self, version, scratch, matches)
    }

    fn settle(&self, found: &PathFreeMatch, path: &Path) -> Option<Match> {
        self.settle_match(found.clone(), path)
    }

    fn take_work(&self, scratch: &mut Scratch) -> u64 {
        scratch.examiner.take_work() + scratch.encoded.take_work()
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        let rule = &self.rules[rule.0 as usize].rule;
        RuleInfo { id: &rule.id, description: &rule.description, remedy: &rule.remedy }
    }
}
