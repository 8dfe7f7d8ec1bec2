//! The state that all workers and handles of a pool share, and how a pool is closed, stopped and
//! finished.
//!
//! Invariants:
//! - A pool's stage only ever grows. It is set before the intake closes, so that a refused caller
//!   finds the reason.
//! - Everything that was accepted is run or dropped, and counted, before the pool is done.

use super::attached::Attached;
use super::config::{ExecutorConfig, OnPanic};
use super::error::{SpawnError, SpawnErrorKind, TaskPanic};
use super::task::contain;
use super::waiting::WaitingTasks;
use super::worker::{Worker, WorkerParts};
use crate::cancel::{CancelToken, Watcher};
use crate::future::queues::{FutureQueues, Lifo};
use crate::idle::Idle;
use crate::intake::Intake;
use crate::metrics::{MetricsSnapshot, PoolMetrics};
use crate::queue::{Injector, LocalQueue, Order, Stealer};
use crate::sync::plant::{self, Plant, planted};
use crate::sync::{Arc, AtomicU8, Clock, Mutex, Ordering};
use crate::termination::Termination;
use crate::worker_id::{self, PoolId};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The number of panics that an isolating pool keeps as text. It counts all of them.
const PANICS_KEPT: usize = 1_000;

/// A worker takes at least this many tasks from the injector, even if its share is smaller: the
/// lock would cost too much for a single task.
const INJECTOR_BATCH_MIN: usize = 4;

/// How close a pool is to its end. The stage only ever grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum PoolStage {
    Running = 0,
    /// The pool accepts nothing from outside. Queued tasks still run, and so does what they spawn.
    Draining = 1,
    /// From this stage on, workers drop what is queued.
    ShutDown = 2,
    Cancelled = 3,
    Panicked = 4,
}

impl PoolStage {
    fn refusal(stage: u8) -> SpawnErrorKind {
        match stage {
            stage if stage == Self::ShutDown as u8 => SpawnErrorKind::ShutDown,
            stage if stage == Self::Cancelled as u8 => SpawnErrorKind::Cancelled,
            stage if stage == Self::Panicked as u8 => SpawnErrorKind::Panicked,
            _ => SpawnErrorKind::Closed,
        }
    }
}

/// The panics of a pool's tasks.
#[derive(Default)]
struct PanicReports {
    /// The panic that stopped the pool.
    fatal: Option<TaskPanic>,
    /// Its payload, until `join` takes it to rethrow it.
    fatal_payload: Option<Box<dyn Any + Send>>,
    /// The first panics that did not stop the pool.
    isolated: Vec<TaskPanic>,
}

/// A pool's shared state.
pub struct PoolShared<T> {
    pool: PoolId,
    pub(super) injector: Injector<T>,
    pub(super) futures: FutureQueues,
    pub(super) waiting: WaitingTasks<T>,
    pub(super) stealers: Box<[Stealer<T>]>,
    pub(super) intake: Arc<Intake>,
    pub(super) idle: Idle,
    pub(super) termination: Termination,
    pub(super) metrics: PoolMetrics,
    pub(super) clock: Clock,
    pub(super) steal_rounds: u32,
    pub(super) steal_batch: usize,
    pub(super) injector_batch: usize,
    pub(super) park_backstop: Option<Duration>,
    on_panic: OnPanic,
    stage: AtomicU8,
    pub(super) cancel: CancelToken,
    panics: Mutex<PanicReports>,
    attached: Option<Box<dyn Attached>>,
}

impl<T> std::fmt::Debug for PoolShared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolShared").field("workers", &self.stealers.len()).finish_non_exhaustive()
    }
}

impl<T> PoolShared<T> {
    /// Creates the shared state of a pool and its workers, which are not started. `config` must be
    /// valid.
    pub fn new(config: &ExecutorConfig) -> (Arc<Self>, Vec<Worker<T>>) {
        Self::with_attached(config, None)
    }

