//! [`ReportBuffer`]: the findings that wait for the report, within a memory limit.
//!
//! Invariant: which findings are kept depends only on the findings, not on the order in which
//! workers push them. They are the first ones in the order of the report, up to the first that does
//! not fit.

use super::reported_finding::ReportedFinding;
use std::borrow::Cow;
use std::collections::BinaryHeap;

/// The memory limit. For more findings there is `jsonl`, which buffers none.
const ROOM_BYTES: usize = 96 << 20;

/// The memory of a finding besides its texts: the struct, its share of a group, and the overhead of
/// the allocator.
const FINDING_BYTES: usize = size_of::<ReportedFinding>() + 160;

/// The first findings of the report, as many as fit.
#[derive(Debug)]
pub(crate) struct ReportBuffer {
    /// A max-heap: the last finding of the report is on top.
    findings: BinaryHeap<ReportedFinding>,
    /// The bytes used, and the limit.
    taken: usize,
    room: usize,
    /// The first finding that did not fit. It and everything after it is left out.
    end: Option<ReportedFinding>,
    left_out: u64,
}

impl Default for ReportBuffer {
    fn default() -> Self {
        Self::with_room(ROOM_BYTES)
    }
}

impl ReportBuffer {
    fn with_room(room: usize) -> Self {
        Self { findings: BinaryHeap::new(), taken: 0, room, end: None, left_out: 0 }
    }

    /// Adds a finding. If the limit is exceeded, the last findings of the report are dropped.
    pub(crate) fn push(&mut self, finding: ReportedFinding) {
        if self.end.as_ref().is_some_and(|end| finding >= *end) {
            self.left_out += 1;
            return;
        }
        self.taken += bytes_of(&finding);
        self.findings.push(finding);
        while self.taken > self.room
            && let Some(last) = self.findings.pop()
        {
            self.taken -= bytes_of(&last);
            self.left_out += 1;
            self.end = Some(last);
        }
    }

    /// Returns the findings in the order of the report, and the number of those that did not fit.
    pub(crate) fn into_sorted(self) -> (Vec<ReportedFinding>, u64) {
        (self.findings.into_sorted_vec(), self.left_out)
    }
}

/// The memory of a finding. Findings of the same file may share its path, but a path that an
/// attacker made has one finding and is long.
fn bytes_of(finding: &ReportedFinding) -> usize {
    let ReportedFinding { secret, excerpt, path, reason, .. } = finding;
    let reason = if matches!(reason, Cow::Owned(_)) { reason.len() } else { 0 };
    let history = finding.history.as_ref().map_or(0, |place| place.size());
    FINDING_BYTES + history + secret.len() + excerpt.len() + path.as_os_str().len() + reason
}

#[cfg(test)]
mod tests {
    use super::super::reported_finding::tests::finding;
    use super::*;
    use heist_scan::Confidence;
    use proptest::prelude::*;

    #[test]
    fn long_paths_count() {
        let mut buffer = ReportBuffer::with_room(1 << 20);
        for number in 0..100 {
            let path = format!("{number:03}{}", "/long".repeat(5_000));
            buffer.push(finding(&path, 1, "secret", Confidence::High));
        }
        let (findings, left_out) = buffer.into_sorted();
        assert_eq!((findings.len(), left_out), (41, 59));
    }

    proptest! {
        #[test]
        fn the_kept_findings_do_not_depend_on_the_order_of_pushes(
            (excerpts, shuffled) in prop::collection::vec(0..2_000_usize, 0..30).prop_flat_map(
                |excerpts| {
                    let order: Vec<usize> = (0..excerpts.len()).collect();
                    (Just(excerpts), Just(order).prop_shuffle())
                },
            ),
            room in 0..20_000_usize,
        ) {
            let at = |line: usize| ReportedFinding {
                excerpt: vec![b'x'; excerpts[line]].into(),
                ..finding("path", line as u64, "secret", Confidence::High)
            };
            let mut buffer = ReportBuffer::with_room(room);
            shuffled.iter().for_each(|&line| buffer.push(at(line)));
            let (findings, left_out) = buffer.into_sorted();
            let mut taken = 0;
            let fitting = (0..excerpts.len()).take_while(|&line| {
                taken += bytes_of(&at(line));
                taken <= room
            });
            let expected: Vec<ReportedFinding> = fitting.map(at).collect();
            prop_assert_eq!(left_out as usize, excerpts.len() - expected.len());
            prop_assert_eq!(findings, expected);
        }
    }
}
