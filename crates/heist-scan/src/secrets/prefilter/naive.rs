//! [`Naive`]: compares every literal at every position. The reference that the others are tested
//! against.

use super::{AnchorHit, Candidates, Prefilter, Sought, begins_long_run, begins_run, may_be_value};
use std::ops::Range;

/// Also finds literals whose gate is closed. No rule should match there; if one does, the gate is
/// wrong.
#[derive(Debug)]
pub(crate) struct Naive(pub(crate) Vec<Sought>);

impl Prefilter for Naive {
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        for at in owned {
            for (number, sought) in self.0.iter().enumerate() {
                if sought.literal.occurs_at(text, at) {
                    found.anchors.push(AnchorHit { at, literal: number as u32 });
                }
            }
            if begins_run(text, at) {
                found.runs.push(at);
            } else if begins_long_run(text, at) && may_be_value(text, at) {
                found.values.push(at);
            }
        }
    }
}