    /// Does what [`PoolShared::new`] does, for a pool with something attached.
    pub(crate) fn with_attached(
        config: &ExecutorConfig,
        attached: Option<Box<dyn Attached>>,
    ) -> (Arc<Self>, Vec<Worker<T>>) {
        let (idle, parkers) = Idle::new(config.threads);
        let (termination, ledgers) = Termination::new(config.threads);
        let locals: Vec<_> = (0..config.threads).map(|_| LocalQueue::new()).collect();
        let lifo = match (config.lifo_slot, config.lifo_stealing && config.stealing) {
            (false, _) => Lifo::Off,
            (true, false) => Lifo::Private,
            // With a single worker, there is no thief.
            (true, true) if config.threads == 1 => Lifo::Private,
            (true, true) => Lifo::Stealable,
        };
        let (futures, seats) = FutureQueues::new(config.threads, lifo);
        let shared = Arc::new(Self {
            pool: PoolId::next(),
            injector: Injector::new(),
            futures,
            waiting: WaitingTasks::new(),
            stealers: locals.iter().map(LocalQueue::stealer).collect(),
            intake: Arc::new(Intake::new()),
            idle,
            termination,
            metrics: PoolMetrics::new(config.threads),
            clock: Clock::start(),
            // With a single worker, there is no victim, and no other worker to wake.
            steal_rounds: if config.stealing && config.threads > 1 {
                config.steal_tries
            } else {
                0
            },
            steal_batch: config.steal_batch,
            // Without stealing, a batch would tie tasks to one worker while others sleep.
            injector_batch: if config.stealing { config.injector_batch } else { 1 },
            park_backstop: config.park_backstop,
            on_panic: config.on_panic,
            stage: AtomicU8::new(PoolStage::Running as u8),
            cancel: config.cancel.clone(),
            panics: Mutex::new(PanicReports::default()),
            attached,
        });
        let workers = locals
            .into_iter()
            .zip(parkers)
            .zip(ledgers)
            .zip(seats)
            .enumerate()
            .map(|(id, (((local, parker), ledger), seat))| {
                let parts = WorkerParts { local, seat, parker, ledger };
                Worker::new(id, Arc::clone(&shared), parts, config)
            })
            .collect();
        (shared, workers)
    }

    /// Returns the pool's id.
    pub(crate) fn pool(&self) -> PoolId {
        self.pool
    }

    /// Returns `true` if any queue from which an idle worker could take is not empty.
    pub(super) fn any_work(&self) -> bool {
        let stealing = self.steal_rounds > 0;
        !self.injector.is_empty()
            || (stealing && self.stealers.iter().any(|stealer| !stealer.is_empty()))
            || self.futures.any_work(stealing)
    }

    /// Returns how many of `queued` tasks a worker takes from an injector: its share of them.
    pub(super) fn injector_share(&self, queued: usize) -> usize {
        (queued / self.stealers.len()).max(INJECTOR_BATCH_MIN).min(self.injector_batch)
    }

    /// Returns `true` if the pool accepts tasks from outside.
    pub fn is_accepting(&self) -> bool {
        self.intake.is_accepting() && !self.cancel.is_cancelled()
    }

    /// Spawns a task from an outside thread, or from code inside that does not have its worker at
    /// hand.
    ///
    /// # Errors
    /// Gives the task back if the pool is stopped, or closed to the calling thread.
    pub fn spawn(&self, task: T) -> Result<(), SpawnError<T>> {
        if let Err(kind) = self.count_spawned(1) {
            return Err(SpawnError::new(kind, task));
        }
        self.injector.push(task, || self.clock.now_ns());
        self.announce_pushed(1);
        Ok(())
    }

    /// Spawns all of the tasks and empties `tasks`, or spawns none and leaves it unchanged.
    ///
    /// # Errors
    /// Fails if the pool is stopped, or closed to the calling thread.
    pub fn spawn_drain(&self, tasks: &mut Vec<T>) -> Result<(), SpawnErrorKind> {
        let count = tasks.len();
        self.count_spawned(count as u64)?;
        if count == 0 {
            return Ok(());
        }
        self.injector.push_batch(tasks, || self.clock.now_ns());
        self.announce_pushed(count);
        Ok(())
    }

    /// Applies the push rule, for a thread that is not a worker.
    pub(super) fn announce_pushed(&self, count: usize) {
        self.idle.notify_pushed(count);
        // Usually our task has ended already, and the queue is empty. If not, the workers are gone
        // because the engine itself has failed. They set the flag before they emptied the queue, so
        // a thread that pushes after that sees it.
        if self.termination.is_done() {
            self.drop_what_no_worker_will_run();
        }
    }

    #[cold]
    fn drop_what_no_worker_will_run(&self) {
        let mut lost = Vec::new();
        self.injector.take(Order::All, |queued| queued, &mut lost);
        self.metrics.add_tasks_dropped_outside(lost.len());
        // One by one: if two of them panicked in the `drop` of the vector, the process would end.
        for task in lost {
            contain(|| drop(task));
        }
        let mut lost = Vec::new();
        self.futures.injector.take(Order::All, |queued| queued, &mut lost);
        for runnable in lost {
            contain(|| drop(runnable));
        }
    }

