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
/// Dropping it shuts it down and waits for the running tasks (on one of its own workers it only shuts down).
/// To have everything run to the end, [`Executor::join`] it.
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
    /// Every thread holds a sender until its last line, so this disconnects when all have ended.
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

    /// Starts the workers. Each makes its scratch with `scratch_init` (given the worker's id), on its own thread,
    /// and hands every task to `runner`. The scratch is dropped when the worker ends; to have it back, use
    /// [`crate::run`], or send what it holds when it is dropped.
    ///
    /// A panic in `scratch_init` stops the pool as a task's does with [`crate::OnPanic::StopPool`]: `join` rethrows it.
    ///
    /// # Errors
    /// The configuration names an impossible value, or the system refuses a thread.
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

    /// Starts the workers; what makes their scratch may be made of a handle to them.
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
                // The last thread drops the closures, which are the caller's too.
                shared.drop_at_the_end(id, work);
                drop(running);
            });
            match thread {
                Ok(thread) => executor.threads.push(thread),
                Err(source) => {
                    // Dropping the executor would wait for workers that do not exist to go quiet.
                    executor.shared.finish();
                    return Err(StartError::Thread { worker: id, source });
                }
            }
        }
        Ok(executor)
    }

    /// A handle for other threads to spawn through.
    pub fn handle(&self) -> ExecutorHandle<T> {
        ExecutorHandle::new(Arc::clone(&self.shared))
    }

    /// Spawns a task. The same as [`ExecutorHandle::spawn`].
    ///
    /// # Errors
    /// The executor takes no more tasks; the error says why and gives the task back.
    pub fn spawn(&self, task: T) -> Result<(), SpawnError<T>> {
        self.shared.spawn(task)
    }

    /// Spawns all of the tasks or none. The same as [`ExecutorHandle::spawn_batch`].
    ///
    /// # Errors
    /// The executor takes no more tasks; the error says why and gives all of them back.
    pub fn spawn_batch(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<(), SpawnError<Vec<T>>> {
        self.shared.spawn_batch(tasks.into_iter().collect())
    }

    /// Takes no more tasks and drops those that are queued. Does not wait; see
    /// [`ExecutorHandle::shutdown`].
    pub fn shutdown(&self) {
        self.shared.shut_down();
    }

    /// The panics so far. After `join`, ask a handle. See [`ExecutorHandle::panics`].
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.shared.panic_reports()
    }

    /// Returns how many tasks and futures have not ended. See [`ExecutorHandle::in_flight`].
    pub fn in_flight(&self) -> u64 {
        self.shared.in_flight()
    }

    /// The pool's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.shared.metrics_snapshot()
    }

    /// Takes no more tasks, waits until every task has ended and every thread is gone, and returns the final
    /// metrics.
    ///
    /// Called on one of the pool's own workers it cannot wait for itself: it then closes the pool, lets it
    /// run out on its own, and returns the metrics so far.
    ///
    /// # Panics
    /// Rethrows the panic of the task that stopped the pool, with [`crate::OnPanic::StopPool`].
    pub fn join(mut self) -> MetricsSnapshot {
        self.shared.close();
        self.wait();
        if let Some(payload) = self.shared.take_fatal_payload() {
            resume_unwind(payload);
        }
        self.shared.metrics_snapshot()
    }

    /// [`Executor::join`], for at most `timeout`.
    ///
    /// # Errors
    /// The tasks did not end in time. The error gives the executor back; its intake stays closed. On one of the
    /// pool's own workers, which cannot wait for itself, that is at once.
    ///
    /// # Panics
    /// As [`Executor::join`].
    pub fn join_timeout(self, timeout: Duration) -> Result<MetricsSnapshot, JoinTimeout<T>> {
        self.shared.close();
        if self.wait_timeout(timeout) { Ok(self.join()) } else { Err(JoinTimeout::new(self)) }
    }

    /// Waits for the threads for at most `timeout`; says whether they have ended. One of the pool's own threads does
    /// not wait.
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

    /// Takes no more tasks; what is queued is still run.
    pub(crate) fn close(&self) {
        self.shared.close();
    }

    /// Leaves the threads to themselves: they end when their tasks do, and nobody waits for them.
    pub(crate) fn leave_behind(mut self) {
        self.threads.clear();
    }

    /// Waits for the threads, or lets them go if this is one of them.
    fn wait(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        if worker_id::is_thread_of(self.shared.pool()) {
            return;
        }
        // A worker's thread-local that is dropped at its end is past being a worker, but still on the thread.
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
            // Nobody asks for it any more.
            contain(|| drop(self.shared.take_fatal_payload()));
        }
    }
}
