//! A running walk: the executor that runs the engine's tasks, its workers, and the device slots
//! they hold.
//!
//! A worker holds a device slot of the disk that its tasks are on ([`heist_device::DeviceSlots`]),
//! so a disk that does not answer blocks only its share of the workers. The device slot covers
//! everything that a task does on the disk: looking up names, listing directories, reading
//! metadata, and reading files in the visitor. The worker keeps it after the task, because its next
//! task is usually on the same disk.
//!
//! Invariant: a worker holds at most one device slot, and none while it sleeps. If a disk has no
//! free device slot, the task waits in the disk's lane and comes back with one.

use super::{Walk, WalkReport};
use crate::counters::Progress;
use crate::disks::cores;
use crate::engine::{Engine, TaskQueue, WalkScratch, WalkTask};
use crate::error::WalkStartError;
use crate::extra_threads::ExtraThreads;
use crate::visitor::Visitor;
use heist::trace::{Tracer, name_slice};
use heist::{CancelToken, Executor, ExecutorBuilder};
use heist_device::{DeviceLanes, DeviceSlotPermit, DeviceTurn};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

impl<T: Tracer> Walk<T> {
    /// Starts the walk and returns without waiting for it.
    ///
    /// `watched` tells whether the caller will wait in [`RunningWalk::join`] at once. If not,
    /// nothing can release extra threads in time, so all threads start immediately.
    pub(crate) fn start<V: Visitor>(
        self,
        watched: bool,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<RunningWalk<V>, WalkStartError> {
        let Walk { settings, tracer } = self;
        let mut config = settings.checked_executor()?;
        let roots = settings.roots.len();
        let progress = settings.progress.clone();
        // A caller who sets the number of threads gets all of them at once.
        let initial = if watched { settings.threads.unwrap_or_else(cores) } else { usize::MAX };
        let (engine, threads) = settings.into_engine();
        let stop = engine.stop.clone();
        let slots = Arc::clone(engine.disks.slots());
        let finished_visitors = Arc::new(Mutex::new(Vec::new()));
        let lanes = Arc::new(OnceLock::new());
        let extra = Arc::new(ExtraThreads::new(initial.min(threads), threads, V::READS_FILES));
        config.threads = threads;
        config.cancel = stop.clone();
        let builder = ExecutorBuilder::new(config).trace(tracer);
        let executor = {
            let (progress, finished_visitors) = (progress.clone(), Arc::clone(&finished_visitors));
            let extra_for_workers = Arc::clone(&extra);
            #[cfg(all(test, target_os = "linux", not(heist_portable)))]
            let faults = crate::sys::fault::FaultPlan::current();
            let runner = TaskRunner { engine, lanes: Arc::clone(&lanes) };
            builder
                .build_with(
                    move |worker| {
                        #[cfg(all(test, target_os = "linux", not(heist_portable)))]
                        crate::sys::fault::FaultPlan::install(faults.clone());
                        let extra = ReleaseOnDrop(Arc::clone(&extra_for_workers));
                        extra.0.hold_until_released(worker);
                        WalkWorker {
                            number: worker,
                            extra,
                            is_idle: false,
                            scratch: Some(WalkScratch::new(visitor(worker), progress.add_worker())),
                            slot: None,
                            finished_visitors: Arc::clone(&finished_visitors),
                        }
                    },
                    move |job, ctx| {
                        let (worker, mut queue) = ctx.split();
                        runner.run(job, worker, &mut queue);
                    },
                    |worker| {
                        // Others may be waiting for this disk, or for what this worker has
                        // collected.
                        worker.slot = None;
                        if let Some(scratch) = &mut worker.scratch {
                            scratch.visitor.before_sleep();
                        }
                        worker.extra.0.note_idle(worker.number, &mut worker.is_idle);
                    },
                )
                .map_err(|error| WalkStartError::from_executor(error, Some(threads)))?
        };
        // Set before the first task exists, because tasks use it.
        let _ = lanes.set(DeviceLanes::new(&executor.handle(), slots, WalkJob::OnDisk));
        for root in 0..roots {
            // Fails only if the walk is already cancelled.
            let _ = executor.spawn(WalkJob::Task(WalkTask::Root(root)));
        }
        Ok(RunningWalk { executor, finished_visitors, progress, stop, threads, extra })
    }
}

/// A walk that has started.
pub(crate) struct RunningWalk<V: Visitor> {
    executor: Executor<WalkJob<V::Dir, V::Task>>,
    finished_visitors: Arc<Mutex<Vec<V>>>,
    progress: Progress,
    stop: CancelToken,
    threads: usize,
    extra: Arc<ExtraThreads>,
}

impl<V: Visitor> RunningWalk<V> {
    /// Returns the token that ends the walk early.
    pub(crate) fn stop(&self) -> CancelToken {
        self.stop.clone()
    }

