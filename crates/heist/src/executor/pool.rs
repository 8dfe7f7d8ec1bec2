//! `Executor<T>`: the owner of the worker threads.

use super::attached::Attached;
use super::builder::ExecutorBuilder;
use super::config::ExecutorConfig;
use super::context::WorkerCtx;
use super::error::{JoinTimeout, SpawnError, StartError, TaskPanic};
use super::handle::ExecutorHandle;
use super::shared::PoolShared;
use super::task::contain;
use super::thread::ThreadPlan;
use crate::metrics::MetricsSnapshot;
use crate::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex};
use crate::trace::Tracer;
use crate::worker_id;
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::time::Duration;

/// A pool of worker threads that run tasks of one type.
///
/// Dropping the executor shuts it down and waits for the running tasks. (On one of its own workers,
/// it only shuts down.) To run everything to the end, call [`Executor::join`].
///
/// # Examples
///
/// ```
/// use heist::{Executor, ExecutorConfig};
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
///
/// let total = Arc::new(AtomicU64::new(0));
/// let sum = Arc::clone(&total);
/// let executor = Executor::new(
///     ExecutorConfig::default(),
///     |_worker| (),
///     move |task: u64, ctx| {
///         sum.fetch_add(task, Ordering::Relaxed);
///         if task > 1 {
///             ctx.spawn_local(task / 2);
///         }
///     },
/// )?;
/// executor.spawn_batch(vec![8, 100])?;
/// let metrics = executor.join();
/// assert_eq!(total.load(Ordering::Relaxed), (8 + 4 + 2 + 1) + (100 + 50 + 25 + 12 + 6 + 3 + 1));
/// assert_eq!(metrics.tasks_run(), 11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executor<T: Send + 'static> {
    shared: Arc<PoolShared<T>>,
    threads: Vec<JoinHandle<()>>,
    /// Every thread holds a sender until its last line, so this disconnects when all threads have
    /// ended.
    all_ended: Mutex<Receiver<Infallible>>,
}

