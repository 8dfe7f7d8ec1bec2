//! [`CommitWalk::refs_containing`]: which names lead to a commit.

use super::graph::{CommitNumber, CommitWalk};
use std::sync::Arc;

/// The number of names that are kept of a commit.
const NAMES_MAX: usize = 3;

/// The commits that are looked for in one pass.
const AT_ONCE: usize = 64;

/// The most passes. Each looks at every commit once.
const PASSES_MAX: usize = 1024;

/// The names that lead to a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainingRefs {
    /// The first names: branches before tags, tags before remote branches, and by name.
    pub names: Vec<Arc<[u8]>>,
    /// The number of all names; `None` if they were not counted.
    pub count: Option<u64>,
}

impl CommitWalk {
    /// Returns, for each of these commits, the refs from which it can be reached.
    #[must_use]
    pub fn refs_containing(&self, commits: &[CommitNumber]) -> Vec<ContainingRefs> {
        let mut results = vec![ContainingRefs::default(); commits.len()];
        let tips: Vec<(CommitNumber, &[u8])> = self
            .tips
            .iter()
            .filter_map(|tip| Some((self.number(&tip.commit()?)?, tip.name())))
            .collect();
        // Which of the commits each commit can reach, one bit each.
        let mut reaches = vec![0_u64; self.len()];
        let passes = commits.chunks(AT_ONCE).zip(results.chunks_mut(AT_ONCE)).take(PASSES_MAX);
        for (commits, results) in passes {
            let first = commits.iter().min().copied().unwrap_or_default() as usize;
            reaches[first..].fill(0);
            for (bit, &commit) in commits.iter().enumerate() {
                reaches[commit as usize] |= 1 << bit;
            }
            for number in first..self.len() {
                let parents = self.parents(number as u32).iter();
                // A parent before the first of the commits reaches none of them.
                let of_parents = parents.map(|&parent| match parent as usize >= first {
                    true => reaches[parent as usize],
                    false => 0,
                });
                reaches[number] |= of_parents.fold(0, std::ops::BitOr::bitor);
            }
            for result in &mut *results {
                result.count = Some(0);
            }
            for &(tip, name) in tips.iter().filter(|(tip, _)| *tip as usize >= first) {
                let mut bits = reaches[tip as usize];
                while bits != 0 {
                    let result = &mut results[bits.trailing_zeros() as usize];
                    bits &= bits - 1;
                    result.count = result.count.map(|count| count + 1);
                    if result.names.len() < NAMES_MAX {
                        result.names.push(name.into());
                    }
                }
            }
        }
        results
    }
}
