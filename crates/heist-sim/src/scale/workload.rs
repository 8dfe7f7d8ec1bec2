//! The workloads, for any number of workers.
//!
//! The work grows with the number of workers, so that the share of each worker is always the same.
//! A protocol that scales has the same figures per task for every number of workers.

use crate::scenario::{Act, End, How, Pool, Scenario, Step};
use serde::{Deserialize, Serialize};

/// The work that a pool has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// One root; every task spawns two more on its own queue.
    Tree,
    /// All tasks in one batch from outside.
    Flat,
    /// Small batches from outside, with idle time in between.
    Bursts,
    /// A few tasks, and one that takes longer than all others and spawns a task early and a task
    /// late.
    Straggler,
}

/// The time of an ordinary task.
const TASK_NS: u64 = 1_000;

/// The number of levels of the tree with one worker. Each doubling of the workers adds one level.
const TREE_LEVELS: usize = 8;

/// The number of tasks per worker in the flat workload.
const FLAT_SHARE: usize = 256;

const BURSTS: usize = 10;
const BURST_SHARE: usize = 4;
/// Long enough for all workers to fall asleep, and for timeouts to expire in protocols that have
/// them.
const BURST_GAP_NS: u64 = 500_000;

const STRAGGLER_SHARE: usize = 16;
const STRAGGLER_NS: u64 = 200_000;

impl Workload {
    /// All workloads.
    pub const ALL: [Self; 4] = [Self::Tree, Self::Flat, Self::Bursts, Self::Straggler];

    /// Returns the name of the workload.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Flat => "flat",
            Self::Bursts => "bursts",
            Self::Straggler => "straggler",
        }
    }

    /// Returns a one-sentence description.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Tree => {
                "One root; every task spawns two more on its own queue; 256 tasks for each worker."
            }
            Self::Flat => "All tasks in one batch from outside; 256 for each worker.",
            Self::Bursts => "Ten batches from outside, of 4 tasks for each worker, 500 µs apart.",
            Self::Straggler => {
                "16 tasks for each worker, and one of 200 µs that spawns one as it begins and ends."
            }
        }
    }

    /// Returns the scenario for this number of workers. The pool has the default configuration.
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

/// Returns the number of tasks that result from one task of each program. A program only spawns
/// later ones, so this terminates.
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

/// Returns the number of tasks in a scenario.
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
