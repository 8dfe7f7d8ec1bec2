//! One worker: its queue, its counters, its loop, and how it parks.

use super::config::ExecutorConfig;
use super::pace::Pace;
use super::polling::{Lap, WatchedSlot};
use super::shared::PoolShared;
use crate::future::raw::Runnable;
use crate::future::seat::Seat;
use crate::idle::Unparked;
use crate::policy::{
    Context, IdleHooks, RunTask, Source, StepResult, Turn, end_panicked_task, worker_step,
};
use crate::queue::{LocalQueue, Order, Steal, Stealer};
use crate::rng::XorShift64;
use crate::sync::plant::{self, Plant, planted};
use crate::sync::{Arc, Parker};
use crate::termination::Ledger;
use crate::trace::TraceHooks;
use crate::worker_id;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// One worker of a pool.
pub struct Worker<T> {
    pub(super) id: usize,
    pub(super) shared: Arc<PoolShared<T>>,
    pub(super) rng: XorShift64,
    local: LocalQueue<T>,
    /// Its end of the queue of futures, until the worker sits down on its thread.
    pub(super) seat: Option<Seat>,
    parker: Parker,
    ledger: Ledger,
    pub(super) pace: Pace,
    /// Whether typed tasks or futures are next, from the worker's own queues.
    turn: Turn,
    /// Whether futures are next, from the injectors.
    is_injected_futures_turn: bool,
    /// The number of futures in a row that came from the LIFO slot.
    pub(super) slot_run: u32,
    pub(super) lap: Lap,
    pub(super) watched_slot: Option<WatchedSlot>,
    /// `true` while this worker is in the searcher count.
    pub(super) searching: bool,
    /// Set between a backstop that found work and the task that it found.
    after_backstop: bool,
    /// How many tasks at the old end of this worker's queue a yielded task must let pass: those
    /// that were there when this worker last yielded, or moved a batch while a yielded task waited.
    older_tasks: usize,
    /// Where the task that is running was found.
    source: Source,
    /// `true` while a task is running.
    in_task: bool,
    /// A batch on its way from the injector to this worker's queue; empty between two calls.
    batch: Vec<T>,
}

impl<T> std::fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What the pool makes for one worker: its ends of structures that others share.
pub(super) struct WorkerParts<T> {
    pub(super) local: LocalQueue<T>,
    pub(super) seat: Seat,
    pub(super) parker: Parker,
    pub(super) ledger: Ledger,
}

impl<T> Worker<T> {
    pub(super) fn new(
        id: usize,
        shared: Arc<PoolShared<T>>,
        parts: WorkerParts<T>,
        config: &ExecutorConfig,
    ) -> Self {
        let WorkerParts { local, seat, parker, ledger } = parts;
        let adaptive = config.threads > 1;
        Self {
            id,
            shared,
            rng: XorShift64::for_worker(config.seed, id),
            local,
            seat: Some(seat),
            parker,
            ledger,
            pace: Pace::new(adaptive, config.injector_interval),
            turn: Turn::default(),
            is_injected_futures_turn: false,
            slot_run: 0,
            lap: Lap::default(),
            watched_slot: None,
            searching: false,
            after_backstop: false,
            older_tasks: 0,
            source: Source::Local,
            in_task: false,
            batch: Vec::new(),
        }
    }

    /// Counts a task and pushes it to this worker's queue. The caller then applies the push rule.
    #[inline(always)]
    fn push_local(&mut self, task: T) {
        let local = &self.local;
        self.ledger.produce(&self.shared.termination, 1, || local.push(task));
    }

    /// Queues a task where this worker finds it first.
    #[inline(always)]
    pub fn spawn_local(&mut self, task: T) {
        self.push_local(task);
        self.notify_pushed_locally(1);
    }