impl<T: Send + 'static> std::fmt::Debug for Executor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Executor<T> {
    /// Returns a builder with the default configuration.
    pub fn builder() -> ExecutorBuilder<T> {
        ExecutorBuilder::new(ExecutorConfig::default())
    }

    /// Starts an executor. Each worker makes its scratch with `scratch_init`, which gets the
    /// worker's id, on its own thread, and passes every task to `runner`.
    ///
    /// A worker drops its scratch when it ends. To get the scratch back, use [`crate::run`], or
    /// send its contents when it is dropped.
    ///
    /// A panic in `scratch_init` stops the pool, as a task's panic does with
    /// [`crate::OnPanic::StopPool`]: `join` rethrows it.
    ///
    /// # Errors
    /// Fails if a field of the configuration has an unusable value, or if the system refuses a
    /// thread.
    pub fn new<S, I, R>(
        config: ExecutorConfig,
        scratch_init: I,
        runner: R,
    ) -> Result<Self, StartError>
    where
        S: 'static,
        I: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<'_, T, S>) + Send + Sync + 'static,
    {
        ExecutorBuilder::new(config).build(scratch_init, runner)
    }

    /// Starts the workers. `scratch_init` gets a handle to the pool and returns the function that
    /// makes the scratch.
    pub(super) fn start<S, I, R, P>(
        config: &ExecutorConfig,
        tracer: impl Tracer,
        attached: Option<Box<dyn Attached>>,
        scratch_init: impl FnOnce(ExecutorHandle<T>) -> I,
        runner: R,
        before_park: P,
    ) -> Result<Self, StartError>
    where
        S: 'static,
        I: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<'_, T, S>) + Send + Sync + 'static,
        P: Fn(&mut S) + Send + Sync + 'static,
    {
        config.validate()?;
        let (shared, workers) = PoolShared::with_attached(config, attached);
        let (running, all_ended) = channel();
        let mut executor = Self { shared, threads: Vec::new(), all_ended: Mutex::new(all_ended) };
        let work = Arc::new((
            ThreadPlan::new(executor.shared.pool(), config),
            tracer,
            scratch_init(executor.handle()),
            runner,
            before_park,
        ));
        for worker in workers {
            let id = worker.id;
            let builder = work.0.builder(id);
            let work = Arc::clone(&work);
            let running = running.clone();
            let shared = Arc::clone(&executor.shared);
            let thread = builder.spawn(move || {
                let _id = work.0.enter(id);
                let (plan, tracer, scratch_init, runner, before_park) = &*work;
                let calls = (scratch_init, runner, before_park);
                let scratch = plan.work(worker, calls, tracer);
                shared.drop_at_the_end(id, scratch);
                // The last thread drops the closures, which are also the caller's and may panic.
                shared.drop_at_the_end(id, work);
                drop(running);
            });
            match thread {
                Ok(thread) => executor.threads.push(thread),
                Err(source) => {
                    // Dropping the executor would wait for workers that were never started.
                    executor.shared.finish();
                    return Err(StartError::Thread { worker: id, source });
                }
            }
        }
        Ok(executor)
    }

    /// Returns a handle, through which other threads can spawn.
    pub fn handle(&self) -> ExecutorHandle<T> {
        ExecutorHandle::new(Arc::clone(&self.shared))
    }

    /// Spawns a task. See [`ExecutorHandle::spawn`].
    ///
    /// # Errors
    /// Fails if the executor accepts no more tasks. The error tells why, and gives the task back.
    pub fn spawn(&self, task: T) -> Result<(), SpawnError<T>> {
        self.shared.spawn(task)
    }

    /// Spawns all of the tasks, or none. See [`ExecutorHandle::spawn_batch`].
    ///
    /// # Errors
    /// Fails if the executor accepts no more tasks. The error tells why, and gives all tasks back.
    pub fn spawn_batch(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<(), SpawnError<Vec<T>>> {
        self.shared.spawn_batch(tasks.into_iter().collect())
    }

    /// Stops the executor: it accepts no more tasks and drops the queued ones. Does not wait. See
    /// [`ExecutorHandle::shutdown`].
    pub fn shutdown(&self) {
        self.shared.shut_down();
    }

    /// Returns the panics so far. A handle also returns them after `join`. See
    /// [`ExecutorHandle::panics`].
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.shared.panic_reports()
    }

    /// Returns how many tasks and futures have not ended. See [`ExecutorHandle::in_flight`].
    pub fn in_flight(&self) -> u64 {
        self.shared.in_flight()
    }

    /// Returns the pool's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.shared.metrics_snapshot()
    }

    /// Accepts no more tasks from other threads, waits until every task and every thread has ended,
    /// and returns the final metrics.
    ///
    /// One of the pool's own workers cannot wait for itself. There, `join` closes the pool, lets it
    /// finish on its own, and returns the metrics so far.
    ///
    /// # Panics
    /// Rethrows the panic that stopped the pool, if there was one ([`crate::OnPanic::StopPool`]).
    pub fn join(mut self) -> MetricsSnapshot {
        self.shared.close();
        self.wait();
        if let Some(payload) = self.shared.take_fatal_payload() {
            resume_unwind(payload);
        }
        self.shared.metrics_snapshot()
    }

    /// Like [`Executor::join`], but waits for at most `timeout`.
    ///
    /// # Errors
    /// Fails if the tasks did not end in time. The error gives the executor back, which stays
    /// closed. On one of the pool's own workers, this fails at once.
    ///
    /// # Panics
    /// Panics as [`Executor::join`] does.
    pub fn join_timeout(self, timeout: Duration) -> Result<MetricsSnapshot, JoinTimeout<T>> {
        self.shared.close();
        if self.wait_timeout(timeout) { Ok(self.join()) } else { Err(JoinTimeout::new(self)) }
    }

    /// Waits for the threads for at most `timeout`, and returns `true` if they have ended. One of
    /// the pool's own threads does not wait.
    pub(crate) fn wait_timeout(&self, timeout: Duration) -> bool {
        if worker_id::is_thread_of(self.shared.pool()) {
            return false;
        }
        match self.all_ended.lock().recv_timeout(timeout) {
            Ok(never) => match never {},
            Err(RecvTimeoutError::Disconnected) => true,
            Err(RecvTimeoutError::Timeout) => false,
        }
    }

    /// Accepts no more tasks from other threads. Queued tasks still run.
    pub(crate) fn close(&self) {
        self.shared.close();
    }

    /// Does not wait for the threads. They end when their tasks do.
    pub(crate) fn leave_behind(mut self) {
        self.threads.clear();
    }

    /// Waits for the threads, or lets them go if this is one of them.
    fn wait(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        if worker_id::is_thread_of(self.shared.pool()) {
            return;
        }
        // A thread-local that the thread drops at its end is no longer on a worker, but on its
        // thread.
        let myself = thread::current().id();
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != myself) {
            // The threads contain every panic.
            let _ = thread.join();
        }
    }
}

impl<T: Send + 'static> Drop for Executor<T> {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.shared.shut_down();
            self.wait();
            // No `join` can rethrow it any more.
            contain(|| drop(self.shared.take_fatal_payload()));
        }
    }
}
