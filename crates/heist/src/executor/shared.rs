//! What all workers and handles of a pool reach, and how a pool is closed, stopped and finished.

use super::attached::Attached;
use super::config::{ExecutorConfig, OnPanic};
use super::error::{SpawnError, SpawnErrorKind, TaskPanic};
use super::task::contain;
use super::waiting::Waiting;
use super::worker::Worker;
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

/// How many panics an isolating pool remembers by text. All are counted.
const PANICS_KEPT: usize = 1_000;

/// A worker takes at least this many tasks from the injector, however short the queue: a lock taken for one
/// task is a lock wasted.
const INJECTOR_BATCH_MIN: usize = 4;

/// How far a pool has come towards its end. It only ever grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Stage {
    Running = 0,
    /// Nothing more comes in from outside; what is queued is still run, and so is what that spawns.
    Draining = 1,
    /// From here on what is queued is dropped.
    ShutDown = 2,
    Cancelled = 3,
    Panicked = 4,
}

impl Stage {
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
struct Panics {
    /// The panic that stopped the pool.
    fatal: Option<TaskPanic>,
    /// Its payload, until somebody takes it to rethrow it.
    fatal_payload: Option<Box<dyn Any + Send>>,
    /// The first ones that did not stop it.
    isolated: Vec<TaskPanic>,
}

/// A pool's shared state.
pub struct Shared<T> {
    pool: PoolId,
    pub(super) injector: Injector<T>,
    pub(super) futures: FutureQueues,
    pub(super) waiting: Waiting<T>,
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
    panics: Mutex<Panics>,
    attached: Option<Box<dyn Attached>>,
}

impl<T> std::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("workers", &self.stealers.len()).finish_non_exhaustive()
    }
}

impl<T> Shared<T> {
    /// The shared state of a pool and its workers, none of them started. `config` must be valid.
    pub fn new(config: &ExecutorConfig) -> (Arc<Self>, Vec<Worker<T>>) {
        Self::with_attached(config, None)
    }

    /// The same, for a pool to which something is attached.
    pub(crate) fn with_attached(
        config: &ExecutorConfig,
        attached: Option<Box<dyn Attached>>,
    ) -> (Arc<Self>, Vec<Worker<T>>) {
        let (idle, parkers) = Idle::new(config.workers);
        let (termination, ledgers) = Termination::new(config.workers);
        let locals: Vec<_> = (0..config.workers).map(|_| LocalQueue::new()).collect();
        let lifo = match (config.lifo_slot, config.lifo_stealing && config.stealing) {
            (false, _) => Lifo::Off,
            (true, false) => Lifo::Private,
            // Alone, a worker has nobody to steal from it.
            (true, true) if config.workers == 1 => Lifo::Private,
            (true, true) => Lifo::Stealable,
        };
        let (futures, seats) = FutureQueues::new(config.workers, lifo);
        let shared = Arc::new(Self {
            pool: PoolId::next(),
            injector: Injector::new(),
            futures,
            waiting: Waiting::new(),
            stealers: locals.iter().map(LocalQueue::stealer).collect(),
            intake: Arc::new(Intake::new()),
            idle,
            termination,
            metrics: PoolMetrics::new(config.workers),
            clock: Clock::start(),
            // Alone, a worker has nobody to steal from and nobody to tell.
            steal_rounds: if config.stealing && config.workers > 1 {
                config.steal_tries
            } else {
                0
            },
            steal_batch: config.steal_batch,
            // Without stealing, a batch would lock tasks to one worker while others sleep.
            injector_batch: if config.stealing { config.injector_batch } else { 1 },
            park_backstop: config.park_backstop,
            on_panic: config.on_panic,
            stage: AtomicU8::new(Stage::Running as u8),
            cancel: config.cancel.clone(),
            panics: Mutex::new(Panics::default()),
            attached,
        });
        let workers = locals
            .into_iter()
            .zip(parkers)
            .zip(ledgers)
            .zip(seats)
            .enumerate()
            .map(|(id, (((local, parker), ledger), seat))| {
                Worker::new(id, Arc::clone(&shared), local, seat, parker, ledger, config)
            })
            .collect();
        (shared, workers)
    }

    /// Which pool this is.
    pub(crate) fn pool(&self) -> PoolId {
        self.pool
    }

    /// Whether any queue that an idle worker could take from is non-empty.
    pub(super) fn any_work(&self) -> bool {
        let stealing = self.steal_rounds > 0;
        !self.injector.is_empty()
            || (stealing && self.stealers.iter().any(|stealer| !stealer.is_empty()))
            || self.futures.any_work(stealing)
    }

