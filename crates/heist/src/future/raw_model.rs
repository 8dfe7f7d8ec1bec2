//! The modelled raw task: async-task's state machine over the atomics of the model checker or
//! simulator.
//!
//! One word holds the flags and the references. The model changes it by the same read-modify-writes
//! in the same order as `async-task` 4.7, so that a checker sees the same happens-before edges. The
//! future, its output and the awaiter's waker are not modelled: the word decides which thread may
//! touch them, and a second owner panics.
//!
//! The model differs from the real task in two ways, because it has no unsafe code:
//! - The standard library clones a [`Waker`] unseen. So the word counts groups of references
//!   instead of references: all that come from one [`Runnable`] form one group, which ends with its
//!   last reference. Clones, and drops that are not the last, order nothing here, although the real
//!   ones do. The model orders nothing that the real task leaves unordered.
//! - A destructor or a waker that panics aborts the real process. Here it unwinds, because checkers
//!   report failures by panics. A failed loom model leaks what it leaves behind.
//!
//! It keeps one weakness of the real task: a detached future that waits and has kept no waker is
//! leaked, never dropped. Code that relies on the drop must hold a waker while the future runs.

use crate::sync::plant::{self, Plant, planted};
use crate::sync::{AtomicUsize, Ordering};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A [`Runnable`] exists, or will exist at the end of the current poll.
const SCHEDULED: usize = 1 << 0;
/// The future is being polled.
const RUNNING: usize = 1 << 1;
/// The future has returned its output.
const COMPLETED: usize = 1 << 2;
/// Cancelled, panicked, or the output was taken.
const CLOSED: usize = 1 << 3;
/// The [`Task`] exists.
const TASK: usize = 1 << 4;
/// A waker is registered for the task's end.
const AWAITER: usize = 1 << 5;
/// The awaiter's waker is being written.
const REGISTERING: usize = 1 << 6;
/// The awaiter's waker is being taken.
const NOTIFYING: usize = 1 << 7;
/// One group of references; this bit and those above count the groups.
const REFERENCE: usize = 1 << 8;

/// The payload of a panic.
type Panic = Box<dyn Any + Send>;

/// A value that the state word protects. Its lock is never contended, and never held while other
/// code runs.
struct GuardedCell<T>(Mutex<Option<T>>);

impl<T> GuardedCell<T> {
    fn put(&self, value: T) {
        let before = self.replace(Some(value));
        assert!(before.is_none(), "a cell is written when it is empty");
    }

    fn take(&self) -> Option<T> {
        self.replace(None)
    }

    fn replace(&self, value: Option<T>) -> Option<T> {
        std::mem::replace(&mut *self.0.lock().expect("no panic while it is held"), value)
    }
}

/// The future and its output, with their types erased.
trait Body: Send + Sync {
    /// Polls the future. When it is ready, drops it and stores the output.
    fn poll(&self, context: &mut Context<'_>) -> Result<Poll<()>, Panic>;
    fn drop_future(&self);
    fn forget_future(&self);
    fn drop_output(&self);
}

struct TypedBody<F: Future> {
    future: GuardedCell<Pin<Box<F>>>,
    output: Arc<GuardedCell<F::Output>>,
}

impl<F: Future> TypedBody<F> {
    fn take_future(&self) -> Pin<Box<F>> {
        self.future.take().expect("the thread that the state word admits owns the future")
    }
}

impl<F> Body for TypedBody<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn poll(&self, context: &mut Context<'_>) -> Result<Poll<()>, Panic> {
        // Taken out of its cell, so that no lock is held while the future runs.
        let mut future = self.take_future();
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => {
                drop(future);
                self.output.put(output);
                Ok(Poll::Ready(()))
            }
            Ok(Poll::Pending) => {
                self.future.put(future);
                Ok(Poll::Pending)
            }
            Err(panic) => {
                self.future.put(future);
                Err(panic)
            }
        }
    }

    fn drop_future(&self) {
        drop(self.take_future());
    }

    fn forget_future(&self) {
        std::mem::forget(self.take_future());
    }

    fn drop_output(&self) {
        drop(self.output.take());
    }
}

/// The state that the references and the [`Task`] share.
struct TaskCore {
    state: AtomicUsize,
    awaiter: GuardedCell<Waker>,
    body: Box<dyn Body>,
    schedule: Box<dyn Fn(Runnable, bool) + Send + Sync>,
}

