//! [`Reaches`]: how far around a candidate the bytes are that decide what is found from it.
//!
//! Most rules see a few hundred bytes, and one sees 16 KiB. So each literal has a reach of its own:
//! with one reach for all, nearly everything would be near a change.

use super::super::literal::LITERAL_BYTES_MAX;
use super::super::plan::{LiteralUse, Plan};
use super::super::prefilter::{SWEEP_BEFORE, sweep_after};
use super::super::{AROUND_MATCH, reach_of_use};
use crate::decode::{DECODE_MARGIN, EscapeKind};
use crate::detector::Overlap;
use crate::parsers::ASSIGNMENT_REACH;
use crate::rules::Rule;

/// How far around a candidate the bytes are that decide what is found from it.
#[derive(Debug)]
pub(crate) struct Reaches {
    /// The bytes that decide whether a position is a candidate. Every other reach of plain text
    /// includes it: a position that may have become a candidate must not inherit anything.
    pub(super) sweep: Overlap,
    /// For each literal.
    pub(super) literals: Vec<LiteralReach>,
    /// For runs of letters and digits.
    pub(super) value: Overlap,
    /// How near to a change encoded text is scanned again even if it begins and ends elsewhere: far
    /// enough to see every line break and escape that could join it with what changed.
    pub(super) encoded_margin: usize,
}

/// What the scan of a version must know of a literal.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiteralReach {
    /// How far its uses see, except [`LiteralUse::Near`].
    pub(super) reach: Overlap,
    /// Whether it is the keyword of a rule without a literal. Such a rule searches from search
    /// starts, and its results are never inherited.
    pub(super) is_near: bool,
    /// The kind of escapes that it begins.
    pub(super) escape: Option<EscapeKind>,
}

impl Reaches {
    pub(crate) fn new(rules: &[Rule], plan: &Plan) -> Self {
        let gates = plan.sought.iter().filter_map(|sought| sought.gate);
        let after = sweep_after(gates.max().unwrap_or(0)).max(LITERAL_BYTES_MAX);
        let sweep = Overlap { before: SWEEP_BEFORE, after };
        let around = |reach: Overlap| Overlap {
            before: (reach.before + AROUND_MATCH).max(sweep.before),
            after: (reach.after + AROUND_MATCH).max(sweep.after),
        };
        let of_literal = |literal: u32| {
            let mut found =
                LiteralReach { reach: Overlap::default(), is_near: false, escape: None };
            for &place in plan.uses(literal) {
                match place {
                    LiteralUse::Near { .. } => found.is_near = true,
                    LiteralUse::UrlEscape => found.escape = Some(EscapeKind::Url),
                    LiteralUse::JsonEscape => found.escape = Some(EscapeKind::Json),
                    _ => {
                        let Overlap { before, after } = reach_of_use(rules, plan, place, 0);
                        found.reach.before = found.reach.before.max(before);
                        found.reach.after = found.reach.after.max(after);
                    }
                }
            }
            LiteralReach { reach: around(found.reach), ..found }
        };
        let literals = (0..plan.sought.len() as u32).map(of_literal).collect();
        let value = Overlap { before: ASSIGNMENT_REACH.before, after: ASSIGNMENT_REACH.after };
        let encoded_margin = 2 * DECODE_MARGIN;
        Self { sweep, literals, value: around(value), encoded_margin }
    }
}
