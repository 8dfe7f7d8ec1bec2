//! The contenders: heist and the pools that its users would take otherwise.
//!
//! Each is driven the way its own documentation recommends, with as many workers as the others.
//! A contender that can keep its threads between two loads does; where waiting for completion ends
//! the pool (heist and the reference), a new one is started before the clock.

mod channel;
mod heist;
mod rayon;
mod reference;
mod tokio;

use std::thread;
use std::time::Duration;

use crate::clock::Span;
use crate::workload::{Load, Task};

/// Long enough for fresh workers to reach their idle state: every load finds the pool asleep.
const SETTLE: Duration = Duration::from_millis(1);

/// A kind of pool.
pub(crate) trait Peer {
    fn name(&self) -> &str;

    /// Starts the threads.
    fn start(&self) -> Box<dyn Pool>;
}

/// A pool with its threads running. Dropping it ends them.
pub(crate) trait Pool {
    /// Gives one task from outside without waiting for it.
    fn spawn(&self, task: Task);

    /// Runs a load; the span is from the first spawn to when the caller knows that all is done.
    fn run(self: Box<Self>, load: &Load) -> Completed;
}

/// What a load leaves behind.
pub(crate) struct Completed {
    pub(crate) span: Span,
    /// The pool, if it can take another load.
    pub(crate) pool: Option<Box<dyn Pool>>,
}

/// A peer and its pool, if that is running.
pub(crate) struct Contender {
    peer: Box<dyn Peer>,
    pool: Option<Box<dyn Pool>>,
}

impl Contender {
    pub(crate) fn name(&self) -> &str {
        self.peer.name()
    }

    /// Runs a load on a pool that is up and idle.
    pub(crate) fn run(&mut self, load: &Load) -> Span {
        let pool = self.pool.take().unwrap_or_else(|| self.peer.start());
        thread::sleep(SETTLE);
        let completed = pool.run(load);
        self.pool = completed.pool;
        completed.span
    }

    /// A fresh pool that is up and idle, for the caller to drop.
    pub(crate) fn start_fresh(&self) -> Box<dyn Pool> {
        let pool = self.peer.start();
        thread::sleep(SETTLE);
        pool
    }
}

/// Everybody, heist first, for loads that are spawned.
pub(crate) fn everybody(workers: usize) -> Vec<Contender> {
    not_yet_started(vec![
        Box::new(heist::Heist { workers }),
        Box::new(rayon::RayonScope { workers }),
        Box::new(tokio::Tokio { workers }),
        Box::new(channel::Channel { workers }),
        Box::new(reference::Reference::new(workers)),
    ])
}

/// Everybody, heist first, for loads that divide: rayon's users would write `join`.
pub(crate) fn everybody_and_join(workers: usize) -> Vec<Contender> {
    let mut contenders = everybody(workers);
    contenders.extend(not_yet_started(vec![Box::new(rayon::RayonJoin { workers })]));
    contenders
}

/// heist, and the reference with several thresholds for waking a sibling.
pub(crate) fn wake_rules(workers: usize) -> Vec<Contender> {
    not_yet_started(vec![
        Box::new(heist::Heist { workers }),
        Box::new(reference::Reference::waking_every(workers, 8)),
        Box::new(reference::Reference::waking_every(workers, 32)),
        Box::new(reference::Reference::waking_every(workers, 128)),
    ])
}

fn not_yet_started(peers: Vec<Box<dyn Peer>>) -> Vec<Contender> {
    peers.into_iter().map(|peer| Contender { peer, pool: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Board, Probe, Puzzle};

    #[test]
    fn everybody_has_run_every_task_when_the_load_is_done() {
        let probe = Probe::leak();
        let load = Load::Root(Task::FanReportEnd { probe, leaves: 500, rounds: 10 });
        for contender in &mut everybody_and_join(2) {
            // Twice: a pool that is kept must work again.
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
    fn everybody_completes_loads_of_every_shape() {
        let loads = [
            Load::Root(Task::Branch { value: 1, levels: 9 }),
            Load::Root(Task::FanBatch { leaves: 1000 }),
            Load::Root(Task::FanSkewed { leaves: 1000, rounds: 1 }),
            Load::Inject { tasks: 1000, batch: 64 },
            Load::Inject { tasks: 100, batch: 1 },
        ];
        for contender in everybody_and_join(2).iter_mut().chain(&mut wake_rules(3)) {
            for load in &loads {
                contender.run(load);
            }
        }
    }

    #[test]
    fn everybody_finds_every_solution_of_a_puzzle() {
        let puzzle = Puzzle::leak(8);
        let load = Load::Root(Task::Queens { puzzle, board: Board::default() });
        for contender in everybody_and_join(2).iter_mut().chain(&mut wake_rules(3)) {
            contender.run(&load);
            assert_eq!(puzzle.take_solutions(), 92, "{}", contender.name());
        }
    }

    #[test]
    fn everybody_starts_a_task_that_nobody_waits_for() {
        let probe = Probe::leak();
        for contender in everybody_and_join(2) {
            probe.reset();
            let pool = contender.start_fresh();
            pool.spawn(Task::ReportStart { probe });
            probe.wait_for_start();
        }
    }
}