    /// How many of `queued` tasks a worker takes from an injector: its share of them.
    pub(super) fn injector_share(&self, queued: usize) -> usize {
        (queued / self.stealers.len()).max(INJECTOR_BATCH_MIN).min(self.injector_batch)
    }

    /// Whether tasks are taken from outside.
    pub fn is_accepting(&self) -> bool {
        self.intake.is_accepting() && !self.cancel.is_cancelled()
    }

    /// Takes a task from a thread outside, or from code that runs inside without its worker in hand.
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

    /// [`Shared::spawn`] for several tasks: takes all or none, and leaves `tasks` empty or as it was.
    ///
    /// # Errors
    /// The pool is stopped, or closed to the calling thread.
    pub fn spawn_all(&self, tasks: &mut Vec<T>) -> Result<(), SpawnErrorKind> {
        let count = tasks.len();
        self.count_spawned(count as u64)?;
        if count == 0 {
            return Ok(());
        }
        self.injector.push_batch(tasks, || self.clock.now_ns());
        self.announce_pushed(count);
        Ok(())
    }

    /// The push rule, for a thread that is no worker.
    pub(super) fn announce_pushed(&self, count: usize) {
        self.idle.notify_pushed(count);
        // Usually our task has ended already, and the queue is empty. If not, the workers are gone because the engine
        // itself has failed: they set the flag before they emptied the queue, so whoever pushes after that sees it.
        if self.termination.is_done() {
            self.drop_what_nobody_will_run();
        }
    }

    #[cold]
    fn drop_what_nobody_will_run(&self) {
        let mut lost = Vec::new();
        self.injector.take(Order::All, |queued| queued, &mut lost);
        self.metrics.add_tasks_dropped_outside(lost.len());
        // One by one: of two that panic in one `drop` of the vector, the second would end the process.
        for task in lost {
            contain(|| drop(task));
        }
        let mut lost = Vec::new();
        self.futures.injector.take(Order::All, |queued| queued, &mut lost);
        for runnable in lost {
            contain(|| drop(runnable));
        }
    }

    /// [`Shared::spawn_all`] for a vector of its own, which an error gives back.
    pub(super) fn spawn_batch(&self, mut tasks: Vec<T>) -> Result<(), SpawnError<Vec<T>>> {
        self.spawn_all(&mut tasks).map_err(|kind| SpawnError::new(kind, tasks))
    }

    /// Takes the roots of a run and nothing else. A run that is cancelled already takes them too: the workers then
    /// drop them, and count them. Only a panic in the making of a scratch value comes before; they are dropped
    /// then, and the run has failed anyway.
    pub(super) fn take_roots(&self, mut roots: Vec<T>) {
        let count = roots.len();
        let accepted = self.intake.try_accept(count as u64);
        // Closed before the roots are there: they are counted, so nobody finds the pool done, and no task of
        // theirs finds it open.
        self.close();
        if accepted {
            self.injector.push_batch(&mut roots, || self.clock.now_ns());
            self.announce_pushed(count);
        }
    }

    pub(super) fn accept(&self, count: u64) -> bool {
        self.notice_cancellation() && self.intake.try_accept(count)
    }

    /// Counts tasks that the caller is about to queue, all of them or none.
    fn count_spawned(&self, count: u64) -> Result<(), SpawnErrorKind> {
        // The intake first: producers outside pay for nothing else.
        if self.accept(count) { Ok(()) } else { self.count_spawned_while_closed(count) }
    }

    /// The intake is closed: only code inside of a pool that is merely being joined may still spawn. A stop that comes
    /// after this look does no harm: the tasks are counted, and the workers drop them like all others.
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

    /// Stops a pool that was cancelled; says whether it was not.
    pub(super) fn notice_cancellation(&self) -> bool {
        let cancelled = self.cancel.is_cancelled();
        if cancelled {
            self.stop(Stage::Cancelled);
        }
        !cancelled
    }

