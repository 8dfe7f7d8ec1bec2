//! The executor: its threads, their shared state, spawning from outside, and shutdown.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_deque::{Injector, Stealer, Worker as Deque};
use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::{Parker, Unparker};

use super::in_flight::InFlight;
use super::worker::{WorkerContext, work};

/// The parameters of the design, with their customary values as defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) seed: u64,
    /// Random victims that a worker tries before it counts as idle.
    pub(crate) steal_tries: u32,
    /// Idle rounds before the first park.
    pub(crate) spin_iters: u32,
    pub(crate) park_timeout: Duration,
    /// Local spawns between two wake-ups of another worker.
    pub(crate) wake_on_hoard: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workers: 1,
            seed: 0x853c_49e6_748f_ea9b,
            steal_tries: 4,
            spin_iters: 200,
            park_timeout: Duration::from_micros(200),
            wake_on_hoard: 32,
        }
    }
}

type Panic = Box<dyn Any + Send>;

/// The state that the workers and the executor's owner share.
#[derive(Debug)]
pub(super) struct ExecutorState<T> {
    pub(super) in_flight: InFlight,
    pub(super) injector: Injector<T>,
    pub(super) stealers: Vec<Stealer<T>>,
    /// Set once and never cleared. Workers read it before every task, so it must not share a cache
    /// line with anything that is written.
    pub(super) done: CachePadded<AtomicBool>,
    unparkers: Vec<Unparker>,
    next_unpark: CachePadded<AtomicUsize>,
    panic: Mutex<Option<Panic>>,
}

impl<T> ExecutorState<T> {
    /// Wakes the next worker in round-robin order, whether or not it sleeps.
    pub(super) fn unpark_one(&self) {
        let turn = self.next_unpark.fetch_add(1, Ordering::Relaxed);
        let workers = self.unparkers.len();
        // A mask avoids the division if the number of workers is a power of two.
        let index = if workers.is_power_of_two() { turn & (workers - 1) } else { turn % workers };
        self.unparkers[index].unpark();
    }

    /// Ends all workers.
    pub(super) fn finish(&self) {
        self.done.store(true, Ordering::Release);
        for unparker in &self.unparkers {
            unparker.unpark();
        }
    }

    /// Keeps the first panic for `join`.
    pub(super) fn record_panic(&self, payload: Panic) {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
    }
}

/// A running pool.
#[derive(Debug)]
pub(crate) struct Executor<T> {
    shared: Arc<ExecutorState<T>>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> Executor<T> {
    pub(crate) fn new<R>(config: Config, runner: R) -> Self
    where
        R: Fn(T, &mut WorkerContext<T>) + Send + Sync + 'static,
    {
        let deques: Vec<Deque<T>> = (0..config.workers).map(|_| Deque::new_lifo()).collect();
        let parkers: Vec<Parker> = (0..config.workers).map(|_| Parker::new()).collect();
        let shared = Arc::new(ExecutorState {
            in_flight: InFlight::open(),
            injector: Injector::new(),
            stealers: deques.iter().map(Deque::stealer).collect(),
            done: CachePadded::new(AtomicBool::new(false)),
            unparkers: parkers.iter().map(|parker| parker.unparker().clone()).collect(),
            next_unpark: CachePadded::new(AtomicUsize::new(0)),
            panic: Mutex::new(None),
        });
        let runner = Arc::new(runner);
        let threads = deques
            .into_iter()
            .zip(parkers)
            .enumerate()
            .map(|(id, (deque, parker))| {
                let context = WorkerContext::new(id, deque, Arc::clone(&shared), config);
                let runner = Arc::clone(&runner);
                thread::Builder::new()
                    .name(format!("reference-{id}"))
                    .spawn(move || work(context, &parker, &*runner))
                    .expect("the system has a thread for the benchmark")
            })
            .collect();
        Self { shared, threads }
    }
}

impl<T> Executor<T> {
    /// Submits a task from outside. Returns the task if the executor is closed.
    pub(crate) fn spawn_external(&self, task: T) -> Result<(), T> {
        if !self.shared.in_flight.try_add(1) {
            return Err(task);
        }
        self.shared.injector.push(task);
        self.shared.unpark_one();
        Ok(())
    }

