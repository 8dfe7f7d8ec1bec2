//! The prefilter: one sweep over a text that finds every place where a rule could match.
//!
//! It searches for the literals of rules (see [`anchors`](super::anchors)), and for runs of letters
//! and digits that a generic secret or an encoded text could begin with. [`Naive`] compares every
//! literal at every position; it is slow and obviously correct. [`Scalar`] looks up four bytes in a
//! table; [`Avx2`] classifies 64 positions at a time and consults the table only for those that
//! remain. These two find exactly the same places: those of [`Naive`], except literals at places
//! where no rule can match (see [`Sought`]).
//!
//! Invariant: whether a place is found depends only on the text around it, not on where the sweep
//! begins or ends.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vector instructions: loads, and calls of functions that need them")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod buckets;
mod naive;
mod scalar;
mod table;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
use naive::Naive;
use scalar::Scalar;
pub(crate) use table::{LiteralTable, PlacedLiteral};

use super::boundary::{ESCAPE_BYTES_MAX, escape_ahead};
use super::literal::{LITERAL_BYTES_MAX, Literal, WINDOW_BYTES};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Shorter runs of letters and digits count as words.
pub(crate) const RUN_BYTES_MIN: usize = 12;

/// A run must have a digit among this many of its first bytes.
pub(crate) const RUN_BYTES_SEEN: usize = 64;

/// A literal that the prefilter searches for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sought {
    pub(crate) literal: Literal,
    /// The distance from the literal's start to the run of letters and digits that must begin
    /// there, if any. The prefilter may skip the literal where no run begins.
    pub(crate) gate: Option<usize>,
    /// `true` if the prefilter may skip the literal right after a letter or digit.
    pub(crate) begins_word: bool,
}

/// An occurrence of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnchorHit {
    /// The position of its first byte.
    pub(crate) at: usize,
    /// The literal's index.
    pub(crate) literal: u32,
}

/// The results of a sweep.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) anchors: Vec<AnchorHit>,
    /// The first bytes of runs, see [`begins_run`].
    pub(crate) runs: Vec<usize>,
    /// The first bytes of runs without a digit that may be assigned values, see [`may_be_value`].
    pub(crate) values: Vec<usize>,
}

impl Candidates {
    pub(crate) fn clear(&mut self) {
        self.anchors.clear();
        self.runs.clear();
        self.values.clear();
    }
}

impl Candidates {
    /// Returns the runs in order, each with `true` if it has a digit.
    pub(crate) fn runs_and_values(&self) -> impl Iterator<Item = (usize, bool)> {
        let mut runs = self.runs.iter().copied().peekable();
        let mut values = self.values.iter().copied().peekable();
        std::iter::from_fn(move || match (runs.peek(), values.peek()) {
            (Some(run), Some(value)) if value < run => values.next().map(|at| (at, false)),
            (None, Some(_)) => values.next().map(|at| (at, false)),
            _ => runs.next().map(|at| (at, true)),
        })
    }

    /// Adds the run of at least [`RUN_BYTES_MIN`] that begins at `at`.
    #[inline]
    fn add_run(&mut self, text: &[u8], at: usize, has_digit: bool) {
        if has_digit {
            self.runs.push(at);
        } else if may_be_value(text, at) {
            self.values.push(at);
        }
    }
}

/// Finds every place where a rule could match.
pub(crate) trait Prefilter: Send + Sync + fmt::Debug {
    /// Adds every literal and every run that begins in `owned`. Reads beyond it, up to the ends of
    /// `text`.
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates);
}

/// Which prefilter a detector uses. The findings are the same with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefilterKind {
    /// The fastest prefilter that this machine supports.
    #[default]
    Auto,
    /// A prefilter without special instructions.
    Scalar,
    /// Compares every literal at every position. Very slow.
    Off,
}

impl PrefilterKind {
    /// Builds the prefilter of this kind for these literals. Hits refer to the literals by their
    /// indices.
    pub(crate) fn build(self, sought: &[Sought]) -> Box<dyn Prefilter> {
        if self == Self::Off {
            return Box::new(Naive(sought.to_vec()));
        }
        let tables = Arc::new(Tables::new(sought));
        #[cfg(target_arch = "x86_64")]
        if self == Self::Auto
            && let Some(avx2) = Avx2::new(&tables)
        {
            return Box::new(avx2);
        }
        Box::new(Scalar(tables))
    }
}

