//! [`RuleBudget`]: what the rules of files may cost altogether, so that loading and using them
//! takes neither unbounded time nor unbounded memory, even if an attacker wrote them.
//!
//! The size of an expression is estimated, in states of the automaton that it is compiled to,
//! because compiling takes much longer than parsing and happens only when a rule is needed. The
//! estimate is never less than what compiling yields, apart from a few states for the frame.
//!
//! Not guaranteed: that rules within the budget are fast. The deadline of a scan holds for them.

use super::error::{RuleErrorKind, RuleNote, RulePlace};
use super::model::Allowlist;
use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};
use std::cell::Cell;
use std::time::Instant;

/// The limit for the capture groups of an expression. While it searches, a worker may keep the
/// position of each group for each state.
const GROUPS_MAX: usize = 100;

/// The limit for the states of an expression.
const STATES_MAX: usize = 20_000;

/// The limit for the states of an expression times its groups, counting the whole match as one.
const SLOTS_MAX: usize = 400_000;

/// The limits for the expressions of all files together.
const EXPRESSIONS_MAX: usize = 4_000;
const ALL_STATES_MAX: usize = 400_000;

/// The limit for the expressions of allowlists, with a copy for each of their rules. Each keeps
/// some memory while it is in use.
const ALLOWED_EXPRESSIONS_MAX: usize = 1_000;

/// The limit for the states of their expressions, which a worker tries on every match without an
/// interruption.
const ALLOWED_STATES_MAX: usize = 50_000;

/// The limit for the states of all expressions on paths, which a worker tries on every path without
/// an interruption.
const PATH_STATES_MAX: usize = 20_000;

/// The limit for the states of an expression times the bytes that one search reads: a search that
/// is not interrupted takes less than a second.
const SEARCH_MAX: usize = 200_000_000;

/// What a search reads beyond the longest match.
const SEARCH_BYTES_MORE: usize = 8192;

/// The limits for the keywords and stopwords of all files together, and for their length.
const WORDS_MAX: usize = 10_000;
const WORD_BYTES_MAX: usize = 256;

/// The limit for the size of allowlists that are copied to the rules that they name, in bytes.
const COPIES_BYTES_MAX: usize = 4 << 20;

/// The limit for the size of all files together, in bytes.
const FILES_BYTES_MAX: usize = 4 << 20;

/// The number of notes that are kept.
const NOTES_MAX: usize = 200;

/// What the rules of files have cost so far.
#[derive(Debug, Default)]
pub(super) struct RuleBudget {
    deadline: Option<Instant>,
    expressions: Cell<usize>,
    states: Cell<usize>,
    path_states: Cell<usize>,
    allowed: Cell<usize>,
    allowed_states: Cell<usize>,
    words: Cell<usize>,
    copies: Cell<usize>,
    files: Cell<usize>,
}