    /// Submits all of these tasks or none, with one update of the counter and at most one wake-up
    /// per worker.
    pub(crate) fn spawn_external_batch(&self, tasks: Vec<T>) -> Result<(), Vec<T>> {
        let count = tasks.len();
        if !self.shared.in_flight.try_add(count) {
            return Err(tasks);
        }
        for task in tasks {
            self.shared.injector.push(task);
        }
        for _ in 0..count.min(self.shared.unparkers.len()) {
            self.shared.unpark_one();
        }
        Ok(())
    }

    /// Closes the executor to outsiders, runs the remaining tasks, ends the threads and resumes the
    /// first panic.
    pub(crate) fn join(mut self) {
        if self.shared.in_flight.close() {
            self.shared.finish();
        }
        self.join_threads();
        let panic = self.shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    fn join_threads(&mut self) {
        for thread in self.threads.drain(..) {
            // Workers catch and record the panics of tasks, and do not panic otherwise.
            let _ = thread.join();
        }
    }
}

impl<T> Drop for Executor<T> {
    fn drop(&mut self) {
        self.shared.in_flight.close();
        self.shared.finish();
        self.join_threads();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Starts a pool whose tasks count themselves; a task `n` spawns `n` children `n - 1`.
    fn counting(workers: usize) -> (Executor<u32>, Arc<AtomicU64>) {
        let ran = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&ran);
        let config = Config { workers, ..Config::default() };
        let executor = Executor::new(config, move |size: u32, context| {
            counter.fetch_add(1, Ordering::Relaxed);
            for _ in 0..size {
                context.spawn_local(size - 1);
            }
        });
        (executor, ran)
    }

    /// Returns the number of tasks that one of this size causes, itself included: `1 + size *
    /// family(size - 1)`.
    fn family(size: u32) -> u64 {
        if size == 0 { 1 } else { 1 + u64::from(size) * family(size - 1) }
    }

    #[test]
    fn every_task_runs_before_join_returns() {
        for workers in [1, 2, 3, 8] {
            let (executor, ran) = counting(workers);
            executor.spawn_external(7).expect("open");
            executor.spawn_external_batch(vec![0; 1000]).expect("open");
            executor.join();
            assert_eq!(ran.load(Ordering::Relaxed), family(7) + 1000, "{workers} workers");
        }
    }

    #[test]
    fn join_on_an_idle_pool_ends() {
        for workers in [1, 2, 5] {
            let (executor, ran) = counting(workers);
            thread::sleep(Duration::from_millis(2));
            executor.join();
            assert_eq!(ran.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn many_short_lived_pools_all_end() {
        for round in 0..200 {
            let (executor, ran) = counting(1 + round % 3);
            executor.spawn_external(2).expect("open");
            executor.join();
            assert_eq!(ran.load(Ordering::Relaxed), family(2));
        }
    }

    #[test]
    fn join_rethrows_the_first_panic() {
        let config = Config { workers: 2, ..Config::default() };
        let executor = Executor::new(config, |number: u32, _context| {
            assert_ne!(number, 13, "unlucky");
        });
        for number in 0..100 {
            // The executor still accepts tasks after the panic; `join` drops them.
            executor.spawn_external(number).expect("open");
        }
        let payload =
            catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("a task panicked");
        let message = payload.downcast_ref::<String>().expect("assert_ne! formats a String");
        assert!(message.contains("unlucky"), "{message}");
    }

    #[test]
    fn a_closed_pool_hands_tasks_back() {
        let (executor, ran) = counting(2);
        executor.shared.in_flight.close();
        assert_eq!(executor.spawn_external(3), Err(3));
        assert_eq!(executor.spawn_external_batch(vec![1, 2]), Err(vec![1, 2]));
        drop(executor);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    }
}
