//! The work of the contenders: the same tasks for all of them, interpreted by the same code.

mod pace;
mod probe;
mod queens;
mod task;

use std::ops::Range;

pub(crate) use pace::Pace;
pub(crate) use probe::Probe;
pub(crate) use queens::{Board, Puzzle, Squares};
pub(crate) use task::{SpawnChild, Task, compute, perform};

/// How tasks reach a pool from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// One root task; workers spawn everything else.
    Root(Task),
    /// Tiny tasks from a thread that is not a worker. A pool that accepts batches gets them in
    /// batches of this size, others one by one.
    Inject { tasks: u32, batch: u32 },
}

impl Load {
    /// Returns how many tasks run until the load is done.
    pub(crate) fn tasks(&self) -> u64 {
        match *self {
            Self::Root(root) => root.descendants(),
            Self::Inject { tasks, .. } => u64::from(tasks),
        }
    }

    /// Submits the tasks one by one, for a pool without batches.
    pub(crate) fn feed(&self, mut spawn: impl FnMut(Task)) {
        match *self {
            Self::Root(root) => spawn(root),
            Self::Inject { tasks, .. } => tiny_leaves(0..tasks).for_each(spawn),
        }
    }

    /// Submits the tasks to a pool that accepts batches.
    pub(crate) fn feed_batches(
        &self,
        spawn: impl FnMut(Task),
        mut spawn_batch: impl FnMut(Vec<Task>),
    ) {
        match *self {
            Self::Inject { tasks, batch } if batch > 1 => {
                for first in (0..tasks).step_by(batch as usize) {
                    spawn_batch(tiny_leaves(first..tasks.min(first + batch)).collect());
                }
            }
            _ => self.feed(spawn),
        }
    }
}

fn tiny_leaves(values: Range<u32>) -> impl Iterator<Item = Task> {
    values.map(|value| Task::Leaf { value, rounds: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch_lengths(load: &Load) -> Vec<usize> {
        let mut lengths = Vec::new();
        let mut singles = 0;
        load.feed_batches(|_task| singles += 1, |batch| lengths.push(batch.len()));
        lengths.extend(std::iter::repeat_n(1, singles));
        lengths
    }

    #[test]
    fn batches_cover_all_tasks_and_the_last_one_may_be_short() {
        assert_eq!(batch_lengths(&Load::Inject { tasks: 150, batch: 64 }), [64, 64, 22]);
        assert_eq!(batch_lengths(&Load::Inject { tasks: 3, batch: 1 }), [1, 1, 1]);
        assert_eq!(batch_lengths(&Load::Root(Task::Leaf { value: 0, rounds: 1 })), [1]);
    }

    #[test]
    fn feeding_with_and_without_batches_gives_the_same_number_of_tasks() {
        let load = Load::Inject { tasks: 150, batch: 64 };
        let mut fed = 0;
        load.feed(|_task| fed += 1);
        assert_eq!(fed, load.tasks());
    }
}
