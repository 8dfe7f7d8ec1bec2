//! [`NullDetector`]: a detector that finds nothing.

use crate::chunk::Chunk;
use crate::detector::{Detector, Match, Overlap, RuleIndex, RuleInfo};

/// A detector that looks at nothing and finds nothing.
///
/// A scan with it costs exactly what reading costs. Use it to measure that, or to see which files a
/// scan would read.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDetector;

impl Detector for NullDetector {
    type Scratch = ();

    fn scratch(&self) {}

    fn finds_builtin(&self) -> bool {
        true
    }

    fn required_overlap(&self) -> Overlap {
        Overlap::default()
    }

    fn scan(&self, _chunk: &Chunk<'_>, _scratch: &mut (), _matches: &mut Vec<Match>) {}

    fn rule(&self, _rule: RuleIndex) -> RuleInfo<'_> {
        RuleInfo::new("none", "nothing", "nothing to do")
    }
}