    /// Waits until everything is visited and every thread has ended. Rethrows the first panic of
    /// a visitor.
    pub(crate) fn join(self) -> WalkReport<V> {
        self.extra.release_when_waiting(&self.progress);
        let metrics = self.executor.join();
        let visitors = std::mem::take(
            &mut *self.finished_visitors.lock().unwrap_or_else(PoisonError::into_inner),
        );
        let (totals, stopped) = (self.progress.totals(), self.stop.is_cancelled());
        WalkReport { visitors, totals, stopped, threads: self.threads, metrics }
    }
}

/// What the executor runs.
enum WalkJob<D, T> {
    Task(WalkTask<D, T>),
    /// A task that waited in its disk's lane and now has a device slot.
    OnDisk(DeviceTurn<WalkTask<D, T>>),
}

/// Queues tasks on the worker that runs the current one.
impl<D, T> TaskQueue<D, T> for heist::Spawner<'_, WalkJob<D, T>> {
    fn spawn(&mut self, task: WalkTask<D, T>) {
        self.spawn_local(WalkJob::Task(task));
    }

    fn put_off(&mut self, task: WalkTask<D, T>) {
        self.spawn_yielded(WalkJob::Task(task));
        // If this is the only task left, it comes back at once. Give other threads a chance to
        // close something first.
        std::thread::yield_now();
    }
}

/// What all workers of a walk share.
struct TaskRunner<D, T> {
    engine: Engine,
    lanes: Arc<OnceLock<DeviceLanes<WalkTask<D, T>>>>,
}

impl<D: Send + Sync + 'static, T: Send + 'static> TaskRunner<D, T> {
    fn run<V: Visitor<Dir = D, Task = T>>(
        &self,
        job: WalkJob<D, T>,
        worker: &mut WalkWorker<V>,
        queue: &mut heist::Spawner<'_, WalkJob<D, T>>,
    ) {
        match job {
            WalkJob::Task(task) => {
                if let Some(task) = self.admit(task, worker) {
                    self.work(task, worker, queue);
                }
            }
            WalkJob::OnDisk(turn) => {
                // The worker keeps the device slot until it works on another disk or runs out of
                // work.
                let admitted = turn.run(|task, slot| {
                    worker.slot = Some(slot);
                    task
                });
                if let Some(task) = admitted {
                    self.work(task, worker, queue);
                }
            }
        }
    }

    fn work<V: Visitor<Dir = D, Task = T>>(
        &self,
        task: WalkTask<D, T>,
        worker: &mut WalkWorker<V>,
        queue: &mut heist::Spawner<'_, WalkJob<D, T>>,
    ) {
        worker.extra.0.note_busy(&mut worker.is_idle);
        name_slice(task.label());
        if let Some(scratch) = &mut worker.scratch {
            self.engine.run(task, scratch, queue);
        }
    }

    /// Makes sure that the worker holds a device slot of the task's disk. If none is free, the task
    /// waits in the disk's lane and the worker can run other tasks.
    fn admit<V: Visitor>(
        &self,
        task: WalkTask<D, T>,
        worker: &mut WalkWorker<V>,
    ) -> Option<WalkTask<D, T>> {
        let Some(disk) = task.disk() else {
            // The disk of a root is known only after the root has answered, which may take long.
            // Until then others may need the device slot.
            worker.slot = None;
            return Some(task);
        };
        if worker.slot.as_ref().is_some_and(|slot| slot.device() == disk) {
            return Some(task);
        }
        worker.slot = None;
        worker.slot = self.engine.disks.slots().try_acquire(disk);
        if worker.slot.is_some() {
            return Some(task);
        }
        if let Some(lanes) = self.lanes.get() {
            // Fails only if the walk was stopped, and then the task would be dropped anyway.
            let _ = lanes.submit(disk, task);
        }
        None
    }
}

/// The state of one worker. When the worker ends, its visitor goes back to the caller.
struct WalkWorker<V: Visitor> {
    number: usize,
    scratch: Option<WalkScratch<V>>,
    extra: ReleaseOnDrop,
    /// Whether [`ExtraThreads`] counts the worker as idle.
    is_idle: bool,
    /// The device slot of the disk that the worker is on.
    slot: Option<DeviceSlotPermit>,
    finished_visitors: Arc<Mutex<Vec<V>>>,
}

/// Releases the extra threads when a worker ends, even by a panic, so that none of them waits
/// forever.
struct ReleaseOnDrop(Arc<ExtraThreads>);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<V: Visitor> Drop for WalkWorker<V> {
    fn drop(&mut self) {
        if let Some(scratch) = self.scratch.take() {
            scratch.counts.publish();
            self.finished_visitors
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(scratch.visitor);
        }
    }
}