    /// Queues tasks where this worker finds them first. The last task runs first.
    pub fn spawn_local_batch(&mut self, tasks: impl IntoIterator<Item = T>) {
        /// One fence for this many pushes, and not for more: a long or slow iterator must not keep
        /// the other workers asleep.
        const PUSHES_PER_NOTIFY: usize = 64;

        /// Announces the pushed tasks, also if the caller's iterator panics.
        struct Pushed<'w, T>(&'w mut Worker<T>, usize);
        impl<T> Drop for Pushed<'_, T> {
            fn drop(&mut self) {
                if self.1 > 0 {
                    self.0.notify_pushed_locally(self.1);
                }
            }
        }

        let mut pushed = Pushed(self, 0);
        for task in tasks {
            pushed.0.push_local(task);
            pushed.1 += 1;
            if pushed.1 == PUSHES_PER_NOTIFY {
                pushed.0.notify_pushed_locally(pushed.1);
                pushed.1 = 0;
            }
        }
    }

    /// Queues a task in the injector, behind the tasks that are there.
    pub fn spawn_global(&mut self, task: T) {
        let shared = &*self.shared;
        let push = || shared.injector.push(task, || shared.clock.now_ns());
        self.ledger.produce(&shared.termination, 1, push);
        self.notify_pushed(1);
    }

    /// Queues a task so that all tasks that are queued now go first.
    pub fn spawn_yielded(&mut self, task: T) {
        let shared = &*self.shared;
        self.ledger.produce(&shared.termination, 1, || shared.injector.push_yielded(task));
        self.older_tasks = self.local.len();
        self.notify_pushed(1);
    }

    /// Out of line, because only workers beside yielded tasks call this.
    #[cold]
    fn forget_older_tasks(&mut self) {
        // Newer tasks are above the older ones and go first, so at most all remaining tasks are
        // older.
        self.older_tasks = self.older_tasks.min(self.local.len());
    }

    #[inline(always)]
    fn notify_pushed_locally(&mut self, pushed: usize) {
        plant::instead!(RoundRobinWake => self.notify_hoarded(pushed));
        // Without stealing no other worker can take it, so none is woken.
        if self.shared.steal_rounds > 0 {
            self.notify_pushed(pushed);
        }
    }

    #[inline(always)]
    pub(super) fn notify_pushed(&self, pushed: usize) {
        self.shared.idle.notify_pushed(pushed);
    }

    /// Announces a batch that this worker has moved into its own queue, which is a push. A searcher
    /// need not: it announces the batch by leaving the searcher count.
    pub(super) fn announce_moved(&self, moved: usize) {
        if moved > 0 && !self.searching {
            self.notify_pushed(moved);
        }
    }

    #[inline]
    pub(super) fn metrics(&self) -> &crate::metrics::WorkerMetrics {
        self.shared.metrics.worker(self.id)
    }

    /// Counts the running task as run, by where it was found.
    #[inline]
    pub(super) fn count_run(&self) {
        let metrics = self.metrics();
        match self.source {
            Source::Local => metrics.tasks_local.add(1),
            Source::Injector => metrics.tasks_injector.add(1),
            Source::Steal => metrics.tasks_stolen.add(1),
        }
    }

    /// Goes quiet. Returns `true` if the pool turned out to be done, and ends it.
    fn go_quiet(&mut self) -> bool {
        let quiet = self.ledger.go_quiet(&self.shared.termination, &self.shared.intake);
        worker_id::set_quiet(true);
        self.metrics().counter_flushes.add(u64::from(quiet.flushed));
        self.metrics().termination_checks.add(u64::from(quiet.checked));
        self.shared.finish_if(quiet.done)
    }

    /// Called before the worker searches again. Once the intake is closed this may be the end, and
    /// a thread is waiting in `join`: the worker goes quiet now and searches on as a quiet worker,
    /// instead of spinning first.
    fn before_next_look(&mut self) {
        if !self.shared.intake.is_accepting() {
            self.go_quiet();
        }
    }

    /// Goes quiet and sleeps until the worker is woken. The caller then searches for work, or
    /// leaves if the pool is done.
    fn park(&mut self, trace: &mut impl TraceHooks) {
        if self.go_quiet() {
            return;
        }
        let shared = &*self.shared;
        self.metrics().parks.add(1);
        trace.park();
        let unparked =
            shared.idle.park(self.id, self.searching, &self.parker, shared.park_backstop, || {
                shared.any_work()
            });
        // The waker or `Idle::park` has counted this worker. If the pool is done, the count means
        // nothing.
        self.searching = true;
        self.after_backstop = unparked == Unparked::Backstop;
        trace.unpark(unparked == Unparked::Token);
        if unparked == Unparked::Token && !shared.termination.is_done() {
            self.metrics().wakes_received.add(1);
        }
    }

    /// Steps until everything is done, even if tasks panic.
    pub fn work_until_done(
        &mut self,
        idle: &mut impl IdleHooks,
        trace: &mut impl TraceHooks,
        runner: &mut impl RunTask<Self>,
    ) -> StepResult {
        loop {
            // Around the loop and not around each task, which would have to be copied into the
            // closure. Unwind safety: a panic comes from a task, and while a task runs the worker's
            // own state is consistent. The runner repairs what belongs to the tasks.
            let steps = || self.step_until_done(idle, trace, runner);
            match catch_unwind(AssertUnwindSafe(|| __rust_begin_short_backtrace(steps))) {
                Ok(exit) => return exit,
                Err(payload) if self.in_task => end_panicked_task(self, trace, runner, payload),
                // The engine's own panic, not a task's: the state cannot be relied on any more.
                Err(payload) => resume_unwind(payload),
            }
        }
    }

    fn step_until_done(
        &mut self,
        idle: &mut impl IdleHooks,
        trace: &mut impl TraceHooks,
        runner: &mut impl RunTask<Self>,
    ) -> StepResult {
        loop {
            match worker_step(self, idle, trace, runner) {
                StepResult::RanTask { .. } => {}
                StepResult::NoWork => self.before_next_look(),
                StepResult::ShouldPark => {
                    runner.before_park(self);
                    self.park(trace);
                }
                exit @ (StepResult::ExitDone | StepResult::ExitPanicked) => return exit,
            }
        }
    }
}