    /// Does what [`PoolShared::spawn_drain`] does, with an owned vector that the error gives back.
    pub(super) fn spawn_batch(&self, mut tasks: Vec<T>) -> Result<(), SpawnError<Vec<T>>> {
        self.spawn_drain(&mut tasks).map_err(|kind| SpawnError::new(kind, tasks))
    }

    /// Accepts the roots of a run, and nothing else from outside. A run that is already cancelled
    /// accepts them as well: the workers then drop and count them. If making a scratch value has
    /// panicked before, the roots are dropped here; the run has failed anyway.
    pub(super) fn take_roots(&self, mut roots: Vec<T>) {
        let count = roots.len();
        let accepted = self.intake.try_accept(count as u64);
        // Closed before the roots are pushed: they are counted, so the pool is not found done, and
        // none of their tasks finds it open.
        self.close();
        if accepted {
            self.injector.push_batch(&mut roots, || self.clock.now_ns());
            self.announce_pushed(count);
        }
    }

    pub(super) fn accept(&self, count: u64) -> bool {
        self.notice_cancellation() && self.intake.try_accept(count)
    }

    /// Counts tasks that the caller is about to queue: all of them, or none.
    fn count_spawned(&self, count: u64) -> Result<(), SpawnErrorKind> {
        // The intake first, so that outside producers pay for nothing else.
        if self.accept(count) { Ok(()) } else { self.count_spawned_while_closed(count) }
    }

    /// The intake is closed. Only code inside a pool that is being joined, but not stopped, may
    /// still spawn. A stop that comes after this check does no harm: the tasks are counted, and the
    /// workers drop them like all others.
    #[cold]
    fn count_spawned_while_closed(&self, count: u64) -> Result<(), SpawnErrorKind> {
        let refusal = self.refusal();
        let may_spawn = refusal == SpawnErrorKind::Closed && self.is_inside();
        if !may_spawn || planted(Plant::InsideSpawnRefused) {
            return Err(refusal);
        }
        if !planted(Plant::InsideSpawnUncounted) {
            self.termination.produce_inside(count);
        }
        Ok(())
    }

    /// Stops the pool if it was cancelled. Returns `true` if it was not.
    pub(super) fn notice_cancellation(&self) -> bool {
        let cancelled = self.cancel.is_cancelled();
        if cancelled {
            self.stop(PoolStage::Cancelled);
        }
        !cancelled
    }

    pub(super) fn watch_for_cancellation(&self, watcher: &(impl Watcher + Clone + 'static)) {
        self.cancel.watch(watcher);
    }

    pub(super) fn refusal(&self) -> SpawnErrorKind {
        PoolStage::refusal(self.stage.load(Ordering::Acquire))
    }

    /// Closes the pool: it accepts nothing from outside. Queued tasks still run.
    pub fn close(&self) {
        self.stop(PoolStage::Draining);
        // Otherwise tasks of a cancelled pool would go on waiting for their permits.
        self.notice_cancellation();
    }

    /// Stops the pool: it accepts nothing, and drops what is queued.
    pub fn shut_down(&self) {
        self.stop(PoolStage::ShutDown);
        if planted(Plant::ShutdownIsDone) {
            self.finish();
        }
    }

    fn stop(&self, stage: PoolStage) {
        // The stage first, so that a refused caller finds the reason.
        let before = self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        if stage == PoolStage::Panicked && planted(Plant::IntakeOpenOnPanic) {
            return;
        }
        // Only the thread that closed the intake checks. If the pool is not done by then, the last
        // worker to go quiet finds that it is. A producer that is refused again and again notices
        // the cancellation each time; it must not wake every worker each time.
        if self.intake.close() {
            self.finish_if(self.termination.closer_finds_done(&self.intake));
        }
        let drops_from_now_on = before < PoolStage::ShutDown as u8 && stage >= PoolStage::ShutDown;
        if drops_from_now_on {
            self.release_waiting();
            self.release_futures();
            if let Some(attached) = &self.attached {
                worker_id::drop_for(self.pool, || attached.pool_stopped());
            }
        }
    }

    /// Ends every worker if the pool was found done. Returns `true` if it did.
    pub(super) fn finish_if(&self, found_done: bool) -> bool {
        let done = plant::pick!(
            BatchedDeltaWhenIdle | BatchedDeltaBeyondThreshold | QueuesLookEmpty =>
                !self.any_work() && found_done,
            _ => found_done,
        );
        if done {
            self.finish();
        }
        done
    }

    /// Ends every worker, because everything is done, or because nothing was begun.
    pub(super) fn finish(&self) {
        self.termination.set_done();
        self.idle.wake_all_for_exit();
        if let Some(attached) = &self.attached {
            attached.pool_done();
        }
    }

    /// Returns `true` if tasks must be dropped instead of run. Notices a cancellation, and closes
    /// the intake for it.
    #[inline]
    pub(super) fn must_drop(&self) -> bool {
        self.drops_what_is_queued() || !self.notice_cancellation()
    }

    /// Returns `true` if the pool was stopped. It may also be cancelled and not have noticed yet.
    #[inline]
    pub(super) fn drops_what_is_queued(&self) -> bool {
        self.stage.load(Ordering::Relaxed) >= PoolStage::ShutDown as u8
    }

    /// Returns `true` if queued work is dropped instead of run.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stage.load(Ordering::Acquire) >= PoolStage::ShutDown as u8
            || self.cancel.is_cancelled()
    }

