//! Running one task: its panic is contained, its worker's scratch rebuilt, or the task dropped unrun.

use super::context::WorkerCtx;
use super::worker::Worker;
use crate::policy::RunTask;
use crate::sync::plant::{self, Plant, planted};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a worker's tasks with its scratch.
pub struct TaskRunner<'r, S, I, R, P> {
    /// `None` when `scratch_init` panicked; the pool is then stopped, and tasks are only dropped.
    scratch: Option<S>,
    scratch_init: &'r I,
    runner: &'r R,
    before_park: &'r P,
}

impl<S, I, R, P> std::fmt::Debug for TaskRunner<'_, S, I, R, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskRunner").finish_non_exhaustive()
    }
}

impl<'r, S, I: Fn(usize) -> S, R, P> TaskRunner<'r, S, I, R, P> {
    /// Makes the worker's scratch. If that panics, the pool is stopped.
    pub fn new<T>(
        worker: &Worker<T>,
        scratch_init: &'r I,
        runner: &'r R,
        before_park: &'r P,
    ) -> Self {
        let mut this = Self { scratch: None, scratch_init, runner, before_park };
        this.rebuild_scratch(worker);
        this
    }

    fn rebuild_scratch<T>(&mut self, worker: &Worker<T>) {
        // The old scratch is the caller's value too: its `drop` may panic like anything else of his.
        let old = self.scratch.take();
        let made = catch_unwind(AssertUnwindSafe(|| {
            drop(old);
            (self.scratch_init)(worker.id)
        }));
        match made {
            Ok(scratch) => self.scratch = Some(scratch),
            Err(payload) => {
                worker.metrics().panics.add(1);
                let surplus = worker.shared.abort(Some(worker.id), payload);
                contain(|| drop(surplus));
            }
        }
    }

    /// The scratch, at the end.
    pub fn into_scratch(self) -> Option<S> {
        self.scratch
    }
}

impl<T, S, I, R, P> RunTask<Worker<T>> for TaskRunner<'_, S, I, R, P>
where
    I: Fn(usize) -> S,
    R: Fn(T, &mut WorkerCtx<'_, T, S>),
    P: Fn(&mut S),
{
    /// Runs a task, or drops it if the pool was stopped.
    #[inline(always)]
    fn run(&mut self, worker: &mut Worker<T>, task: T) {
        let Some(scratch) = self.scratch.as_mut().filter(|_| !worker.shared.must_drop()) else {
            return drop_task(worker, task);
        };
        (self.runner)(task, &mut WorkerCtx::new(worker, scratch));
        worker.count_run();
    }

    /// Counts and reports the panic; then makes a new scratch, in whatever state the task has left the old one.
    fn after_panic(&mut self, worker: &mut Worker<T>, payload: Box<dyn Any + Send>) {
        worker.count_run();
        worker.metrics().panics.add(1);
        let surplus = worker.shared.task_panicked(Some(worker.id), payload);
        contain(|| drop(surplus));
        if !worker.shared.has_panicked() {
            self.rebuild_scratch(worker);
        }
    }

    /// Its panic counts as a task's, without a task: the scratch may be in any state.
    fn before_park(&mut self, worker: &mut Worker<T>) {
        let Some(scratch) = &mut self.scratch else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.before_park)(scratch))) {
            worker.metrics().panics.add(1);
            let surplus = worker.shared.task_panicked(Some(worker.id), payload);
            contain(|| drop(surplus));
            if !worker.shared.has_panicked() {
                self.rebuild_scratch(worker);
            }
        }
    }
}

/// Drops a task that will not be run.
#[cold]
pub(super) fn drop_task<T>(worker: &Worker<T>, task: T) {
    if !planted(Plant::DropsUncounted) {
        worker.metrics().tasks_dropped.add(1);
    }
    plant::instead!(DropsForgotten => std::mem::forget(task));
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(task))) {
        worker.metrics().panics.add(1);
        let surplus = worker.shared.task_panicked(Some(worker.id), payload);
        contain(|| drop(surplus));
    }
}

/// Does something that may panic and whose panic nobody is left to be told of: the panic hook has spoken. The
/// payload is leaked, because its own `drop` may panic in turn.
pub(crate) fn contain(action: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(action)) {
        std::mem::forget(payload);
    }
}