/// The literals: those that can occur anywhere, and those that only occur where a run begins.
#[derive(Debug)]
pub(crate) struct Tables {
    anywhere: LiteralTable,
    at_runs: LiteralTable,
    /// The distance from each literal's start to its run (0 for literals that can occur anywhere),
    /// and the greatest distance.
    gates: Vec<usize>,
    gate_max: usize,
    /// Which bytes a literal can have right before its run. Most bytes before a run are spaces and
    /// brackets instead.
    before_runs: [bool; 256],
}

impl Tables {
    fn new(sought: &[Sought]) -> Self {
        let mut anywhere = Vec::new();
        let mut at_runs = Vec::new();
        let gates: Vec<usize> = sought.iter().map(|sought| sought.gate.unwrap_or(0)).collect();
        for (number, Sought { literal, gate, begins_word }) in sought.iter().enumerate() {
            let placed = |window_at| PlacedLiteral {
                number: number as u32,
                literal: literal.clone(),
                window_at,
                begins_word: *begins_word,
            };
            // The window ends where the run begins or, if nothing comes before the run, begins
            // there.
            let window_at = match *gate {
                Some(0) => Some(0),
                Some(gate) => gate
                    .checked_sub(WINDOW_BYTES)
                    .or((gate == 3 && literal.len() == 3).then_some(0)),
                None => None,
            };
            match window_at {
                Some(window_at) => at_runs.push(placed(window_at)),
                None => anywhere.push(placed(literal.rarest_window().0)),
            }
        }
        let gate_max = gates.iter().copied().max().unwrap_or(0);
        let mut before_runs = [false; 256];
        for Sought { literal, gate, .. } in sought {
            let before = gate.and_then(|gate| literal.bytes().get(gate.checked_sub(1)?));
            for byte in before.into_iter().flat_map(|before| before.bytes()) {
                before_runs[usize::from(byte)] = true;
            }
        }
        Self {
            anywhere: LiteralTable::new(anywhere),
            at_runs: LiteralTable::new(at_runs),
            gates,
            gate_max,
            before_runs,
        }
    }

    /// Adds the literals that lead to a run of at least [`RUN_BYTES_MIN`] bytes, which begins at
    /// `run` or after the escape there.
    #[inline]
    fn look_up_at_run(
        &self,
        text: &[u8],
        run: usize,
        owned: &Range<usize>,
        found: &mut Candidates,
    ) {
        self.look_up_at(text, run, owned, found);
        let after_escape = run + escape_ahead(text, run);
        if after_escape > run && is_run(text, after_escape) {
            self.look_up_at(text, after_escape, owned, found);
        }
    }

    fn look_up_at(&self, text: &[u8], run: usize, owned: &Range<usize>, found: &mut Candidates) {
        let known = found.anchors.len();
        if run > 0 && self.before_runs[usize::from(text[run - 1])] {
            // The window of a literal with three bytes before the run begins there; all other
            // windows have four bytes.
            for back in [4, 3] {
                if let Some(window) = run.checked_sub(back) {
                    self.at_runs.look_up(text, window, owned, found);
                }
            }
        }
        self.at_runs.look_up(text, run, owned, found);
        // A literal of three bytes is also found four bytes before a run.
        let mut next = known;
        while let Some(hit) = found.anchors.get(next) {
            if hit.at + self.gates[hit.literal as usize] == run {
                next += 1;
            } else {
                found.anchors.swap_remove(next);
            }
        }
    }
}

/// Returns `true` if a run begins at `at`: at least [`RUN_BYTES_MIN`] letters and digits, with no
/// other before them, and with a digit among the first [`RUN_BYTES_SEEN`].
#[inline]
pub(crate) fn begins_run(text: &[u8], at: usize) -> bool {
    begins_long_run(text, at) && has_digit(text, at)
}

/// Like [`begins_run`], but does not require a digit.
#[inline]
fn begins_long_run(text: &[u8], at: usize) -> bool {
    (at == 0 || !text[at - 1].is_ascii_alphanumeric()) && is_run(text, at)
}

