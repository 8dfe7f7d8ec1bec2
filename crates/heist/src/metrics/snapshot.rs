//! The public view of the counters.

use super::Histogram;
use std::fmt;

/// The counters of a pool, added up over its workers.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MetricsSnapshot {
    /// The number of threads that are workers, without those for blocking calls.
    pub threads: usize,
    /// Tasks run that a worker found in its own queue.
    pub tasks_local: u64,
    /// Tasks run that came directly from the injector. (The rest of a batch from the injector goes
    /// through the worker's own queue and counts as local.)
    pub tasks_injector: u64,
    /// Tasks run that came directly from another worker's queue. (The rest of a stolen batch counts
    /// as local.)
    pub tasks_stolen: u64,
    /// Tasks dropped without being run: because the pool was shut down, cancelled or aborted, or
    /// because making the task panicked (see [`crate::CountBudget::acquire_then`]).
    pub tasks_dropped: u64,
    /// Futures spawned, including blocking calls.
    pub futures_spawned: u64,
    /// Futures that completed, panicked, or were aborted or dropped.
    pub futures_ended: u64,
    /// Polls of futures.
    pub polls: u64,
    /// Panics that heist contained: in futures, in tasks (which also count as run), in the `drop`
    /// of tasks that were not run, in making a task that had waited for a permit, and in
    /// `scratch_init`.
    pub panics: u64,
    /// Attempts to steal from a worker whose queue did not look empty.
    pub steals_tried: u64,
    /// Attempts that got at least one task.
    pub steals_won: u64,
    /// Tasks moved by stealing, including those that ran at once. (Not those that another worker
    /// stole again immediately.)
    pub tasks_moved: u64,
    /// Wake-ups sent to parked workers, from inside and from outside.
    pub wakes_sent: u64,
    /// Wake-ups received, without the token that ends the pool.
    pub wakes_received: u64,
    /// Times a worker was about to sleep. Its last check may still have found work.
    pub parks: u64,
    /// Times a worker became a searcher without being woken.
    pub searches: u64,
    /// Times the last worker to go quiet added up the counters.
    pub termination_checks: u64,
    /// Times a worker published its `consumed` counter.
    pub counter_flushes: u64,
    /// Tasks and futures in the injectors at the time of the snapshot.
    pub injector_depth: u64,
    /// Tasks that waited for a permit at the time of the snapshot. A device lane with jobs counts
    /// as one.
    pub tasks_waiting: u64,
    /// Threads for blocking calls at the time of the snapshot, in a runtime (`heist-runtime`).
    pub blocking_threads: u64,
    /// Idle threads among them.
    pub blocking_threads_idle: u64,
    /// Blocking calls that waited for a thread at the time of the snapshot.
    pub blocking_queue_depth: u64,
    /// Times the configured backstop found work that no wake-up had announced for two of its
    /// periods. This is a bug in heist, unless the operating system suspended a producer for that
    /// long in the middle of a spawn.
    pub backstop_rescues: u64,
    /// Workers that could not be pinned to a core and run unpinned.
    pub pin_failures: u64,
    /// How long tasks and polls ran (a sample).
    pub task_time_ns: Histogram,
    /// How long tasks waited in the injector (a sample).
    pub queue_time_ns: Histogram,
}

impl MetricsSnapshot {
    /// Returns the number of tasks run, including those that panicked.
    pub fn tasks_run(&self) -> u64 {
        self.tasks_local + self.tasks_injector + self.tasks_stolen
    }

    /// Returns the number of futures that were alive at the time of the snapshot.
    pub fn futures_live(&self) -> u64 {
        self.futures_spawned.saturating_sub(self.futures_ended)
    }

    /// Returns the number of tasks that were run or dropped.
    pub fn tasks_ended(&self) -> u64 {
        self.tasks_run() + self.tasks_dropped
    }
}

impl fmt::Display for MetricsSnapshot {
    /// Writes a few lines for a log or a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tasks: {} run on {} threads ({} local, {} injected, {} stolen), {} dropped, {} panicked",
            self.tasks_run(),
            self.threads,
            self.tasks_local,
            self.tasks_injector,
            self.tasks_stolen,
            self.tasks_dropped,
            self.panics
        )?;
        if self.futures_spawned > 0 {
            writeln!(
                f,
                "futures: {} spawned, {} ended, {} polls",
                self.futures_spawned, self.futures_ended, self.polls
            )?;
        }
        if self.blocking_threads > 0 {
            writeln!(
                f,
                "blocking calls: {} threads, {} of them idle; {} calls waiting",
                self.blocking_threads, self.blocking_threads_idle, self.blocking_queue_depth
            )?;
        }
        writeln!(
            f,
            "steals: {} of {} won, {} tasks moved; wake-ups: {} sent, {} received; parks: {}; searches: {}",
            self.steals_won,
            self.steals_tried,
            self.tasks_moved,
            self.wakes_sent,
            self.wakes_received,
            self.parks,
            self.searches
        )?;
        write!(
            f,
            "termination: {} checks, {} flushes; injector depth: {}; waiting for permits: {}",
            self.termination_checks, self.counter_flushes, self.injector_depth, self.tasks_waiting
        )?;
        for (name, times) in
            [("task time", &self.task_time_ns), ("queue time", &self.queue_time_ns)]
        {
            if let (Some(median), Some(tail)) = (times.quantile(0.5), times.quantile(0.99)) {
                write!(
                    f,
                    "\n{name} (of {} sampled): half below {median} ns, 99 % below {tail} ns",
                    times.count()
                )?;
            }
        }
        Ok(())
    }
}
