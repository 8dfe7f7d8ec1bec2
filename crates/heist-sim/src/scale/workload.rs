//! The workloads, for any number of workers.
//!
//! Each worker has the same share of the work however many there are, so a protocol that scales has the same figures
//! per task in every column.

use crate::scenario::{Act, End, How, Pool, Scenario, Step};
use serde::{Deserialize, Serialize};

/// What a pool is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// One root, and every task spawns two more on its own queue.
    Tree,
    /// All tasks at once, from outside.
    Flat,
    /// A few tasks for each worker at a time, from outside, and nothing for a while in between.
    Bursts,
    /// A few tasks, and one that takes longer than all others and spawns early and late.
    Straggler,
}

/// A task of the usual size.
const TASK_NS: u64 = 1_000;

/// A tree on this many times two workers has one level more.
const TREE_LEVELS: usize = 8;

/// How many tasks of a flat workload each worker would run if they were shared evenly.
const FLAT_SHARE: usize = 256;

const BURSTS: usize = 10;
const BURST_SHARE: usize = 4;
/// Long enough for all workers to fall asleep, and for the timeouts of a protocol that has some.
const BURST_GAP_NS: u64 = 500_000;

const STRAGGLER_SHARE: usize = 16;
const STRAGGLER_NS: u64 = 200_000;

impl Workload {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tree, Self::Flat, Self::Bursts, Self::Straggler];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Flat => "flat",
            Self::Bursts => "bursts",
            Self::Straggler => "straggler",
        }
    }

    /// What it is, in a sentence.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Tree => {
                "One root; every task spawns two more on its own queue; 256 tasks for each worker."
            }
            Self::Flat => "All tasks in one batch from outside; 256 for each worker.",
            Self::Bursts => "Ten batches from outside, of 4 tasks for each worker, 500 µs apart.",
            Self::Straggler => {
                "A batch of 16 tasks for each worker; and one task that takes 200 µs and spawns one at its beginning \
                 and one at its end."
            }
        }
    }

    /// The scenario for so many workers. The pool is configured as one is by default.
    pub fn scenario(self, workers: usize, seed: u64) -> Scenario {
        let run = |ns| Step::Run { ns };
        let children = |program, count| Step::Spawn { program, count, how: How::Local };
        let (programs, owner) = match self {
            Self::Tree => {
                let levels = TREE_LEVELS + workers.ilog2() as usize;
                let inner = (1..levels).map(|next| vec![children(next, 2), run(TASK_NS)]);
                let programs = inner.chain([vec![run(TASK_NS)]]).collect();
                (programs, vec![Act::Spawn { program: 0, hold: false }])
            }
            Self::Flat => {
                let batch = Act::Batch { program: 0, count: FLAT_SHARE * workers };
                (vec![vec![run(TASK_NS)]], vec![batch])
            }
            Self::Bursts => {
                let batch = Act::Batch { program: 0, count: BURST_SHARE * workers };
                let gap = Act::Run { ns: BURST_GAP_NS };
                let later = std::iter::repeat_n([gap, batch.clone()], BURSTS - 1).flatten();
                (vec![vec![run(TASK_NS)]], [batch].into_iter().chain(later).collect())
            }
            Self::Straggler => {
                let long = vec![children(1, 1), run(STRAGGLER_NS), children(1, 1)];
                let batch = Act::Batch { program: 1, count: STRAGGLER_SHARE * workers };
                let owner = vec![Act::Spawn { program: 0, hold: false }, batch];
                (vec![long, vec![run(TASK_NS)]], owner)
            }
        };
        Scenario {
            name: format!("{}-{workers}", self.name()),
            pool: Pool { workers, steal_tries: 4, looks: 200, seed, ..Pool::default() },
            programs,
            actors: vec![owner],
            end: End::Join,
            ..Scenario::default()
        }
    }
}

/// How many tasks come of one of each program. A program spawns only later ones, so this ends.
pub(super) fn program_sizes(scenario: &Scenario) -> Vec<u64> {
    let mut sizes = vec![0; scenario.programs.len()];
    for (number, program) in scenario.programs.iter().enumerate().rev() {
        let spawned = program.iter().map(|step| match step {
            Step::Spawn { program, count, .. } => *count as u64 * sizes[*program],
            _ => 0,
        });
        sizes[number] = 1 + spawned.sum::<u64>();
    }
    sizes
}

/// How many tasks a scenario has in all.
pub(super) fn tasks_of(scenario: &Scenario) -> u64 {
    let sizes = program_sizes(scenario);
    let from_outside = scenario.actors.iter().flatten().map(|act| match act {
        Act::Spawn { program, .. } => sizes[*program],
        Act::Batch { program, count } => *count as u64 * sizes[*program],
        _ => 0,
    });
    from_outside.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_can_be_run_and_each_worker_has_the_same_share() {
        for workload in Workload::ALL {
            let tasks = |workers| {
                let scenario = workload.scenario(workers, 1);
                scenario.validate().expect("it can be run");
                tasks_of(&scenario) as f64 / workers as f64
            };
            let (few, many) = (tasks(2), tasks(256));
            assert!((few / many - 1.0).abs() < 0.1, "{}: {few} and {many}", workload.name());
        }
        assert_eq!(tasks_of(&Workload::Tree.scenario(4, 1)), 1_023);
        assert_eq!(tasks_of(&Workload::Straggler.scenario(2, 1)), 32 + 3);
    }
}
