//! The prefilter: one sweep over a text that says where any rule could match.
//!
//! It looks for two things: the literals of rules (see [`anchors`](super::anchors)), and runs of letters and digits that
//! a generic secret or an encoded text could begin with. Three implementations find exactly the same: [`Naive`] compares
//! every literal at every position and is there to be right; [`Scalar`] looks up four bytes in a table; [`Avx2`]
//! classifies 64 positions at a time and asks the table only about those that are left.
//!
//! Invariant: what is found depends on the text around it alone, not on where the sweep begins or ends.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod buckets;
mod naive;
mod scalar;
mod table;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
use naive::Naive;
use scalar::Scalar;
use table::Table;

use super::literal::{Literal, WINDOW_BYTES};
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Runs of fewer letters and digits are words.
pub(crate) const RUN_BYTES_MIN: usize = 12;

/// A run must have a digit within so many bytes.
pub(crate) const RUN_BYTES_SEEN: usize = 64;

/// A literal that is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sought {
    pub(crate) literal: Literal,
    /// How far after its beginning a run of letters and digits must begin, if one must: then it may be passed over where
    /// none does.
    pub(crate) gate: Option<usize>,
}

/// A literal that begins somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnchorHit {
    /// Its first byte.
    pub(crate) at: usize,
    /// Which literal.
    pub(crate) literal: u16,
}

/// What a sweep found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) anchors: Vec<AnchorHit>,
    /// First bytes of runs, see [`begins_run`].
    pub(crate) runs: Vec<usize>,
}

impl Candidates {
    pub(crate) fn clear(&mut self) {
        self.anchors.clear();
        self.runs.clear();
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
    /// The prefilter of this kind for these literals, which are known by their numbers from then on.
    pub(crate) fn build(self, sought: &[Sought]) -> Box<dyn Prefilter> {
        assert!(sought.len() < usize::from(u16::MAX), "a literal's number has 16 bits");
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

/// The literals: those that can stand anywhere, and those that only stand where a run begins.
#[derive(Debug)]
pub(crate) struct Tables {
    anywhere: Table,
    at_runs: Table,
    /// How far after a literal's beginning the run can begin.
    gate_max: usize,
}

impl Tables {
    fn new(sought: &[Sought]) -> Self {
        let mut anywhere = Vec::new();
        let mut at_runs = Vec::new();
        let mut gate_max = 0;
        for (number, Sought { literal, gate }) in sought.iter().enumerate() {
            let number = number as u16;
            // The window ends where the run begins, or, if there is nothing before the run, begins there.
            let window_at = match *gate {
                Some(0) => Some(0),
                Some(gate) => gate
                    .checked_sub(WINDOW_BYTES)
                    .or((gate == 3 && literal.len() == 3).then_some(0)),
                None => None,
            };
            match (window_at, gate) {
                (Some(window_at), Some(gate)) => {
                    gate_max = gate_max.max(*gate);
                    at_runs.push((number, literal.clone(), window_at));
                }
                _ => anywhere.push((number, literal.clone(), 0)),
            }
        }
        share_windows(&mut anywhere);
        Self { anywhere: Table::new(anywhere), at_runs: Table::new(at_runs), gate_max }
    }

    /// Adds the literals that lead to the run of at least [`RUN_BYTES_MIN`] that begins at `run`.
    #[inline]
    fn look_up_at_run(
        &self,
        text: &[u8],
        run: usize,
        owned: &Range<usize>,
        found: &mut Candidates,
    ) {
        // Literals of three bytes before the run have a window that begins there; of all others it has four.
        for back in [4, 3, 0] {
            if let Some(window) = run.checked_sub(back) {
                self.at_runs.look_up(text, window, owned, found);
            }
        }
    }
}

/// A literal takes a window that another has already, if it is not much more common than its own rarest: the fewer
/// windows there are, the less is taken for one.
const MUCH_MORE_COMMON: f64 = 2.0;

/// Chooses the window of each literal.
fn share_windows(literals: &mut [(u16, Literal, usize)]) {
    // Those with the least choice first.
    let mut order: Vec<usize> = (0..literals.len()).collect();
    order.sort_by_key(|&index| literals[index].1.len());
    let mut taken = HashSet::new();
    for index in order {
        let (_, literal, window_at) = &mut literals[index];
        let window = |at: usize| {
            let bytes = &literal.bytes()[at..literal.len().min(at + WINDOW_BYTES)];
            bytes.iter().map(|byte| byte.byte | 0x20).collect::<Vec<u8>>()
        };
        let (rarest, least) = literal.rarest_window();
        let shared = literal
            .windows()
            .filter(|(at, frequency)| {
                *frequency <= least * MUCH_MORE_COMMON && taken.contains(&window(*at))
            })
            .min_by(|left, right| left.1.total_cmp(&right.1));
        let at = shared.map_or(rarest, |(at, _)| at);
        taken.insert(window(at));
        *window_at = at;
    }
}

/// Whether a run begins at `at`: at least [`RUN_BYTES_MIN`] letters and digits, none before them, and a digit among the
/// first [`RUN_BYTES_SEEN`].
#[inline]
pub(crate) fn begins_run(text: &[u8], at: usize) -> bool {
    if at > 0 && text[at - 1].is_ascii_alphanumeric() {
        return false;
    }
    let mut has_digit = false;
    let mut len = 0;
    for &byte in text[at..].iter().take(RUN_BYTES_SEEN) {
        if !byte.is_ascii_alphanumeric() {
            break;
        }
        has_digit |= byte.is_ascii_digit();
        len += 1;
    }
    has_digit && len >= RUN_BYTES_MIN
}

#[cfg(test)]
mod tests {
    use super::super::literal::Literal;
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn sought() -> Vec<Sought> {
        let free = literals().into_iter().map(|literal| Sought { literal, gate: None });
        let gated =
            [("abcd", 0), ("xyz_", 4), ("ef_", 3), ("x_abc", 2), ("bcd-ab", 4), ("gha_b", 4)];
        let gated = gated.map(|(text, gate)| {
            let literal = Literal::either_case(text.as_bytes());
            Sought { literal, gate: Some(gate) }
        });
        free.chain(gated).collect()
    }

    fn is_open(text: &[u8], hit: AnchorHit) -> bool {
        let Some(gate) = sought()[usize::from(hit.literal)].gate else { return true };
        // One that is too near its literal's beginning for a window of its own is looked for anywhere.
        let is_looked_for_anywhere = gate == 2;
        let run = hit.at + gate;
        let len = text[run..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let begins = run == 0 || !text[run - 1].is_ascii_alphanumeric();
        is_looked_for_anywhere || begins && len >= RUN_BYTES_MIN
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
            1 => proptest::sample::select(b"_-:/ \n".to_vec()),
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
        ];
        proptest::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
    }

    /// Built once: what is tested is the sweep.
    static PREFILTERS: LazyLock<[Box<dyn Prefilter>; 3]> =
        LazyLock::new(|| KINDS.map(|kind| kind.build(&sought())));

    const KINDS: [PrefilterKind; 3] =
        [PrefilterKind::Off, PrefilterKind::Scalar, PrefilterKind::Auto];

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

    #[test]
    fn the_texts_of_the_property_test_have_something_to_find() {
        let text = b"x aab deadbeef0123456789 :// -----BEGIN yy";
        let found = sweep(PrefilterKind::Auto, text, &[]);
        assert!(found.anchors.len() >= 3 && found.runs == [6], "{found:?}");
    }
}
