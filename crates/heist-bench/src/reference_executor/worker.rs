//! A worker: where it finds tasks, how it waits for more, and how its tasks spawn others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use crossbeam_deque::{Steal, Worker as Deque};
use crossbeam_utils::sync::Parker;

use super::executor::{Config, ExecutorState};

/// After spinning, a worker yields at every 16th idle round before it parks.
const YIELD_INTERVAL: u32 = 16;

/// A running task's view of its worker.
#[derive(Debug)]
pub(crate) struct WorkerContext<T> {
    id: usize,
    local: Deque<T>,
    random: XorShift,
    shared: Arc<ExecutorState<T>>,
    config: Config,
    local_spawns_since_wake: u32,
}

impl<T> WorkerContext<T> {
    pub(super) fn new(
        id: usize,
        local: Deque<T>,
        shared: Arc<ExecutorState<T>>,
        config: Config,
    ) -> Self {
        let random = XorShift::new(config.seed, id);
        Self { id, local, random, shared, config, local_spawns_since_wake: 0 }
    }

    /// Pushes a task to this worker's own deque. At every `wake_on_hoard`th spawn it wakes another
    /// worker to share the backlog.
    #[inline(always)]
    pub(crate) fn spawn_local(&mut self, task: T) {
        self.shared.in_flight.add_child();
        self.local.push(task);
        self.local_spawns_since_wake += 1;
        if self.local_spawns_since_wake >= self.config.wake_on_hoard {
            self.local_spawns_since_wake = 0;
            self.shared.unpark_one();
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        self.local.pop().or_else(|| self.take_injected()).or_else(|| self.steal())
    }

    fn take_injected(&self) -> Option<T> {
        settle(|| self.shared.injector.steal_batch_and_pop(&self.local))
    }

    fn steal(&mut self) -> Option<T> {
        let siblings = self.shared.stealers.len() - 1;
        if siblings == 0 {
            return None;
        }
        for _ in 0..self.config.steal_tries {
            let mut victim = self.random.below(siblings);
            if victim >= self.id {
                victim += 1;
            }
            let stealer = &self.shared.stealers[victim];
            let stolen = settle(|| stealer.steal_batch_and_pop(&self.local));
            if stolen.is_some() {
                return stolen;
            }
        }
        None
    }
}

/// Repeats an attempt that lost a race, because contention on a queue does not mean that the queue
/// is empty.
fn settle<T>(mut attempt: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match attempt() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

/// Runs a worker until the executor is done.
pub(super) fn work<T>(
    mut context: WorkerContext<T>,
    parker: &Parker,
    runner: &impl Fn(T, &mut WorkerContext<T>),
) {
    let mut idle_rounds: u32 = 0;
    while !context.shared.done.load(Ordering::Acquire) {
        let Some(task) = context.pop() else {
            idle_rounds = idle_rounds.saturating_add(1);
            idle(idle_rounds, &context.config, parker);
            continue;
        };
        idle_rounds = 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| runner(task, &mut context)));
        let was_last = context.shared.in_flight.complete();
        if let Err(payload) = outcome {
            context.shared.record_panic(payload);
            context.shared.finish();
            return;
        }
        if was_last {
            context.shared.finish();
        }
    }
}

/// Spins at first, then parks. The longer the worker has been idle, the less CPU time it uses.
fn idle(rounds: u32, config: &Config, parker: &Parker) {
    if rounds <= config.spin_iters {
        std::hint::spin_loop();
        return;
    }
    if rounds.is_multiple_of(YIELD_INTERVAL) {
        thread::yield_now();
    }
    parker.park_timeout(config.park_timeout);
}

/// Marsaglia's xorshift64: victims need to be spread, not unpredictable.
#[derive(Debug)]
struct XorShift(u64);

impl XorShift {
    fn new(seed: u64, worker: usize) -> Self {
        // The golden ratio separates the workers' sequences; a state of 0 would stay 0.
        Self((seed ^ (worker as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Multiplying and taking the high half maps to `0..bound` without a division.
        ((u128::from(self.0) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_victims_stay_in_range_and_reach_every_worker() {
        let mut random = XorShift::new(7, 0);
        let mut hits = [0; 5];
        for _ in 0..1000 {
            hits[random.below(5)] += 1;
        }
        assert!(hits.iter().all(|&count| count > 100), "{hits:?}");
    }
}