/// Calls `steps` under a name that the standard library knows: the backtrace of a panicking task
/// ends here, and leaves out how its worker was started. (`RUST_BACKTRACE=full` shows everything.)
#[inline(never)]
fn __rust_begin_short_backtrace<R>(steps: impl FnOnce() -> R) -> R {
    let result = steps();
    // Without this, a tail call would remove this function from the stack.
    std::hint::black_box(());
    result
}

impl<T> Worker<T> {
    /// Takes one task from anywhere, without following the protocols: only after the engine has
    /// failed.
    pub(super) fn salvage_task(&mut self) -> Option<T> {
        let injected = |batch: &mut Vec<T>| {
            self.shared.injector.take(Order::All, |_queued| 1, batch);
            batch.pop()
        };
        self.local.pop().or_else(|| injected(&mut self.batch)).or_else(|| {
            let steal = |stealer: &Stealer<T>| loop {
                match stealer.steal_half(&self.local, 1) {
                    Steal::Success(task) => return Some(task),
                    Steal::Empty => return None,
                    Steal::Retry => {}
                }
            };
            self.shared.stealers.iter().find_map(steal)
        })
    }
}

impl<T> Worker<T> {
    /// Leaves the searcher count and the quiet state. Every task and every poll begins with this.
    #[inline(always)]
    pub(super) fn leave_search_and_quiet(&mut self) {
        if self.searching {
            self.searching = false;
            self.shared.idle.found_work(|| self.shared.any_work());
            self.metrics().backstop_rescues.add(u64::from(self.after_backstop));
            self.after_backstop = false;
        }
        if self.ledger.leave_quiet(&self.shared.termination) {
            worker_id::set_quiet(false);
        }
    }

    #[inline(always)]
    fn end_timed(&mut self) {
        if let Some(took_ns) = self.pace.end_task(|| self.shared.clock.now_ns()) {
            self.metrics().task_time_ns.record(took_ns);
        }
    }
}

impl<T> Context for Worker<T> {
    type Task = T;
    type Future = Runnable;

    fn worker(&self) -> usize {
        self.id
    }

    fn workers(&self) -> usize {
        self.shared.stealers.len()
    }

    fn steal_rounds(&self) -> u32 {
        self.shared.steal_rounds
    }

    #[inline]
    fn injector_is_due(&mut self) -> bool {
        self.pace.injector_is_due(|| self.shared.clock.now_ns())
    }

    #[inline]
    fn pop_local(&mut self) -> Option<T> {
        let task = self.local.pop();
        if self.older_tasks > 0 {
            self.forget_older_tasks();
        }
        task
    }

