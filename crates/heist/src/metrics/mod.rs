//! Counters and histograms that are always on.
//!
//! Each worker writes its own block of counters, padded to whole cache lines, with plain relaxed
//! stores. So counting costs one addition and shares no cache line. Any thread with a handle can
//! take a snapshot at any time. A snapshot reads the counters one after the other, so it is exact
//! only when the pool is idle or joined.
//!
//! These are the standard library's atomics, not those of `crate::sync`, because no decision
//! depends on them.

mod histogram;
pub(crate) mod snapshot;

pub use histogram::Histogram;

use crossbeam_utils::CachePadded;
use histogram::AtomicHistogram;
pub(crate) use snapshot::MetricsSnapshot;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with a single writer.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to the counter. Only the owner may call this.
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A counter to which any thread may add. Use it for rare events.
#[derive(Debug, Default)]
pub(crate) struct SharedCounter(AtomicU64);

impl SharedCounter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares the counters of a worker and how they add up to a snapshot, so that neither misses one.
macro_rules! worker_counters {
    ($($name:ident),* $(,)?) => {
        /// The counters of one worker. [`MetricsSnapshot`] describes what each of them counts.
        #[derive(Debug, Default)]
        pub(crate) struct WorkerMetrics {
            $(pub(crate) $name: Counter,)*
            /// How long sampled tasks ran.
            pub(crate) task_time_ns: AtomicHistogram,
            /// How long sampled tasks waited in the injector.
            pub(crate) queue_time_ns: AtomicHistogram,
        }

        impl WorkerMetrics {
            /// Adds the counters of this worker to `snapshot`.
            pub(crate) fn add_to(&self, snapshot: &mut MetricsSnapshot) {
                $(snapshot.$name += self.$name.get();)*
                snapshot.task_time_ns.merge(&self.task_time_ns.snapshot());
                snapshot.queue_time_ns.merge(&self.queue_time_ns.snapshot());
            }
        }
    };
}

worker_counters!(
    tasks_local,
    tasks_injector,
    tasks_stolen,
    tasks_dropped,
    futures_spawned,
    futures_ended,
    polls,
    panics,
    steals_tried,
    steals_won,
    tasks_moved,
    wakes_received,
    parks,
    searches,
    termination_checks,
    counter_flushes,
    backstop_rescues,
    pin_failures,
);

/// The counters of a pool.
#[derive(Debug)]
pub(crate) struct PoolMetrics {
    workers: Box<[CachePadded<WorkerMetrics>]>,
    tasks_dropped_outside: SharedCounter,
    panics_outside: SharedCounter,
    futures_spawned_outside: SharedCounter,
    futures_ended_outside: SharedCounter,
}

impl PoolMetrics {
    /// Creates counters for `workers` workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| CachePadded::default()).collect(),
            tasks_dropped_outside: SharedCounter::default(),
            panics_outside: SharedCounter::default(),
            futures_spawned_outside: SharedCounter::default(),
            futures_ended_outside: SharedCounter::default(),
        }
    }

    /// Returns the counters of one worker. Only that worker may write them.
    #[inline]
    pub(crate) fn worker(&self, worker: usize) -> &WorkerMetrics {
        &self.workers[worker]
    }

    /// Counts tasks that a thread other than a worker dropped.
    pub(crate) fn add_tasks_dropped_outside(&self, count: usize) {
        self.tasks_dropped_outside.add(count as u64);
    }

    /// Counts a panic that was contained on a thread that may not be a worker.
    pub(crate) fn add_panic_outside(&self) {
        self.panics_outside.add(1);
    }

    /// Counts futures that a thread other than a worker spawned.
    pub(crate) fn add_futures_spawned_outside(&self, count: u64) {
        self.futures_spawned_outside.add(count);
    }

    /// Counts a future that ended on a thread other than a worker.
    pub(crate) fn add_future_ended_outside(&self) {
        self.futures_ended_outside.add(1);
    }

    /// Returns the number of tasks and futures that have ended.
    pub(crate) fn ended(&self) -> u64 {
        let by_worker = |worker: &CachePadded<WorkerMetrics>| {
            worker.tasks_local.get()
                + worker.tasks_injector.get()
                + worker.tasks_stolen.get()
                + worker.tasks_dropped.get()
                + worker.futures_ended.get()
        };
        let by_workers: u64 = self.workers.iter().map(by_worker).sum();
        by_workers + self.tasks_dropped_outside.get() + self.futures_ended_outside.get()
    }

    /// Adds up all counters, including the given ones, which are kept elsewhere.
    pub(crate) fn snapshot(
        &self,
        injector_depth: usize,
        tasks_waiting: usize,
        wakes_sent: u64,
    ) -> MetricsSnapshot {
        let mut snapshot = MetricsSnapshot {
            threads: self.workers.len(),
            injector_depth: injector_depth as u64,
            tasks_waiting: tasks_waiting as u64,
            wakes_sent,
            tasks_dropped: self.tasks_dropped_outside.get(),
            panics: self.panics_outside.get(),
            futures_spawned: self.futures_spawned_outside.get(),
            futures_ended: self.futures_ended_outside.get(),
            ..MetricsSnapshot::default()
        };
        for worker in &self.workers {
            worker.add_to(&mut snapshot);
        }
        snapshot
    }
}