impl TaskCore {
    /// Replaces the word by `change` of it if `may` holds, in a compare-and-swap loop. Returns the
    /// word before the change, or the word for which `may` did not hold.
    fn update_if(
        &self,
        may: impl Fn(usize) -> bool,
        change: impl Fn(usize) -> usize,
    ) -> Result<usize, usize> {
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            may(state).then(|| change(state))
        })
    }

    /// Takes the awaiter's waker. Returns it unless it is the same as `current`.
    fn take_awaiter(&self, current: Option<&Waker>) -> Option<Waker> {
        let state = self.state.fetch_or(NOTIFYING, Ordering::AcqRel);
        if state & (NOTIFYING | REGISTERING) != 0 {
            return None;
        }
        let waker = self.awaiter.take();
        self.state.fetch_and(!NOTIFYING & !AWAITER, Ordering::Release);
        waker.filter(|waker| current.is_none_or(|current| !waker.will_wake(current)))
    }

    fn notify(&self, current: Option<&Waker>) {
        if let Some(waker) = self.take_awaiter(current) {
            waker.wake();
        }
    }

    /// Registers `waker` as the awaiter's.
    fn register(&self, waker: &Waker) {
        let mut state = self.state.fetch_or(0, Ordering::Acquire);
        loop {
            if state & NOTIFYING != 0 {
                waker.wake_by_ref();
                return;
            }
            let marked = state | REGISTERING;
            match self.exchange(state, marked) {
                Ok(_) => {
                    state = marked;
                    break;
                }
                Err(now) => state = now,
            }
        }
        self.awaiter.replace(Some(waker.clone()));
        // Set if a notification came meanwhile: its thread leaves the waking to this one.
        let mut notified = None;
        loop {
            if state & NOTIFYING != 0 {
                notified = self.awaiter.take().or(notified);
            }
            let quiet = state & !NOTIFYING & !REGISTERING;
            let new = if notified.is_none() { quiet | AWAITER } else { quiet & !AWAITER };
            match self.exchange(state, new) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if let Some(waker) = notified {
            waker.wake();
        }
    }

    fn exchange(&self, current: usize, new: usize) -> Result<usize, usize> {
        self.state.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Ends a run: gives its reference back, then wakes the awaiter. `state` is the word before the
    /// last change.
    fn end_run(&self, state: usize, references: Arc<References>) {
        let awaiter = (state & AWAITER != 0).then(|| self.take_awaiter(None)).flatten();
        References::give_back(references);
        if let Some(waker) = awaiter {
            waker.wake();
        }
    }

    /// Marks the task as completed. `state` is the word at the beginning of the poll.
    fn complete(&self, mut state: usize, references: Arc<References>) {
        loop {
            let closed = if state & TASK == 0 { CLOSED } else { 0 };
            match self.exchange(state, (state & !RUNNING & !SCHEDULED) | COMPLETED | closed) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state & TASK == 0 || state & CLOSED != 0 {
            self.body.drop_output();
        }
        self.end_run(state, references);
    }

    /// Ends a poll that returned `Pending`. Returns `true` if the future was woken while it ran,
    /// and is therefore scheduled again.
    fn suspend(&self, mut state: usize, references: Arc<References>) -> bool {
        let mut future_dropped = false;
        loop {
            let mut new = state & !RUNNING;
            if state & CLOSED != 0 {
                new &= !SCHEDULED;
                if !std::mem::replace(&mut future_dropped, true) {
                    self.body.drop_future();
                }
            }
            match self.exchange(state, new) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state & CLOSED != 0 {
            self.end_run(state, references);
        } else if state & SCHEDULED != 0 {
            References::schedule(references, true);
            return true;
        } else {
            References::give_back(references);
        }
        false
    }

    /// Closes the task after its future has panicked.
    fn close_after_panic(&self, references: Arc<References>) {
        let closed = self.update_if(
            |state| state & CLOSED == 0,
            |state| (state & !RUNNING & !SCHEDULED) | CLOSED,
        );
        self.body.drop_future();
        if closed.is_err() {
            self.state.fetch_and(!RUNNING & !SCHEDULED, Ordering::AcqRel);
        }
        // As in the real task: if it was closed before, an awaiter that registered since is not
        // woken.
        let (Ok(state) | Err(state)) = closed;
        self.end_run(state, references);
    }
}

/// Returns `true` if a model has failed and its threads are unwinding. Its atomics are gone then,
/// and a `drop` that used them would abort the process before the failure is reported. (So a model
/// must not drop tasks while it unwinds for another reason.)
fn model_has_failed() -> bool {
    cfg!(heist_loom) && std::thread::panicking()
}

/// A group of references: wakers, and at most one [`Runnable`].
struct References {
    core: Arc<TaskCore>,
    /// The last reference was a [`Runnable`].
    runnable_was_last: bool,
}

impl References {
    /// Creates a group that the word already counts.
    fn counted(core: &Arc<TaskCore>) -> Arc<Self> {
        Arc::new(Self { core: Arc::clone(core), runnable_was_last: false })
    }

    /// Gives back the reference of a [`Runnable`].
    fn give_back(references: Arc<Self>) {
        if let Some(mut references) = Arc::into_inner(references) {
            references.runnable_was_last = true;
        }
    }

    /// Passes the task to its schedule function. The word is already SCHEDULED.
    fn schedule(references: Arc<Self>, woken_while_running: bool) {
        // As in the real task, a reference is held during the call. It may become the last one.
        let held = Arc::clone(&references);
        (held.core.schedule)(Runnable(Some(references)), woken_while_running);
    }
}

impl Drop for References {
    fn drop(&mut self) {
        if model_has_failed() {
            return std::mem::forget(Arc::clone(&self.core));
        }
        let left = self.core.state.fetch_sub(REFERENCE, Ordering::AcqRel) - REFERENCE;
        if left >= REFERENCE || left & (TASK | COMPLETED | CLOSED) != 0 {
            return;
        }
        if self.runnable_was_last {
            // No waker is left, and the real task does not notice that.
            self.core.body.forget_future();
            return;
        }
        self.core.state.store(SCHEDULED | CLOSED | REFERENCE, Ordering::Release);
        Self::schedule(Self::counted(&self.core), false);
    }
}

impl Wake for References {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Written even if the task is already scheduled: the thread that runs it next must see what
        // the waker saw.
        let writes = |state| state & SCHEDULED == 0 || !planted(Plant::WakeOfQueuedWritesNothing);
        let may = |state| state & (COMPLETED | CLOSED) == 0 && writes(state);
        let woken = self.core.update_if(may, |state| state | SCHEDULED);
        let queued = plant::pick!(WakeQueuesWhatRuns => SCHEDULED, _ => SCHEDULED | RUNNING);
        if woken.is_ok_and(|state| state & queued == 0) {
            (self.core.schedule)(Runnable(Some(Arc::clone(self))), false);
        }
    }
}

/// The right to poll a future. Dropping it cancels the task and drops the future on this thread.
pub struct Runnable(Option<Arc<References>>);

impl Runnable {
    /// Polls once. Returns `true` if the future was woken while it ran, and was therefore scheduled
    /// again.
    pub fn run(mut self) -> bool {
        let references = self.0.take().expect("there until it is used up");
        let core = Arc::clone(&references.core);
        let begun =
            core.update_if(|state| state & CLOSED == 0, |state| (state & !SCHEDULED) | RUNNING);
        let Ok(before) = begun else {
            core.body.drop_future();
            let state = core.state.fetch_and(!SCHEDULED, Ordering::AcqRel);
            core.end_run(state, references);
            return false;
        };
        let state = (before & !SCHEDULED) | RUNNING;
        let waker = Waker::from(Arc::clone(&references));
        let polled = core.body.poll(&mut Context::from_waker(&waker));
        // Never the last: the runnable's own is still there.
        drop(waker);
        match polled {
            Ok(Poll::Ready(())) => {
                core.complete(state, references);
                false
            }
            Ok(Poll::Pending) => core.suspend(state, references),
            Err(panic) => {
                core.close_after_panic(references);
                resume_unwind(panic)
            }
        }
    }

    /// Calls the schedule function.
    pub fn schedule(mut self) {
        let references = self.0.take().expect("there until it is used up");
        References::schedule(references, false);
    }

    /// Returns a waker of the task.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(self.0.as_ref().expect("there until it is used up")))
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        let Some(references) = self.0.take() else { return };
        if model_has_failed() {
            return std::mem::forget(references);
        }
        let core = Arc::clone(&references.core);
        // The future is dropped even if the task was already closed.
        let _closed =
            core.update_if(|state| state & (COMPLETED | CLOSED) == 0, |state| state | CLOSED);
        core.body.drop_future();
        let state = core.state.fetch_and(!SCHEDULED, Ordering::AcqRel);
        if state & AWAITER != 0 {
            core.notify(None);
        }
        References::give_back(references);
    }
}

impl fmt::Debug for Runnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runnable")
    }
}