    fn due_order(&self) -> Order {
        if self.older_tasks > 0 { Order::FreshOnly } else { Order::All }
    }

    fn pop_injector(&mut self, order: Order, most: usize) -> Option<T> {
        let shared = &*self.shared;
        if shared.injector.is_empty() {
            return None;
        }
        let batch_size = |queued| shared.injector_share(queued).min(most);
        let pushed_at_ns = shared.injector.take(order, batch_size, &mut self.batch);
        if let Some(pushed_at_ns) = pushed_at_ns {
            let waited_ns = shared.clock.now_ns().saturating_sub(pushed_at_ns);
            self.metrics().queue_time_ns.record(waited_ns);
        }
        // The newest task goes in first, so that the oldest comes out first.
        let rest = self.batch.len().saturating_sub(1);
        for task in self.batch.drain(self.batch.len() - rest..).rev() {
            self.local.push(task);
        }
        let oldest = self.batch.pop();
        if rest > 0 && shared.injector.has_yielded() {
            self.older_tasks = self.local.len();
        }
        if !planted(Plant::MoveWithoutNotify) {
            self.announce_moved(rest);
        }
        oldest
    }

    fn steal_from(&mut self, victim: usize) -> Steal<T> {
        let stealer = &self.shared.stealers[victim];
        if stealer.is_empty() {
            return Steal::Empty;
        }
        let stolen = stealer.steal_half(&self.local, self.shared.steal_batch);
        let metrics = self.metrics();
        metrics.steals_tried.add(1);
        if stolen.is_success() {
            // The thief's own queue was empty.
            let moved = self.local.len();
            metrics.steals_won.add(1);
            // (Other thieves count what they have stolen from here by now.)
            metrics.tasks_moved.add(1 + moved as u64);
            if self.shared.injector.has_yielded() {
                self.older_tasks = moved;
            }
            if !planted(Plant::StealWithoutNotify) {
                self.announce_moved(moved);
            }
        }
        stolen
    }

    #[inline]
    fn has_futures(&self) -> bool {
        self.shared.futures.in_use()
    }

    #[inline]
    fn is_futures_turn(&mut self) -> bool {
        self.turn.is_futures() && !planted(Plant::TasksAlwaysFirst)
    }

    #[inline]
    fn is_injected_futures_turn(&mut self) -> bool {
        self.is_injected_futures_turn ^= true;
        !self.is_injected_futures_turn
    }

    #[inline]
    fn pop_future(&mut self) -> Option<Runnable> {
        self.pop_own_future()
    }

    fn pop_injected_future(&mut self, most: usize) -> Option<Runnable> {
        self.take_injected_future(most)
    }

    fn steal_future_from(&mut self, victim: usize) -> Steal<Runnable> {
        self.steal_futures(victim)
    }

    fn steal_from_slot(&mut self) -> Option<(Runnable, usize)> {
        self.steal_from_unchanged_slot()
    }

    #[inline]
    fn poll(&mut self, future: Runnable) {
        self.poll_or_drop(future);
    }

    fn random_below(&mut self, bound: usize) -> usize {
        self.rng.below_usize(bound)
    }

    fn try_search(&mut self) -> bool {
        if !self.searching {
            self.pace.pause(|| self.shared.clock.now_ns());
            self.searching = self.shared.idle.try_start_searching();
            self.metrics().searches.add(u64::from(self.searching));
        }
        self.searching
    }

    #[inline(always)]
    fn begin_task(&mut self, source: Source) {
        self.leave_search_and_quiet();
        self.source = source;
        self.in_task = true;
        self.pace.begin_task(|| self.shared.clock.now_ns());
    }

    #[inline(always)]
    fn end_task(&mut self) {
        self.in_task = false;
        self.ledger.consume();
        self.end_timed();
    }

    #[inline(always)]
    fn begin_poll(&mut self) {
        self.begin_polling();
    }

    #[inline(always)]
    fn end_poll(&mut self) {
        self.end_timed();
    }

    fn is_done(&self) -> bool {
        self.shared.termination.is_done()
    }

    fn has_panicked(&self) -> bool {
        self.shared.has_panicked()
    }
}
