//! The contenders: heist and the pools that its users would otherwise choose.
//!
//! Each is used as its own documentation recommends, and all have the same number of workers. A
//! contender that can keep its threads between two loads does so. Where waiting for completion ends
//! the pool (heist and the reference), a new one starts before the clock does.

mod channel;
mod heist;
mod rayon;
mod reference;
mod tokio;

use std::thread;
use std::time::Duration;

use crate::clock::Span;
use crate::workload::{Load, Task};

/// Time for new workers to become idle, so that every load finds the pool asleep.
const SETTLE: Duration = Duration::from_millis(1);

/// An implementation of a pool.
pub(crate) trait Peer {
    fn name(&self) -> &str;

    /// Starts the threads.
    fn start(&self) -> Box<dyn Pool>;
}

/// A pool whose threads are running. Dropping it ends them.
pub(crate) trait Pool {
    /// Submits one task from outside without waiting for it.
    fn spawn(&self, task: Task);

    /// Runs a load and measures from the first spawn until the caller knows that all tasks are
    /// done.
    fn run(self: Box<Self>, load: &Load) -> Completed;
}

/// The result of running a load.
pub(crate) struct Completed {
    pub(crate) span: Span,
    /// The pool, if it can run another load.
    pub(crate) pool: Option<Box<dyn Pool>>,
}

/// A peer, and its pool if that is running.
pub(crate) struct PoolContender {
    peer: Box<dyn Peer>,
    pool: Option<Box<dyn Pool>>,
}

impl PoolContender {
    pub(crate) fn name(&self) -> &str {
        self.peer.name()
    }

    /// Runs a load on a pool that has started and is idle.
    pub(crate) fn run(&mut self, load: &Load) -> Span {
        let pool = self.pool.take().unwrap_or_else(|| self.peer.start());
        thread::sleep(SETTLE);
        let completed = pool.run(load);
        self.pool = completed.pool;
        completed.span
    }

    /// Returns a new pool that has started and is idle.
    pub(crate) fn start_fresh(&self) -> Box<dyn Pool> {
        let pool = self.peer.start();
        thread::sleep(SETTLE);
        pool
    }
}

/// Returns all contenders, heist first, for loads that spawn tasks.
pub(crate) fn all_pools(workers: usize) -> Vec<PoolContender> {
    not_yet_started(vec![
        Box::new(heist::Heist { workers }),
        Box::new(rayon::RayonScope { workers }),
        Box::new(tokio::Tokio { workers }),
        Box::new(channel::Channel { workers }),
        Box::new(reference::Reference::new(workers)),
    ])
}

/// Returns all contenders, heist first, for divide-and-conquer loads, where rayon's users would
/// write `join`.
pub(crate) fn all_pools_and_join(workers: usize) -> Vec<PoolContender> {
    let mut contenders = all_pools(workers);
    contenders.extend(not_yet_started(vec![Box::new(rayon::RayonJoin { workers })]));
    contenders
}

/// Returns heist, and the reference with several thresholds for waking another worker.
pub(crate) fn wake_rules(workers: usize) -> Vec<PoolContender> {
    not_yet_started(vec![
        Box::new(heist::Heist { workers }),
        Box::new(reference::Reference::waking_every(workers, 8)),
        Box::new(reference::Reference::waking_every(workers, 32)),
        Box::new(reference::Reference::waking_every(workers, 128)),
    ])
}

fn not_yet_started(peers: Vec<Box<dyn Peer>>) -> Vec<PoolContender> {
    peers.into_iter().map(|peer| PoolContender { peer, pool: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Board, Probe, Puzzle};

    #[test]
    fn every_pool_has_run_every_task_when_the_load_is_done() {
        let probe = Probe::leak();
        let load = Load::Root(Task::FanReportEnd { probe, leaves: 500, rounds: 10 });
        for contender in &mut all_pools_and_join(2) {
            // Twice, because a pool that is kept must run a second load.
            for _ in 0..2 {
                probe.reset();
                let span = contender.run(&load);
                let (last_end_ns, ends) = probe.ends();
                assert_eq!(ends, 500, "{}", contender.name());
                let within = span.start_ns..=span.end_ns;
                assert!(within.contains(&last_end_ns), "{}", contender.name());
            }
        }
    }

    #[test]
    fn every_pool_completes_every_load() {
        let loads = [
            Load::Root(Task::Branch { value: 1, levels: 9 }),
            Load::Root(Task::FanBatch { leaves: 1000 }),
            Load::Root(Task::FanSkewed { leaves: 1000, rounds: 1 }),
            Load::Inject { tasks: 1000, batch: 64 },
            Load::Inject { tasks: 100, batch: 1 },
        ];
        for contender in all_pools_and_join(2).iter_mut().chain(&mut wake_rules(3)) {
            for load in &loads {
                contender.run(load);
            }
        }
    }

    #[test]
    fn every_pool_finds_every_solution_of_a_puzzle() {
        let puzzle = Puzzle::leak(8);
        let load = Load::Root(Task::Queens { puzzle, board: Board::default() });
        for contender in all_pools_and_join(2).iter_mut().chain(&mut wake_rules(3)) {
            contender.run(&load);
            assert_eq!(puzzle.take_solutions(), 92, "{}", contender.name());
        }
    }

    #[test]
    fn every_pool_starts_a_detached_task() {
        let probe = Probe::leak();
        for contender in all_pools_and_join(2) {
            probe.reset();
            let pool = contender.start_fresh();
            pool.spawn(Task::ReportStart { probe });
            probe.wait_for_start();
        }
    }
}