impl RuleBudget {
    /// Creates a budget that is also used up at `deadline`.
    pub(super) fn new(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// Returns an error if the deadline has passed.
    pub(super) fn check_time(&self) -> Result<(), RuleErrorKind> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(RuleErrorKind::OutOfTime),
            _ => Ok(()),
        }
    }

    /// Adds an expression. Returns its estimated number of states.
    pub(super) fn add_expression(&self, hir: &Hir) -> Result<usize, RuleErrorKind> {
        self.check_time()?;
        let groups = hir.properties().explicit_captures_len();
        let of_expression =
            |unit, size, limit| too_large("a regular expression", unit, size, limit);
        if groups > GROUPS_MAX {
            return Err(of_expression("groups", groups, GROUPS_MAX));
        }
        let states = states_of(hir);
        if states > STATES_MAX {
            return Err(of_expression("states", states, STATES_MAX));
        }
        let slots = states * (groups + 1);
        if slots > SLOTS_MAX {
            return Err(of_expression("states times groups", slots, SLOTS_MAX));
        }
        let what = "a set";
        add(&self.expressions, 1, EXPRESSIONS_MAX, what, "expressions")?;
        add(&self.states, states, ALL_STATES_MAX, what, "states of expressions")?;
        Ok(states)
    }

    /// Adds the states of an expression on paths, which was added as an expression.
    pub(super) fn add_path_states(&self, states: usize) -> Result<(), RuleErrorKind> {
        let unit = "states of expressions on paths";
        add(&self.path_states, states, PATH_STATES_MAX, "a set", unit)
    }

    /// The same for an expression of an allowlist.
    pub(super) fn add_allowed_states(&self, states: usize) -> Result<(), RuleErrorKind> {
        let unit = "states of expressions of allowlists";
        add(&self.allowed_states, states, ALLOWED_STATES_MAX, "a set", unit)
    }

    /// Adds a copy of an allowlist for one of the rules that it names.
    pub(super) fn add_copy(&self, allowlist: &Allowlist) -> Result<(), RuleErrorKind> {
        let Allowlist { description, paths, regexes, stopwords, .. } = allowlist;
        let texts = paths.iter().chain(regexes).chain(stopwords);
        let entry = size_of::<String>();
        let size =
            texts.map(|text| text.len() + entry).fold(description.len(), usize::saturating_add);
        let what = "a set of allowlists, with a copy for each of their rules,";
        add(
            &self.copies,
            size.saturating_add(size_of::<Allowlist>()),
            COPIES_BYTES_MAX,
            what,
            "bytes",
        )?;
        self.add_allowlist(allowlist)
    }

    /// Adds the expressions of an allowlist.
    pub(super) fn add_allowlist(&self, allowlist: &Allowlist) -> Result<(), RuleErrorKind> {
        let more = allowlist.paths.len() + allowlist.regexes.len();
        let unit = "expressions of allowlists";
        add(&self.allowed, more, ALLOWED_EXPRESSIONS_MAX, "a set", unit)
    }

    /// Adds a file.
    pub(super) fn add_file(&self, text: &str) -> Result<(), RuleErrorKind> {
        self.check_time()?;
        add(&self.files, text.len(), FILES_BYTES_MAX, "a set of rule files", "bytes")
    }

    /// Adds keywords or stopwords.
    pub(super) fn add_words(&self, words: &[String]) -> Result<(), RuleErrorKind> {
        if let Some(long) = words.iter().map(String::len).find(|&length| length > WORD_BYTES_MAX) {
            return Err(too_large("a word", "bytes", long, WORD_BYTES_MAX));
        }
        add(&self.words, words.len(), WORDS_MAX, "a set", "keywords and stopwords")
    }
}

/// Returns an error if one search for an expression with this many states could take too long.
pub(super) fn check_search(states: usize, longest: usize) -> Result<(), RuleErrorKind> {
    let steps = states.saturating_mul(longest + SEARCH_BYTES_MORE);
    if steps > SEARCH_MAX {
        let problem = format!(
            "the expression has {states} states and matches up to {longest} bytes, which takes too \
             long to search for; reduce its repetitions or set a smaller `maxLength`"
        );
        return Err(RuleErrorKind::Value { field: "maxLength", problem });
    }
    Ok(())
}

fn add(
    sum: &Cell<usize>,
    more: usize,
    limit: usize,
    what: &'static str,
    unit: &'static str,
) -> Result<(), RuleErrorKind> {
    sum.set(sum.get().saturating_add(more));
    if sum.get() > limit {
        return Err(too_large(what, unit, sum.get(), limit));
    }
    Ok(())
}

fn too_large(what: &'static str, unit: &'static str, size: usize, limit: usize) -> RuleErrorKind {
    RuleErrorKind::TooLarge { what, unit, size, limit }
}

/// Estimates the number of states that an expression is compiled to.
fn states_of(hir: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(states_of).fold(1, usize::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(class) => states_of_class(class),
        HirKind::Capture(capture) => states_of(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) => sum(parts),
        HirKind::Alternation(branches) => sum(branches).saturating_add(branches.len()),
        HirKind::Repetition(repetition) => {
            let once = states_of(&repetition.sub).saturating_add(1);
            let times = repetition.max.unwrap_or(repetition.min).max(repetition.min).max(1);
            once.saturating_mul(times as usize)
        }
    }
}