    pub(super) fn watch_for_cancellation(&self, watcher: &(impl Watcher + Clone + 'static)) {
        self.cancel.watch(watcher);
    }

    pub(super) fn refusal(&self) -> SpawnErrorKind {
        Stage::refusal(self.stage.load(Ordering::Acquire))
    }

    /// Nothing more comes in; what is queued is still run.
    pub fn close(&self) {
        self.stop(Stage::Draining);
        // What waits for a permit would otherwise wait for it although nobody wants the result.
        self.notice_cancellation();
    }

    /// Nothing more comes in, and what is queued is dropped.
    pub fn shut_down(&self) {
        self.stop(Stage::ShutDown);
        if planted(Plant::ShutdownIsDone) {
            self.finish();
        }
    }

    fn stop(&self, stage: Stage) {
        // The stage first, so that whoever is refused finds the reason.
        let before = self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        if stage == Stage::Panicked && planted(Plant::IntakeOpenOnPanic) {
            return;
        }
        // Only the caller that closed the intake checks. If the pool is not done by then, the last worker to go quiet
        // finds it; a later caller has nothing to add, and a producer that is refused again and again, and notices a
        // cancellation each time, must not send every worker home each time.
        if self.intake.close() {
            self.finish_if(self.termination.closer_finds_done(&self.intake));
        }
        let drops_from_now_on = before < Stage::ShutDown as u8 && stage >= Stage::ShutDown;
        if drops_from_now_on {
            self.release_waiting();
            self.release_futures();
            if let Some(attached) = &self.attached {
                worker_id::drop_for(self.pool, || attached.pool_stopped());
            }
        }
    }

    /// Sends every worker home if the pool was found done. Returns `true` if it did.
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

    /// Everything is done (or nothing was begun): sends every worker home.
    pub(super) fn finish(&self) {
        self.termination.set_done();
        self.idle.wake_all_for_exit();
        if let Some(attached) = &self.attached {
            attached.pool_done();
        }
    }

    /// Whether tasks are to be dropped instead of run. Notices a cancellation, and closes the intake for it.
    #[inline]
    pub(super) fn must_drop(&self) -> bool {
        self.drops_what_is_queued() || !self.notice_cancellation()
    }

    /// Whether the pool was stopped, as far as it knows: a cancellation may be about to be noticed.
    #[inline]
    pub(super) fn drops_what_is_queued(&self) -> bool {
        self.stage.load(Ordering::Relaxed) >= Stage::ShutDown as u8
    }

    /// Whether what is queued is dropped instead of run.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stage.load(Ordering::Acquire) >= Stage::ShutDown as u8 || self.cancel.is_cancelled()
    }

    /// Whether running tasks should come to an end.
    pub(super) fn is_cancelled(&self) -> bool {
        plant::instead!(StopUnheard => false);
        self.stage.load(Ordering::Relaxed) >= Stage::ShutDown as u8 || self.cancel.is_cancelled()
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.stage.load(Ordering::Acquire) == Stage::Panicked as u8
    }

    /// A task has panicked. Returns the payload if it is nobody's any more.
    pub(super) fn task_panicked(
        &self,
        worker: Option<usize>,
        payload: Box<dyn Any + Send>,
    ) -> Option<Box<dyn Any + Send>> {
        match self.on_panic {
            OnPanic::Abort => self.abort(worker, payload),
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

    /// Drops what worker `worker` has kept to its end. A panic in that has nothing left to stop; it is counted and
    /// reported.
    pub(super) fn drop_at_the_end(&self, worker: usize, kept: impl Sized) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(kept))) {
            self.metrics.worker(worker).panics.add(1);
            self.keep_report(TaskPanic::new(Some(worker), &*payload));
            // Its own `drop` may panic in turn.
            std::mem::forget(payload);
        }
    }

    /// Stops the pool for a panic. The first payload is kept for `join`; a later one is returned.
    pub(super) fn abort(
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
        self.stop(Stage::Panicked);
        surplus
    }

    pub(super) fn take_fatal_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.panics.lock().fatal_payload.take()
    }

    /// The panics so far, the fatal one first.
    pub(super) fn panic_reports(&self) -> Vec<TaskPanic> {
        let panics = self.panics.lock();
        panics.fatal.iter().chain(&panics.isolated).cloned().collect()
    }

    /// How many tasks and futures were accepted or spawned and have not ended. A sum of counters that are read one
    /// after the other.
    pub(crate) fn in_flight(&self) -> u64 {
        // The ends from the metrics, which are counted one by one: a worker publishes its `consumed` only when it goes
        // quiet. And before the beginnings, so that what begins and ends meanwhile is not taken for an end too many.
        let ended = self.metrics.ended();
        let begun = self.intake.state().accepted + self.termination.sum_produced();
        // Relaxed counters of other threads may still arrive out of order.
        begun.saturating_sub(ended)
    }

    /// All counters, added up.
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
