//! A worker's thread, from its start to its end.

use super::config::ExecutorConfig;
use super::spin::SpinThenPark;
use super::task::{TaskRunner, contain, drop_task};
use super::worker::Worker;
use crate::WorkerCtx;
use crate::affinity::{CoreAssigner, allowed_cpus, pin_current_thread};
use crate::sync::{Arc, thread};
use crate::trace::Tracer;
use crate::worker_id::{self, PoolId};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What every thread of a pool needs in addition to its worker.
pub(super) struct ThreadPlan {
    pool: PoolId,
    name: String,
    stack_size: Option<usize>,
    spin_iters: u32,
    cores: Option<CoreAssigner>,
}

impl ThreadPlan {
    pub(super) fn new(pool: PoolId, config: &ExecutorConfig) -> Self {
        Self {
            pool,
            name: config.thread_name.clone(),
            stack_size: config.stack_size,
            spin_iters: config.spin_iters,
            cores: config.pin_threads.then(|| CoreAssigner::new(allowed_cpus())),
        }
    }

    /// Returns a builder for the thread of worker `worker`.
    pub(super) fn builder(&self, worker: usize) -> thread::Builder {
        let builder = thread::Builder::new().name(format!("{}-{worker}", self.name));
        match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }

    /// Marks this thread as worker `worker` of the pool while the guard lives. It must live until
    /// all of the caller's values on this thread are gone, since their `drop` may ask which worker
    /// this is.
    pub(super) fn enter(&self, worker: usize) -> worker_id::WorkerGuard {
        worker_id::enter(self.pool, worker)
    }

    /// Works until the pool is done. Returns the worker's scratch, unless a panic has destroyed it.
    pub(super) fn work<T, S, I, R, P>(
        &self,
        mut worker: Worker<T>,
        (scratch_init, runner, before_park): (&I, &R, &P),
        tracer: &impl Tracer,
    ) -> Option<S>
    where
        I: Fn(usize) -> S,
        R: Fn(T, &mut WorkerCtx<'_, T, S>),
        P: Fn(&mut S),
    {
        if let Some(core) = self.cores.as_ref().and_then(|cores| cores.core_for(worker.id))
            && pin_current_thread(core).is_err()
        {
            worker.metrics().pin_failures.add(1);
        }
        let shared = Arc::clone(&worker.shared);
        let id = worker.id;
        let _seat = worker.sit_down();
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let mut trace = tracer.worker(id);
            let mut idle = SpinThenPark::new(self.spin_iters, shared.clock);
            let mut tasks = TaskRunner::new(&worker, scratch_init, runner, before_park);
            worker.work_until_done(&mut idle, &mut trace, &mut tasks);
            tasks.into_scratch()
        }));
        worked.unwrap_or_else(|payload| {
            // The panic of a trace hook or of the engine itself, not of a task. The counts cannot
            // be relied on any more: end the pool at once and let `join` rethrow the panic, instead
            // of waiting for a worker that is gone.
            worker.metrics().panics.add(1);
            let surplus = shared.stop_for_panic(Some(id), payload);
            contain(|| drop(surplus));
            shared.finish();
            // Other threads may wait for what the queued tasks hold, so drop them.
            while let Some(task) = worker.salvage_task() {
                drop_task(&worker, task);
            }
            while let Some(future) = worker.salvage_future() {
                contain(|| drop(future));
            }
            None
        })
    }
}
