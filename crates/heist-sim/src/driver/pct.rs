//! A driver that runs threads by priority and changes the priorities at a few random moments.
//!
//! This is probabilistic concurrency testing (PCT), after Burckhardt et al., *A randomized
//! scheduler with probabilistic guarantees of finding bugs* (2010). In a schedule of `n` threads
//! and `k` steps it finds a bug that needs `d` ordering constraints with a probability of at least
//! `1 / (n * k^(d-1))`. Here the store buffer of a thread has its own priority, so that stores are
//! delayed in the same way.

use super::{Action, Driver, View};
use crate::machine::{EventKind, ThreadId};
use heist::rng::XorShift64;

/// The largest number of priority changes in a schedule.
const CHANGES_MAX: usize = 5;

/// A driver that always runs the thread with the highest priority.
#[derive(Debug)]
pub struct Pct {
    rng: XorShift64,
    /// The priorities of each thread and of its store buffer. Higher goes first.
    priorities: Vec<[u64; 2]>,
    /// The steps at which the thread that would run next moves behind all others.
    changes: Vec<u64>,
    /// The priority for the next thread that moves back. It is below all that were drawn, and
    /// falls.
    lowest: u64,
}

const DRAWN_FROM: u64 = 1 << 32;

impl Pct {
    /// Creates a driver for one schedule that is expected to have about `steps` steps.
    pub fn new(seed: u64, steps: u64) -> Self {
        let mut rng = XorShift64::new(seed);
        let count = rng.below_usize(CHANGES_MAX + 1);
        let mut changes: Vec<_> =
            (0..count).map(|_| rng.below_usize(steps.max(1) as usize) as u64).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self { rng, priorities: Vec::new(), changes, lowest: DRAWN_FROM }
    }

    fn put_back(&mut self, thread: ThreadId, part: usize) {
        self.lowest -= 1;
        self.priorities[thread][part] = self.lowest;
    }

    fn highest(&self, view: &View<'_>) -> Option<(ThreadId, usize)> {
        let threads = view.runnable.iter().map(|thread| (*thread, 0));
        let buffers = view.buffered.iter().map(|thread| (*thread, 1));
        threads.chain(buffers).max_by_key(|(thread, part)| self.priorities[*thread][*part])
    }
}

impl Driver for Pct {
    fn choose(&mut self, view: &View<'_>) -> Action {
        while self.priorities.len() < view.threads.len() {
            let draw = |rng: &mut XorShift64| DRAWN_FROM + rng.next_u64() % DRAWN_FROM;
            let (thread, buffer) = (draw(&mut self.rng), draw(&mut self.rng));
            self.priorities.push([thread, buffer]);
        }
        // A thread that waits in a loop would wait forever if the threads behind it never ran.
        if let Some(current) = view.current
            && view.threads[current].pending.kind == EventKind::Pause
        {
            self.put_back(current, 0);
        }
        while self.changes.last().is_some_and(|change| *change <= view.step) {
            self.changes.pop();
            if let Some((thread, part)) = self.highest(view) {
                self.put_back(thread, part);
            }
        }
        match self.highest(view) {
            Some((thread, 0)) => Action::Run(thread),
            Some((thread, _)) => Action::Flush(thread),
            None => view.default_action().expect("something can happen"),
        }
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