    /// Returns `true` if running tasks should end.
    pub(super) fn is_cancelled(&self) -> bool {
        plant::instead!(StopUnheard => false);
        self.stage.load(Ordering::Relaxed) >= PoolStage::ShutDown as u8
            || self.cancel.is_cancelled()
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.stage.load(Ordering::Acquire) == PoolStage::Panicked as u8
    }

    /// Handles the panic of a task. Returns the payload if it is not kept for `join`.
    pub(super) fn task_panicked(
        &self,
        worker: Option<usize>,
        payload: Box<dyn Any + Send>,
    ) -> Option<Box<dyn Any + Send>> {
        match self.on_panic {
            OnPanic::StopPool => self.stop_for_panic(worker, payload),
            OnPanic::Isolate => {
                self.keep_report(TaskPanic::new(worker, &*payload));
                Some(payload)
            }
        }
    }

    /// Keeps the report of a panic that does not stop the pool.
    pub(super) fn keep_report(&self, panic: TaskPanic) {
        let mut panics = self.panics.lock();
        if panics.isolated.len() < PANICS_KEPT {
            panics.isolated.push(panic);
        }
    }

    /// Drops what worker `worker` has kept to its end. A panic in that cannot stop the pool any
    /// more; it is counted and reported.
    pub(super) fn drop_at_the_end(&self, worker: usize, kept: impl Sized) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(kept))) {
            self.metrics.worker(worker).panics.add(1);
            self.keep_report(TaskPanic::new(Some(worker), &*payload));
            // Its `drop` may panic as well.
            std::mem::forget(payload);
        }
    }

    /// Stops the pool because of a panic. Keeps the first payload for `join`, and returns a later
    /// one.
    pub(super) fn stop_for_panic(
        &self,
        worker: Option<usize>,
        payload: Box<dyn Any + Send>,
    ) -> Option<Box<dyn Any + Send>> {
        let surplus = {
            let mut panics = self.panics.lock();
            if panics.fatal.is_none() {
                panics.fatal = Some(TaskPanic::new(worker, &*payload));
                panics.fatal_payload = Some(payload);
                None
            } else {
                Some(payload)
            }
        };
        self.stop(PoolStage::Panicked);
        surplus
    }

    pub(super) fn take_fatal_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.panics.lock().fatal_payload.take()
    }

    /// Returns the panics so far, the fatal one first.
    pub(super) fn panic_reports(&self) -> Vec<TaskPanic> {
        let panics = self.panics.lock();
        panics.fatal.iter().chain(&panics.isolated).cloned().collect()
    }

    /// Returns how many tasks and futures were spawned and have not ended, as a sum of counters
    /// that are read one after the other.
    pub(crate) fn in_flight(&self) -> u64 {
        // The ends come from the metrics, which count one by one: a worker publishes its `consumed`
        // only when it goes quiet. They are read before the beginnings, so that a task that begins
        // and ends meanwhile is not counted as an end without a beginning.
        let ended = self.metrics.ended();
        let begun = self.intake.state().accepted + self.termination.sum_produced();
        // Relaxed counters of other threads may still arrive out of order.
        begun.saturating_sub(ended)
    }

    /// Returns the sum of all workers' counters.
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        let injected = self.injector.len() + self.futures.injector.len();
        let mut snapshot =
            self.metrics.snapshot(injected, self.waiting.len(), self.idle.wakes_sent());
        if let Some(attached) = &self.attached {
            attached.add_to(&mut snapshot);
        }
        snapshot
    }
}
