//! Tasks that wait outside of every queue until something is granted to them.
//!
//! Such a task counts from the moment it begins to wait, so the pool does not end without it. No worker holds it, and
//! nothing polls for it: whoever releases what it waits for spawns it. What waits is the closure that makes the task
//! out of the permit that it gets.
//!
//! When the pool is stopped, everything that waits gives up its place in the line, is made with an error, and goes the
//! way of all queued tasks: the workers drop it, and count it.
//!
//! Not guaranteed: on which thread a task is made. It is the one that releases the permit, so the making must be short.

use super::shared::Shared;
use super::task::contain;
use crate::budget::{AcquireError, Amount, Core, Permit, Ticket};
use crate::cancel::Watcher;
use crate::sync::plant;
use crate::sync::{Arc, Mutex, Weak};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a waiting task is made of.
type Granted = Result<Permit, AcquireError>;

/// A task that waits.
struct WaitingTask<T> {
    make: Box<dyn FnOnce(Granted) -> T + Send>,
    /// Its place in the line, once it has one. Not a reference that keeps the budget: when nobody else has it, nothing
    /// will ever be granted, and the budget's end refuses those who wait.
    place: Option<(Weak<Core>, Ticket)>,
}

/// The pool's ear at its cancel token, while anything may wait.
pub(super) struct StopWhenCancelled<T>(Weak<Shared<T>>);

impl<T> StopWhenCancelled<T> {
    pub(super) fn of(shared: &Arc<Shared<T>>) -> Self {
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

struct Tasks<T> {
    /// By number, so that they are released in the order in which they came.
    waiting: BTreeMap<u64, WaitingTask<T>>,
    next: u64,
    /// The pool was stopped: nothing waits any more.
    stopped: bool,
    /// Whether the pool watches its cancel token.
    watches: bool,
}

/// The tasks of one pool that wait.
pub(super) struct Waiting<T> {
    tasks: Mutex<Tasks<T>>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        let tasks = Tasks { waiting: BTreeMap::new(), next: 0, stopped: false, watches: false };
        Self { tasks: Mutex::new(tasks) }
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.lock().waiting.len()
    }

    /// Takes a task in and returns its number, and whether it is the first ever; or gives it back because the pool was
    /// stopped.
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

    /// Notes a task's place in the line, or gives it back because the task waits no longer.
    fn set_place(&self, number: u64, core: &Arc<Core>, ticket: Ticket) -> Result<(), Ticket> {
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

impl<T> Shared<T> {
    /// Spawns a task that was counted before.
    pub(crate) fn spawn_counted(&self, task: T) {
        self.injector.push(task, || self.clock.now_ns());
        self.announce_pushed(1);
    }

    /// Makes and spawns a task that was counted before. If the making panics, that is the end of the task.
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

    /// Releases everything that waits: to be dropped by the workers.
    pub(super) fn release_waiting(&self) {
        plant::instead!(StopForgetsWaiters);
        for task in self.waiting.take_all_for_good().into_values() {
            self.refuse(task, AcquireError::Stopped);
        }
    }

    /// Spawns a waiting task without what it waits for, if it still waits.
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

impl<T: Send + 'static> Shared<T> {
    /// Spawns a task, counted before, as soon as `amount` is granted to it; or at once, with the error, if it never
    /// will be. Returns the number that it waits under, if it may still wait.
    pub(crate) fn spawn_when_granted(
        this: &Arc<Self>,
        core: &Arc<Core>,
        amount: Amount,
        make: impl FnOnce(Granted) -> T + Send + 'static,
    ) -> Option<u64> {
        match Core::try_acquire(core, amount) {
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
            // With everybody asleep and tasks waiting, nobody would ask the token. Before the task asks for its place:
            // it may be granted at once, and those who wait after it are not the first.
            this.watch_for_cancellation(&StopWhenCancelled::of(this));
        }
        let shared = Arc::clone(this);
        let resume = move |granted| shared.resume(number, granted);
        let ticket = Core::acquire_with(core, amount, Box::new(resume))?;
        if let Err(ticket) = this.waiting.set_place(number, core, ticket) {
            // Granted in the meantime (then this does nothing), or released by a stop that did not know the place.
            core.give_up(ticket);
        }
        Some(number)
    }

    fn resume(&self, number: u64, granted: Granted) {
        // Not found: the pool was stopped, and what was granted goes back by being dropped.
        if let Some(task) = self.waiting.take(number) {
            self.spawn_made(task.make, granted);
        }
    }
}
