//! Runs one task, contains its panic and makes a new scratch after it; or drops the task unrun.

use super::context::WorkerCtx;
use super::worker::Worker;
use crate::policy::RunTask;
use crate::sync::plant::{self, Plant, planted};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a worker's tasks with its scratch.
pub struct TaskRunner<'r, S, I, R, P> {
    /// `None` if `scratch_init` panicked. The pool is then stopped, and tasks are only dropped.
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
    /// Makes the worker's scratch. A panic in that stops the pool.
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
        // The old scratch is a value of the caller's, so its `drop` may panic.
        let old = self.scratch.take();
        let made = catch_unwind(AssertUnwindSafe(|| {
            drop(old);
            (self.scratch_init)(worker.id)
        }));
        match made {
            Ok(scratch) => self.scratch = Some(scratch),
            Err(payload) => {
                worker.metrics().panics.add(1);
                let surplus = worker.shared.stop_for_panic(Some(worker.id), payload);
                contain(|| drop(surplus));
            }
        }
    }

    /// Returns the scratch, at the worker's end.
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

    /// Counts and reports the panic. Then makes a new scratch, because the task may have left the
    /// old one half changed.
    fn after_panic(&mut self, worker: &mut Worker<T>, payload: Box<dyn Any + Send>) {
        worker.count_run();
        worker.metrics().panics.add(1);
        let surplus = worker.shared.task_panicked(Some(worker.id), payload);
        contain(|| drop(surplus));
        if !worker.shared.has_panicked() {
            self.rebuild_scratch(worker);
        }
    }

    /// A panic in the caller's function is handled as a task's, because the scratch may be half
    /// changed.
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

/// Drops a task unrun, and counts it as dropped.
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

/// Calls `action` and swallows its panic, where it could not be reported any more. The panic hook
/// has printed it. The payload is leaked, because its `drop` may panic as well.
pub fn contain(action: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(action)) {
        std::mem::forget(payload);
    }
}
