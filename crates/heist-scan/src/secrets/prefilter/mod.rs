//! The prefilter: one sweep over a text that says where any rule could match.
//!
//! It looks for two things: the literals of rules (see [`anchors`](super::anchors)), and runs of
//! letters and digits that a generic secret or an encoded text could begin with. [`Naive`] compares
//! every literal at every position and is there to be right. [`Scalar`] looks up four bytes in a
//! table; [`Avx2`] classifies 64 positions at a time and asks the table only about those that are
//! left. These two find exactly the same: what [`Naive`] finds, except literals at places where no
//! rule can match (see [`Sought`]).
//!
//! Invariant: what is found depends on the text around it alone, not on where the sweep begins or ends.

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

use super::boundary::escape_ahead;
use super::literal::{Literal, WINDOW_BYTES};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Runs of fewer letters and digits are words.
pub(crate) const RUN_BYTES_MIN: usize = 12;

/// A run must have a digit among its first bytes; this is how many count.
pub(crate) const RUN_BYTES_SEEN: usize = 64;

/// A literal that is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sought {
    pub(crate) literal: Literal,
    /// How far after its beginning a run of letters and digits must begin, if one must: then it may be passed over
    /// where none does.
    pub(crate) gate: Option<usize>,
    /// Whether it may be passed over where a letter or digit comes before it.
    pub(crate) begins_word: bool,
}

/// A literal that begins somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnchorHit {
    /// Its first byte.
    pub(crate) at: usize,
    /// Which literal.
    pub(crate) literal: u32,
}

/// What a sweep found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) anchors: Vec<AnchorHit>,
    /// First bytes of runs, see [`begins_run`].
    pub(crate) runs: Vec<usize>,
    /// First bytes of runs without a digit that something may be set to, see [`may_be_value`].
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

/// Says where any rule could match.
pub(crate) trait Prefilter: Send + Sync + fmt::Debug {
    /// Adds every literal and every run that begins in `owned`. Looks beyond it as far as `text` goes.
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates);
}

/// Which prefilter a detector uses. What is found is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefilterKind {
    /// The fastest that this machine has.
    #[default]
    Auto,
    /// Without special instructions.
    Scalar,
    /// None: every literal is compared at every position. Very slow.
    Off,
}

impl PrefilterKind {
    /// Returns the prefilter of this kind for these literals, which are known by their numbers from
    /// then on.
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
    /// How far after each literal's beginning the run begins (0 for those that can occur anywhere), and the furthest.
    gates: Vec<usize>,
    gate_max: usize,
    /// Which bytes are right before the run in a literal. Most bytes before a run are spaces and brackets.
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
            // The window ends where the run begins, or, if there is nothing before the run, begins there.
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

    /// Adds the literals that lead to the run of at least [`RUN_BYTES_MIN`] that begins at `run`, or after the escape
    /// that it begins with.
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
            // Literals of three bytes before the run have a window that begins there; of all others it has four.
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

/// Returns `true` if a run begins at `at`: at least [`RUN_BYTES_MIN`] letters and digits, none
/// before them, and a digit among the first [`RUN_BYTES_SEEN`].
#[inline]
pub(crate) fn begins_run(text: &[u8], at: usize) -> bool {
    begins_long_run(text, at) && has_digit(text, at)
}

/// The same without a digit.
#[inline]
fn begins_long_run(text: &[u8], at: usize) -> bool {
    (at == 0 || !text[at - 1].is_ascii_alphanumeric()) && is_run(text, at)
}

/// Returns `true` if enough letters and digits are at `at`.
#[inline]
fn is_run(text: &[u8], at: usize) -> bool {
    let run = text.get(at..at + RUN_BYTES_MIN);
    run.is_some_and(|run| run.iter().all(u8::is_ascii_alphanumeric))
}

/// Returns `true` if a digit is among the first bytes of the run that begins at `at`.
#[inline]
fn has_digit(text: &[u8], at: usize) -> bool {
    let seen = text[at..].iter().take(RUN_BYTES_SEEN);
    seen.take_while(|byte| byte.is_ascii_alphanumeric()).any(u8::is_ascii_digit)
}

/// How far before a run its token may begin, and how much space may be before that.
const TOKEN_BEFORE: usize = 48;
const SPACE_BEFORE: usize = 16;

/// Returns `true` if something may be set to the token that the run at `at` is in: a quote or an
/// operator comes before it. Words in code and prose mostly have neither.
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
        // A gate that is too near its literal's beginning leaves no room for a window, so that
        // literal is looked for anywhere.
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

    /// Bytes of few values, so that literals and runs come often.
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
            2 => (proptest::sample::select(sought()), "[ _]?", "[a-f0-9]{0,20}").prop_map(|(sought, before, after)| {
                let literal = sought.literal.bytes().iter().map(|byte| byte.byte);
                before.bytes().chain(literal).chain(after.bytes()).collect()
            }),
            1 => proptest::sample::select(vec![b"://".to_vec(), b"-----BEGIN".to_vec()]),
            1 => proptest::sample::select(ESCAPES.to_vec()).prop_map(|escape| escape.as_bytes().to_vec()),
        ];
        proptest::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
    }

    /// Built once: what is tested is the sweep.
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
        fn all_prefilters_find_the_same(text in texts(), cuts in proptest::collection::vec(0_usize..800, 0..4)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut expected = sweep(PrefilterKind::Off, &text, &[]);
            prop_assert_eq!(&sweep(PrefilterKind::Off, &text, &cuts), &expected);
            // A literal whose gate is shut need not be found.
            expected.anchors.retain(|hit| is_open(&text, *hit));
            for kind in [PrefilterKind::Scalar, PrefilterKind::Auto] {
                prop_assert_eq!(&sweep(kind, &text, &cuts), &expected, "{:?}", kind);
            }
        }
    }

    /// A run may begin with an escape, and the literal after it in the next part.
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