/// Returns `true` if there are enough letters and digits at `at`.
#[inline]
fn is_run(text: &[u8], at: usize) -> bool {
    let run = text.get(at..at + RUN_BYTES_MIN);
    run.is_some_and(|run| run.iter().all(u8::is_ascii_alphanumeric))
}

/// Returns `true` if the run that begins at `at` has a digit among its first bytes.
#[inline]
fn has_digit(text: &[u8], at: usize) -> bool {
    let seen = text[at..].iter().take(RUN_BYTES_SEEN);
    seen.take_while(|byte| byte.is_ascii_alphanumeric()).any(u8::is_ascii_digit)
}

/// How far before a run its token may begin, and how much white space may come before that.
const TOKEN_BEFORE: usize = 48;
const SPACE_BEFORE: usize = 16;

/// How many bytes before a position decide whether a sweep finds something there: what
/// [`may_be_value`] reads. (A word's beginning needs fewer.)
pub(crate) const SWEEP_BEFORE: usize = TOKEN_BEFORE + SPACE_BEFORE;

const _: () = assert!(2 * ESCAPE_BYTES_MAX < SWEEP_BEFORE);

/// Returns how many bytes from a position on decide whether a sweep finds something there. A gate
/// is at most `gate_max` bytes after its literal.
pub(crate) fn sweep_after(gate_max: usize) -> usize {
    let gated = gate_max + ESCAPE_BYTES_MAX + RUN_BYTES_MIN;
    RUN_BYTES_SEEN.max(LITERAL_BYTES_MAX).max(gated)
}

