//! [`ReadOnly`]: a detector that finds nothing.

use crate::chunk::Chunk;
use crate::detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};

/// Finds nothing, and looks at nothing: a scan with it costs what reading costs. For benchmarks, and to see what a scan
/// would read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOnly;

impl Detector for ReadOnly {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Overlap::default()
    }

    fn scan(&self, _chunk: &Chunk<'_>, _scratch: &mut (), _matches: &mut Vec<Match>) {}

    fn rule(&self, _rule: RuleIndex) -> RuleInfo<'_> {
        RuleInfo { id: "none", description: "nothing", remedy: "nothing to do" }
    }
}
