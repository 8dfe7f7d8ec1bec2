//! A walk under way: the executor that runs the engine's tasks, its workers, and whose disk is whose.
//!
//! A worker holds a slot of the disk that its tasks are on ([`heist_device::DeviceSlots`]), so that a disk which does
//! not answer has no more than its share of the workers. The slot covers everything that a task calls: looking up
//! names, listing, metadata, and the files that a visitor opens and reads. It belongs to the worker and not to the
//! task: the next task on the same disk finds it there.
//!
//! Invariant: a worker has at most one slot of a disk, and none while it sleeps. A task whose disk has no slot free
//! waits in that disk's lane and comes back with one.

use super::{Walk, WalkStartError, Walked};
use crate::counters::Progress;
use crate::disks::cores;
use crate::engine::{Engine, Hands, Spawn, WalkTask};
use crate::reserve::Reserve;
use crate::visitor::Visitor;
use heist::trace::{Tracer, name_slice};
use heist::{CancelToken, Executor, ExecutorBuilder};
use heist_device::{DeviceLanes, DeviceSlotPermit, DeviceTurn};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

impl Walk {
    /// Starts the walk, and does not wait for it. If nobody will watch it, no thread is held in reserve.
    pub(crate) fn start<V: Visitor>(
        self,
        tracer: impl Tracer,
        watched: bool,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<Running<V>, WalkStartError> {
        let mut config = self.checked_executor()?;
        let roots = self.roots.len();
        let progress = self.progress();
        // Whoever says how many means it.
        let first = if watched { self.threads.unwrap_or_else(cores) } else { usize::MAX };
        let (engine, threads) = self.into_engine();
        let stop = engine.stop.clone();
        let slots = Arc::clone(engine.disks.slots());
        let ended = Arc::new(Mutex::new(Vec::new()));
        let lanes = Arc::new(OnceLock::new());
        let reserve = Arc::new(Reserve::new(first.min(threads), threads, V::READS_FILES));
        config.workers = threads;
        config.cancel = stop.clone();
        let builder = ExecutorBuilder::new(config).trace(tracer);
        let executor = {
            let (progress, ended) = (progress.clone(), Arc::clone(&ended));
            let reserve_of_workers = Arc::clone(&reserve);
            #[cfg(all(test, target_os = "linux", not(heist_portable)))]
            let faults = crate::sys::fault::Plan::current();
            let at_work = AtWork { engine, lanes: Arc::clone(&lanes) };
            builder.build_with(
                move |worker| {
                    #[cfg(all(test, target_os = "linux", not(heist_portable)))]
                    crate::sys::fault::Plan::install(faults.clone());
                    let reserve = CallAtTheEnd(Arc::clone(&reserve_of_workers));
                    reserve.0.hold_back(worker);
                    Worker {
                        number: worker,
                        reserve,
                        resting: false,
                        hands: Some(Hands::new(visitor(worker), progress.add_worker())),
                        slot: None,
                        ended: Arc::clone(&ended),
                    }
                },
                move |job, ctx| {
                    let (worker, mut queue) = ctx.split();
                    at_work.run(job, worker, &mut queue);
                },
                |worker| {
                    // Others may be waiting for the disk, and for what was found on it.
                    worker.slot = None;
                    if let Some(hands) = &mut worker.hands {
                        hands.visitor.before_sleep();
                    }
                    worker.reserve.0.rest(worker.number, &mut worker.resting);
                },
            )?
        };
        // Set before there is any task that could want it.
        let _ = lanes.set(DeviceLanes::new(&executor.handle(), slots, Job::OnDisk));
        for root in 0..roots {
            // Refused only if the walk was cancelled already.
            let _ = executor.spawn(Job::Walk(WalkTask::Root(root)));
        }
        Ok(Running { executor, ended, progress, stop, threads, reserve })
    }
}

/// A walk under way.
pub(crate) struct Running<V: Visitor> {
    executor: Executor<Job<V::Dir>>,
    ended: Arc<Mutex<Vec<V>>>,
    progress: Progress,
    stop: CancelToken,
    threads: usize,
    reserve: Arc<Reserve>,
}

impl<V: Visitor> Running<V> {
    /// What ends it early.
    pub(crate) fn stop(&self) -> CancelToken {
        self.stop.clone()
    }