/// Returns `true` if the token that contains the run at `at` may be an assigned value: a quote or
/// an operator comes before it. Words in code and prose mostly have neither.
#[inline]
pub(crate) fn may_be_value(text: &[u8], at: usize) -> bool {
    let is_in_token = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b':' | b'%' | b'$')
    };
    let before = &text[at.saturating_sub(TOKEN_BEFORE)..at];
    let begin = at - before.iter().rev().take_while(is_in_token).count();
    match text[..begin].last() {
        Some(b'"' | b'\'' | b'`' | b'=' | b'>') => true,
        Some(b' ' | b'\t') => {
            let before = &text[begin.saturating_sub(SPACE_BEFORE)..begin];
            let operator = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
            matches!(operator, Some(b'=' | b':' | b'>'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::boundary::begins_word;
    use super::super::literal::Literal;
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn sought() -> Vec<Sought> {
        let free = literals().into_iter().map(|literal| Sought {
            literal,
            gate: None,
            begins_word: false,
        });
        let gated =
            [("abcd", 0), ("xyz_", 4), ("ef_", 3), ("x_abc", 2), ("bcd-ab", 4), ("gha_b", 4)];
        let gated = gated.map(|(text, gate)| {
            let literal = Literal::either_case(text.as_bytes());
            Sought { literal, gate: Some(gate), begins_word: gate % 2 == 1 }
        });
        free.chain(gated).collect()
    }

    fn is_open(text: &[u8], hit: AnchorHit) -> bool {
        let sought = &sought()[hit.literal as usize];
        if sought.begins_word && !begins_word(text, hit.at) {
            return false;
        }
        let Some(gate) = sought.gate else { return true };
        // A gate too near the literal's start leaves no room for a window, so the prefilter
        // searches for that literal everywhere.
        let is_looked_for_anywhere = gate == 2;
        let run = hit.at + gate;
        let len = text[run..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        is_looked_for_anywhere || begins_word(text, run) && len >= RUN_BYTES_MIN
    }

    fn literals() -> Vec<Literal> {
        let mut literals: Vec<Literal> = (0..150_u32)
            .map(|number| {
                let text: Vec<u8> = (0..4 + number % 5)
                    .map(|at| b'a' + ((number * 7 + at * (3 + number / 26)) % 26) as u8)
                    .collect();
                if number % 3 == 0 { Literal::either_case(&text) } else { Literal::exactly(&text) }
            })
            .collect();
        literals.extend([b"://".as_slice(), b"ab_", b"aab", b"-----BEGIN"].map(Literal::exactly));
        literals.sort();
        literals.dedup();
        literals
    }

    /// Generates bytes of few values, so that literals and runs occur often.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            8 => b'a'..=b'h',
            4 => b'a'..=b'z',
            2 => b'A'..=b'F',
            2 => b'0'..=b'9',
            1 => proptest::sample::select(b"_-:/ \n=\"".to_vec()),
            1 => any::<u8>(),
        ];
        let pieces = prop_oneof![
            6 => proptest::collection::vec(byte, 1..90),
            3 => proptest::sample::select(literals()).prop_map(|literal| {
                literal.bytes().iter().map(|byte| byte.byte).collect()
            }),
            2 => (proptest::sample::select(sought()), "[ _]?", "[a-f0-9]{0,20}").prop_map(
                |(sought, before, after)| {
                    let literal = sought.literal.bytes().iter().map(|byte| byte.byte);
                    before.bytes().chain(literal).chain(after.bytes()).collect()
                },
            ),
            1 => proptest::sample::select(vec![b"://".to_vec(), b"-----BEGIN".to_vec()]),
            1 => proptest::sample::select(ESCAPES.to_vec())
                .prop_map(|escape| escape.as_bytes().to_vec()),
        ];
        proptest::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
    }

    /// The prefilters, built once, because the test is about the sweep.
    static PREFILTERS: LazyLock<[Box<dyn Prefilter>; 3]> =
        LazyLock::new(|| KINDS.map(|kind| kind.build(&sought())));

    const KINDS: [PrefilterKind; 3] =
        [PrefilterKind::Off, PrefilterKind::Scalar, PrefilterKind::Auto];

    const ESCAPES: [&str; 6] = ["\\n", "\\u000a", "\\x41", "%3D", "\x1b[31m", "\x1b[1;31m"];

    fn sweep(kind: PrefilterKind, text: &[u8], cuts: &[usize]) -> Candidates {
        let prefilter = &PREFILTERS[KINDS.iter().position(|known| *known == kind).unwrap()];
        let mut found = Candidates::default();
        let mut from = 0;
        for to in cuts.iter().map(|cut| cut % (text.len() + 1)).chain([text.len()]) {
            if from < to {
                prefilter.sweep(text, from..to, &mut found);
                from = to;
            }
        }
        found.anchors.sort_unstable();
        found.runs.sort_unstable();
        found.values.sort_unstable();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn all_prefilters_find_the_same(
            text in texts(), cuts in proptest::collection::vec(0_usize..800, 0..4),
        ) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut expected = sweep(PrefilterKind::Off, &text, &[]);
            prop_assert_eq!(&sweep(PrefilterKind::Off, &text, &cuts), &expected);
            // A prefilter may skip a literal whose gate is closed.
            expected.anchors.retain(|hit| is_open(&text, *hit));
            for kind in [PrefilterKind::Scalar, PrefilterKind::Auto] {
                prop_assert_eq!(&sweep(kind, &text, &cuts), &expected, "{:?}", kind);
            }
        }
    }

    /// A run may begin with an escape in one part, and the literal after the escape in the next
    /// part.
    #[test]
    fn no_cut_loses_what_follows_an_escape() {
        for escape in ESCAPES {
            for sought in sought().iter().filter(|sought| sought.gate.is_some()) {
                let literal: Vec<u8> =
                    sought.literal.bytes().iter().map(|byte| byte.byte).collect();
                let text = [b"\"x", escape.as_bytes(), &literal, b"0123456789abcdef\""].concat();
                for kind in [PrefilterKind::Scalar, PrefilterKind::Auto] {
                    let whole = sweep(kind, &text, &[]);
                    for cut in 0..text.len() {
                        assert_eq!(
                            sweep(kind, &text, &[cut]),
                            whole,
                            "{kind:?} at {cut}: {text:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn all_kinds_of_candidates_are_found() {
        let text = b"x aab deadbeef0123456789 :// -----BEGIN yy";
        let found = sweep(PrefilterKind::Auto, text, &[]);
        assert!(found.anchors.len() >= 3 && found.runs == [6], "{found:?}");
    }
}
