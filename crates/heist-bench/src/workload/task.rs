//! The task type and its interpreter.
//!
//! [`Task`] is a small `Copy` enum, the type that typed executors are made for. The channel pool
//! sends the same values; rayon and tokio wrap them in the closure or future that their `spawn`
//! takes. [`perform`] is compiled once per contender with that contender's way to spawn children,
//! so that all of them do the same work around the scheduling under test.

use std::hint::black_box;

use super::{Board, Probe, Puzzle};

/// One leaf of [`Task::FanSkewed`] in this many takes this many times longer.
const SKEW: u32 = 1000;

/// One unit of work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Computes for the given number of rounds (one costs almost nothing) and spawns nothing.
    Leaf { value: u32, rounds: u32 },
    /// A node of a binary tree with this many levels below it.
    Branch { value: u32, levels: u32 },
    /// A board of the n-queens puzzle; spawns one board for each free square of its next row.
    Queens { puzzle: &'static Puzzle, board: Board },
    /// Spawns leaves one by one.
    Fan { leaves: u32, rounds: u32 },
    /// Spawns leaves as one batch, if the pool supports it.
    FanBatch { leaves: u32 },
    /// Spawns leaves, one in a thousand of which takes a thousand times longer.
    FanSkewed { leaves: u32, rounds: u32 },
    /// Spawns tasks that each compute and then report their end.
    FanReportEnd { probe: &'static Probe, leaves: u16, rounds: u32 },
    /// Computes, then reports its end.
    ReportEnd { probe: &'static Probe, rounds: u32 },
    /// Reports its start and does nothing else.
    ReportStart { probe: &'static Probe },
}

/// How a running task spawns tasks on its pool.
pub(crate) trait SpawnChild {
    fn spawn_child(&mut self, task: Task);

    /// Spawns several tasks. Pools without a batch operation spawn them one by one.
    fn spawn_children(&mut self, tasks: impl ExactSizeIterator<Item = Task>) {
        for task in tasks {
            self.spawn_child(task);
        }
    }
}

/// Runs one task.
#[inline]
pub(crate) fn perform(task: Task, pool: &mut impl SpawnChild) {
    match task {
        Task::Leaf { value, rounds } => compute(value, rounds),
        Task::Branch { value, levels } => {
            compute(value, 1);
            if levels > 0 {
                for child in [2 * value, 2 * value + 1] {
                    pool.spawn_child(Task::Branch { value: child, levels: levels - 1 });
                }
            }
        }
        Task::Queens { puzzle, board } => {
            if board.is_complete(puzzle) {
                puzzle.report_solutions(1);
            } else {
                for square in board.free_squares(puzzle) {
                    pool.spawn_child(Task::Queens { puzzle, board: board.with(square) });
                }
            }
        }
        Task::Fan { leaves, rounds } => {
            for value in 0..leaves {
                pool.spawn_child(Task::Leaf { value, rounds });
            }
        }
        Task::FanBatch { leaves } => {
            pool.spawn_children((0..leaves).map(|value| Task::Leaf { value, rounds: 1 }));
        }
        Task::FanSkewed { leaves, rounds } => {
            for value in 0..leaves {
                // In the middle of each thousand, so that the long task is neither the first nor
                // the last to be taken.
                let is_long = value % SKEW == SKEW / 2;
                let rounds = if is_long { rounds * SKEW } else { rounds };
                pool.spawn_child(Task::Leaf { value, rounds });
            }
        }
        Task::FanReportEnd { probe, leaves, rounds } => {
            for _ in 0..leaves {
                pool.spawn_child(Task::ReportEnd { probe, rounds });
            }
        }
        Task::ReportEnd { probe, rounds } => {
            compute(rounds, rounds);
            probe.report_end();
        }
        Task::ReportStart { probe } => probe.report_start(),
    }
}

impl Task {
    /// Returns how many tasks run because of this one, itself included.
    pub(super) fn descendants(self) -> u64 {
        match self {
            Self::Leaf { .. } | Self::ReportEnd { .. } | Self::ReportStart { .. } => 1,
            Self::Branch { levels, .. } => (2 << levels) - 1,
            Self::Queens { puzzle, board } => puzzle.boards_from(board),
            Self::Fan { leaves, .. }
            | Self::FanBatch { leaves }
            | Self::FanSkewed { leaves, .. } => 1 + u64::from(leaves),
            Self::FanReportEnd { leaves, .. } => 1 + u64::from(leaves),
        }
    }
}

/// Computes a chain of cheap steps, each depending on the one before. The compiler must neither
/// know the start, or it would fold the chain, nor see that the result is unused.
#[inline]
pub(crate) fn compute(value: u32, rounds: u32) {
    let mut state = u64::from(black_box(value));
    for _ in 0..rounds {
        state = (state ^ (state >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool of one thread that runs everything at once, depth first.
    #[derive(Default)]
    struct Serial {
        ran: u64,
    }

    impl SpawnChild for Serial {
        fn spawn_child(&mut self, task: Task) {
            self.ran += 1;
            perform(task, self);
        }
    }

    #[test]
    fn descendants_counts_the_tasks_that_run() {
        let probe = Probe::leak();
        for root in [
            Task::Leaf { value: 1, rounds: 1 },
            Task::Branch { value: 1, levels: 0 },
            Task::Branch { value: 1, levels: 9 },
            Task::Queens { puzzle: Puzzle::leak(6), board: Board::default() },
            Task::Fan { leaves: 100, rounds: 1 },
            Task::FanBatch { leaves: 100 },
            Task::FanSkewed { leaves: 2000, rounds: 1 },
            Task::FanReportEnd { probe, leaves: 7, rounds: 1 },
        ] {
            let mut pool = Serial::default();
            pool.spawn_child(root);
            assert_eq!(pool.ran, root.descendants(), "{root:?}");
        }
    }

    #[test]
    fn the_search_for_queens_finds_every_solution() {
        for (size, solutions) in [(1, 1), (2, 0), (4, 2), (6, 4), (8, 92)] {
            let puzzle = Puzzle::leak(size);
            Serial::default().spawn_child(Task::Queens { puzzle, board: Board::default() });
            assert_eq!(puzzle.take_solutions(), solutions, "{size} queens");
        }
    }

    #[test]
    fn a_task_stays_small() {
        assert!(size_of::<Task>() <= 16);
    }
}