    /// Waits until everything is visited and every thread is gone. Rethrows the first panic of a visitor.
    pub(crate) fn join(self) -> Walked<V> {
        self.reserve.watch(&self.progress);
        let metrics = self.executor.join();
        let visitors =
            std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        let (totals, stopped) = (self.progress.totals(), self.stop.is_cancelled());
        Walked { visitors, totals, stopped, threads: self.threads, metrics }
    }
}

/// What the executor runs.
enum Job<D> {
    Walk(WalkTask<D>),
    /// A task that had to wait for its disk.
    OnDisk(DeviceTurn<WalkTask<D>>),
}

/// The queue of the worker at hand.
impl<D> Spawn<D> for heist::Spawner<'_, Job<D>> {
    fn spawn(&mut self, task: WalkTask<D>) {
        self.spawn_local(Job::Walk(task));
    }

    fn put_off(&mut self, task: WalkTask<D>) {
        self.spawn_yielded(Job::Walk(task));
        // If it is the only task left, it comes back at once: the threads that may close something go first.
        std::thread::yield_now();
    }
}

/// What all workers share.
struct AtWork<D> {
    engine: Engine,
    lanes: Arc<OnceLock<DeviceLanes<WalkTask<D>>>>,
}

impl<D: Send + Sync + 'static> AtWork<D> {
    fn run<V: Visitor<Dir = D>>(
        &self,
        job: Job<D>,
        worker: &mut Worker<V>,
        queue: &mut heist::Spawner<'_, Job<D>>,
    ) {
        match job {
            Job::Walk(task) => {
                if let Some(task) = self.admit(task, worker) {
                    self.work(task, worker, queue);
                }
            }
            Job::OnDisk(turn) => {
                // The worker stays on that disk until it finds something else to do, or nothing.
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

    fn work<V: Visitor<Dir = D>>(
        &self,
        task: WalkTask<D>,
        worker: &mut Worker<V>,
        queue: &mut heist::Spawner<'_, Job<D>>,
    ) {
        worker.reserve.0.work_again(&mut worker.resting);
        name_slice(task.label());
        if let Some(hands) = &mut worker.hands {
            self.engine.run(task, hands, queue);
        }
    }

    /// Sees to it that the worker has a slot of the task's disk. If there is none free, the task waits in the disk's
    /// lane, and the worker is free for others.
    fn admit<V>(&self, task: WalkTask<D>, worker: &mut Worker<V>) -> Option<WalkTask<D>> {
        let Some(disk) = task.disk() else {
            // Where a root is shows only when it answers, which may take long: others may need this disk meanwhile.
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
            // Refused only if the walk was stopped, and then it would be dropped anyway.
            let _ = lanes.submit(disk, task);
        }
        None
    }
}

/// What a worker has: when it ends, its visitor goes back to the caller.
struct Worker<V> {
    number: usize,
    hands: Option<Hands<V>>,
    reserve: CallAtTheEnd,
    /// Whether it counts as out of work.
    resting: bool,
    /// The right to use a disk: kept while the worker stays on that disk.
    slot: Option<DeviceSlotPermit>,
    ended: Arc<Mutex<Vec<V>>>,
}

/// Calls the reserve when a worker ends, also by a panic: nobody may be held back then.
struct CallAtTheEnd(Arc<Reserve>);

impl Drop for CallAtTheEnd {
    fn drop(&mut self) {
        self.0.call();
    }
}

impl<V> Drop for Worker<V> {
    fn drop(&mut self) {
        if let Some(hands) = self.hands.take() {
            hands.counts.show();
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(hands.visitor);
        }
    }
}
