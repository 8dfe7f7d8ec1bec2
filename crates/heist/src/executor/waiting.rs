//! Tasks that wait for a permit, outside of every queue.
//!
//! Such a task counts from the moment it begins to wait, so the pool does not end without it. It
//! does not occupy a worker, and nothing polls for it: the thread that releases the permit spawns
//! the task. What waits is the closure that makes the task from the permit.
//!
//! When the pool is stopped, every waiting task gives up its place in line. It is made with an
//! error instead of a permit, and queued; the workers drop and count it like all queued tasks.
//!
//! Not guaranteed: the thread on which a task is made. It is the thread that releases the permit,
//! so the closure must be short.

use super::shared::PoolShared;
use super::task::contain;
use crate::budget::{AcquireError, Amount, BudgetCore, Permit, Ticket};
use crate::cancel::Watcher;
use crate::sync::plant;
use crate::sync::{Arc, Mutex, Weak};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a waiting task is made from.
type Granted = Result<Permit, AcquireError>;

/// A task that waits.
struct WaitingTask<T> {
    make: Box<dyn FnOnce(Granted) -> T + Send>,
    /// Its place in line, once it has one. It does not keep the budget alive: without other owners,
    /// nothing will ever be granted, and the end of the budget refuses all waiting tasks.
    place: Option<(Weak<BudgetCore>, Ticket)>,
}

/// Stops the pool when its cancel token is cancelled.
pub(super) struct StopWhenCancelled<T>(Weak<PoolShared<T>>);

impl<T> StopWhenCancelled<T> {
    pub(super) fn of(shared: &Arc<PoolShared<T>>) -> Self {
        Self(Arc::downgrade(shared))
    }
}

impl<T> Clone for StopWhenCancelled<T> {
    fn clone(&self) -> Self {
        Self(Weak::clone(&self.0))
    }
}

impl<T: Send> Watcher for StopWhenCancelled<T> {
    fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    fn cancelled(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.notice_cancellation();
        }
    }
}

struct WaitingTable<T> {
    /// Ordered by number, so that a stop releases them in the order in which they came.
    waiting: BTreeMap<u64, WaitingTask<T>>,
    next: u64,
    /// The pool was stopped, and no task may wait any more.
    stopped: bool,
    /// `true` if the pool watches its cancel token.
    watches: bool,
}

/// The waiting tasks of one pool.
pub(super) struct WaitingTasks<T> {
    tasks: Mutex<WaitingTable<T>>,
}

impl<T> WaitingTasks<T> {
    pub(super) fn new() -> Self {
        let tasks =
            WaitingTable { waiting: BTreeMap::new(), next: 0, stopped: false, watches: false };
        Self { tasks: Mutex::new(tasks) }
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.lock().waiting.len()
    }

    /// Adds a task. Returns its number, and whether it is the first ever; or gives the task back
    /// because the pool was stopped.
    fn add(&self, task: WaitingTask<T>) -> Result<(u64, bool), WaitingTask<T>> {
        let mut tasks = self.tasks.lock();
        if tasks.stopped {
            return Err(task);
        }
        let number = tasks.next;
        tasks.next += 1;
        tasks.waiting.insert(number, task);
        let is_first = !std::mem::replace(&mut tasks.watches, true);
        Ok((number, is_first))
    }

    /// Stores a task's place in line, or gives it back because the task waits no longer.
    fn set_place(&self, number: u64, core: &Arc<BudgetCore>, ticket: Ticket) -> Result<(), Ticket> {
        match self.tasks.lock().waiting.get_mut(&number) {
            Some(task) => {
                task.place = Some((Arc::downgrade(core), ticket));
                Ok(())
            }
            None => Err(ticket),
        }
    }

    fn take(&self, number: u64) -> Option<WaitingTask<T>> {
        self.tasks.lock().waiting.remove(&number)
    }

    fn take_all_for_good(&self) -> BTreeMap<u64, WaitingTask<T>> {
        let mut tasks = self.tasks.lock();
        tasks.stopped = true;
        std::mem::take(&mut tasks.waiting)
    }
}

impl<T> PoolShared<T> {
    /// Spawns a task that was counted before.
    pub(crate) fn spawn_counted(&self, task: T) {
        self.injector.push(task, || self.clock.now_ns());
        self.announce_pushed(1);
    }

    /// Makes and spawns a task that was counted before. If `make` panics, the task has ended.
    pub(crate) fn spawn_made<G>(&self, make: impl FnOnce(G) -> T, granted: G) {
        match catch_unwind(AssertUnwindSafe(|| make(granted))) {
            Ok(task) => self.spawn_counted(task),
            Err(payload) => self.making_panicked(payload),
        }
    }

    #[cold]
    fn making_panicked(&self, payload: Box<dyn Any + Send>) {
        self.metrics.add_panic_outside();
        self.metrics.add_tasks_dropped_outside(1);
        let surplus = self.task_panicked(None, payload);
        contain(|| drop(surplus));
        self.finish_if(self.termination.consume_outside(&self.intake));
    }

    /// Releases all waiting tasks, so that the workers drop them.
    pub(super) fn release_waiting(&self) {
        plant::instead!(StopForgetsWaiters);
        for task in self.waiting.take_all_for_good().into_values() {
            self.refuse(task, AcquireError::Stopped);
        }
    }

    /// Spawns a waiting task with an error, if it still waits.
    pub(crate) fn stop_waiting(&self, number: u64) {
        if let Some(task) = self.waiting.take(number) {
            self.refuse(task, AcquireError::Closed);
        }
    }

    fn refuse(&self, task: WaitingTask<T>, error: AcquireError) {
        if let Some((core, ticket)) = task.place
            && let Some(core) = core.upgrade()
        {
            core.give_up(ticket);
        }
        self.spawn_made(task.make, Err(error));
    }
}

impl<T: Send + 'static> PoolShared<T> {
    /// Spawns a task, which was counted before, as soon as `amount` is granted; or at once, with
    /// the error, if it never will be. Returns the task's number if it may still wait.
    pub(crate) fn spawn_when_granted(
        this: &Arc<Self>,
        core: &Arc<BudgetCore>,
        amount: Amount,
        make: impl FnOnce(Granted) -> T + Send + 'static,
    ) -> Option<u64> {
        match BudgetCore::try_acquire(core, amount) {
            Err(AcquireError::NotNow) => {}
            granted => {
                this.spawn_made(make, granted);
                return None;
            }
        }
        let (number, is_first) =
            match this.waiting.add(WaitingTask { make: Box::new(make), place: None }) {
                Ok(added) => added,
                Err(refused) => {
                    this.spawn_made(refused.make, Err(AcquireError::Stopped));
                    return None;
                }
            };
        if is_first {
            // While all workers sleep and tasks wait, no worker checks the token. This comes before
            // the task gets its place: it may be granted at once, and later tasks are not the
            // first.
            this.watch_for_cancellation(&StopWhenCancelled::of(this));
        }
        let shared = Arc::clone(this);
        let resume = move |granted| shared.resume(number, granted);
        let ticket = BudgetCore::acquire_with(core, amount, Box::new(resume))?;
        if let Err(ticket) = this.waiting.set_place(number, core, ticket) {
            // It was granted meanwhile (then this does nothing), or released by a stop that did not
            // know the place.
            core.give_up(ticket);
        }
        Some(number)
    }

    fn resume(&self, number: u64, granted: Granted) {
        // Not found if the pool was stopped. Dropping the permit then returns it.
        if let Some(task) = self.waiting.take(number) {
            self.spawn_made(task.make, granted);
        }
    }
}
