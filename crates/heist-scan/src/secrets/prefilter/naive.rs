//! [`Naive`]: every literal compared at every position. Obvious, and the measure for the others.

use super::{AnchorHit, Candidates, Prefilter, Table, begins_run};
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Naive(pub(crate) Arc<Table>);

impl Prefilter for Naive {
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        for at in owned {
            for (number, literal) in self.0.literals().iter().enumerate() {
                if literal.stands_at(text, at) {
                    found.anchors.push(AnchorHit { at, literal: number as u16 });
                }
            }
            if begins_run(text, at) {
                found.runs.push(at);
            }
        }
    }
}