/// The end that awaits the future. Dropping it cancels the task, and so does [`Task::cancel`].
#[must_use = "dropping it cancels the task"]
pub struct Task<T> {
    core: Arc<TaskCore>,
    output: Arc<GuardedCell<T>>,
    detached: bool,
}

impl<T> Task<T> {
    /// Returns the output, or `None` if the task was cancelled and the future is gone.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let core = &*self.core;
        let mut state = core.state.load(Ordering::Acquire);
        loop {
            if state & CLOSED != 0 {
                if state & (SCHEDULED | RUNNING) != 0 {
                    core.register(context.waker());
                    // The task may have ended before the registration: look again.
                    state = core.state.load(Ordering::Acquire);
                    if state & (SCHEDULED | RUNNING) != 0 {
                        return Poll::Pending;
                    }
                }
                core.notify(Some(context.waker()));
                return Poll::Ready(None);
            }
            if state & COMPLETED == 0 {
                core.register(context.waker());
                state = core.state.load(Ordering::Acquire);
                if state & CLOSED != 0 {
                    continue;
                }
                if state & COMPLETED == 0 {
                    return Poll::Pending;
                }
            }
            match core.exchange(state, state | CLOSED) {
                Ok(_) => {
                    if state & AWAITER != 0 {
                        core.notify(Some(context.waker()));
                    }
                    let output = self.output.take();
                    return Poll::Ready(Some(output.expect("a completed task has its output")));
                }
                Err(now) => state = now,
            }
        }
    }

    /// Closes the task, unless it is completed. Schedules it once more if needed, so that its
    /// future is dropped.
    pub fn cancel(&mut self) {
        let core = &self.core;
        let idle = |state| state & (SCHEDULED | RUNNING) == 0;
        let closed = core.update_if(
            |state| state & (COMPLETED | CLOSED) == 0,
            |state| {
                if idle(state) { (state | SCHEDULED | CLOSED) + REFERENCE } else { state | CLOSED }
            },
        );
        let Ok(state) = closed else { return };
        if idle(state) {
            References::schedule(References::counted(core), false);
        }
        if state & AWAITER != 0 {
            core.notify(None);
        }
    }

    /// Lets the future run on without this end.
    pub fn detach(mut self) {
        self.detached = true;
    }

    /// Returns `true` if the task is completed or closed. (For a cancelled task, the shipping
    /// version reports whether its future is gone; no model asks that.)
    pub fn is_finished(&self) -> bool {
        self.core.state.load(Ordering::Acquire) & (CLOSED | COMPLETED) != 0
    }

    fn let_go(&mut self) {
        let core = &self.core;
        let fresh = SCHEDULED | TASK | REFERENCE;
        let Err(mut state) = core.exchange(fresh, fresh & !TASK) else { return };
        let mut output = None;
        loop {
            let untaken = state & COMPLETED != 0 && state & CLOSED == 0;
            // No other thread can ever run it.
            let deserted = state < REFERENCE && state & CLOSED == 0;
            let new = match (untaken, deserted) {
                (true, _) => state | CLOSED,
                (false, true) => SCHEDULED | CLOSED | REFERENCE,
                (false, false) => state & !TASK,
            };
            match core.exchange(state, new) {
                Ok(_) if untaken => {
                    output = self.output.take();
                    state = new;
                }
                Ok(_) => {
                    if deserted {
                        References::schedule(References::counted(core), false);
                    }
                    break;
                }
                Err(now) => state = now,
            }
        }
        drop(output);
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if model_has_failed() {
            return std::mem::forget(Arc::clone(&self.core));
        }
        if !self.detached {
            self.cancel();
        }
        self.let_go();
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

/// Creates a task that is scheduled, but not yet passed to `schedule`. The second argument of
/// `schedule` says whether the future was woken while it ran.
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable, bool) + Send + Sync + 'static,
{
    let output = Arc::new(GuardedCell(Mutex::new(None)));
    let future = GuardedCell(Mutex::new(Some(Box::pin(future))));
    let core = Arc::new(TaskCore {
        state: AtomicUsize::new(SCHEDULED | TASK | REFERENCE),
        awaiter: GuardedCell(Mutex::new(None)),
        body: Box::new(TypedBody { future, output: Arc::clone(&output) }),
        schedule: Box::new(schedule),
    });
    let runnable = Runnable(Some(References::counted(&core)));
    (runnable, Task { core, output, detached: false })
}