fn states_of_class(class: &Class) -> usize {
    match class {
        Class::Bytes(_) => 1,
        // A range of characters becomes sequences of up to four ranges of bytes. They share the
        // states of their beginnings.
        Class::Unicode(class) => {
            let mut states = 1_usize;
            let mut before: Option<Utf8Sequence> = None;
            let ranges = class.iter();
            for sequence in ranges.flat_map(|range| Utf8Sequences::new(range.start(), range.end()))
            {
                let (bytes, known) = (sequence.as_slice(), before.as_ref());
                let known = known.map_or(&[][..], Utf8Sequence::as_slice);
                let shared = bytes.iter().zip(known).take_while(|(new, old)| new == old).count();
                states = states.saturating_add((bytes.len() - 1).saturating_sub(shared));
                before = Some(sequence);
            }
            states
        }
    }
}

/// Notes about rule files. Keeps the first ones, and counts the rest.
#[derive(Debug, Default)]
pub(super) struct RuleNotes {
    kept: Vec<RuleNote>,
    left_out: usize,
}

impl RuleNotes {
    /// Adds a note, which is made only if it is kept.
    pub(super) fn push(&mut self, note: impl FnOnce() -> RuleNote) {
        if self.kept.len() < NOTES_MAX {
            self.kept.push(note());
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the notes. The last one says how many are left out, if any are.
    pub(super) fn finish(mut self) -> Vec<RuleNote> {
        if self.left_out > 0 {
            let text = format!("{} more notes are not shown", self.left_out);
            self.kept.push(RuleNote { text, place: RulePlace::default() });
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::syntax;
    use super::*;
    use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};

    /// The estimate is an upper bound of what the compiler yields, and not far from it.
    #[test]
    fn states_are_estimated() {
        let patterns = [
            "abc",
            "a{3,40}",
            "(a?){100}",
            "[a-z]{2}(x|yz|[0-9]+)*",
            "(?u:\\pL)",
            "(?iu:\\p{Greek}){9}",
            "((a|b){10}){10}",
            "(?:){500}",
            "a*?b+",
            "[\\w.-]{0,50}?(?:key|token)",
            "(?s-u:.){200}",
            "(?:a|b|cd|efg|[x-z]){30,}",
            "\\b(a)(b)(c)\\b",
        ];
        for pattern in patterns {
            let hir = syntax::parse(pattern).expect("it is valid");
            let config = Config::new().utf8(false).which_captures(WhichCaptures::All);
            let nfa = Compiler::new().configure(config).build_from_hir(&hir).expect("it is small");
            let (estimate, actual) = (states_of(&hir), nfa.states().len());
            // The frame: the start of an unanchored search, the whole match's group, and its end.
            assert!(actual <= estimate + 12, "{pattern}: {actual} states, estimated {estimate}");
            assert!(
                estimate <= 4 * actual + 12,
                "{pattern}: {actual} states, estimated {estimate}"
            );
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let budget = RuleBudget::default();
        for (pattern, unit) in [
            ("()".repeat(101), "groups"),
            ("[a-z]{1000}{1000}".to_owned(), "states"),
            (format!("{}[a-z]{{9000}}", "()".repeat(60)), "states times groups"),
        ] {
            let hir = syntax::parse(&pattern).expect("it is valid");
            let error = budget.add_expression(&hir).expect_err("it is too large").to_string();
            assert!(error.contains(unit), "{error}");
        }
        let small = syntax::parse("[a-z]{900}").expect("it is valid");
        let error = (0..1000).find_map(|_| budget.add_expression(&small).err()).expect("too many");
        assert!(error.to_string().contains("states of expressions"), "{error}");
        let words = vec!["word".to_owned(); 5001];
        assert!(budget.add_words(&words).is_ok() && budget.add_words(&words).is_err());
        assert!(RuleBudget::default().add_words(&["w".repeat(257)]).is_err());
    }

    #[test]
    fn loading_ends_at_the_deadline() {
        let budget = RuleBudget::new(Some(Instant::now()));
        let hir = syntax::parse("a").expect("it is valid");
        assert!(matches!(budget.add_expression(&hir), Err(RuleErrorKind::OutOfTime)));
    }
}
