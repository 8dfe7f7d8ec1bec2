//! The modelled raw task: async-task's state machine over the atomics of the model checker or simulator.
//!
//! One word has the flags and the references, and is changed by the same read-modify-writes in the same order as in
//! `async-task` 4.7, so that a checker sees the edges that the real one has. The future, its output and the awaiter's
//! waker are not modelled: the word decides who may touch them, and a second owner panics.
//!
//! It differs where it has to without unsafe code, and where it may:
//! - A [`Waker`] is cloned by the standard library, unseen. So the word counts lots of references, not references: all
//!   that come from one [`Runnable`] are one lot, which ends with the last of them. Clones and the drops that are not
//!   the last order nothing here, where the real ones do; nothing is ordered here that the real one leaves unordered.
//! - A destructor or a waker that panics aborts the real process. Here it unwinds: checkers report by panics. What a
//!   failed model of loom's leaves behind is leaked.
//!
//! What it does *not* improve on: a detached future that waits and has kept no waker is forgotten, never dropped, as
//! in the real one. Who needs its end has to hold a waker while it runs.

use crate::sync::plant::{self, Plant, planted};
use crate::sync::{AtomicUsize, Ordering};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A [`Runnable`] exists, or will when the poll that goes on has ended.
const SCHEDULED: usize = 1 << 0;
/// The future is being polled.
const RUNNING: usize = 1 << 1;
/// The output is there, or was.
const COMPLETED: usize = 1 << 2;
/// Cancelled, panicked, or the output was taken.
const CLOSED: usize = 1 << 3;
/// The [`Task`] exists.
const TASK: usize = 1 << 4;
/// Somebody waits for the task's end.
const AWAITER: usize = 1 << 5;
/// The awaiter's waker is being written.
const REGISTERING: usize = 1 << 6;
/// The awaiter's waker is being taken.
const NOTIFYING: usize = 1 << 7;
/// One lot of references; the bits above count them.
const REFERENCE: usize = 1 << 8;

/// What a thread has left behind that panicked.
type Panic = Box<dyn Any + Send>;

/// Something that the state word protects. Its lock is never contended and never held while other code runs.
struct Cell<T>(Mutex<Option<T>>);

impl<T> Cell<T> {
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

/// The future and its output, whatever their types are.
trait Body: Send + Sync {
    /// Polls the future. When it is ready, drops it and leaves the output.
    fn poll(&self, context: &mut Context<'_>) -> Result<Poll<()>, Panic>;
    fn drop_future(&self);
    fn forget_future(&self);
    fn drop_output(&self);
}

struct TypedBody<F: Future> {
    future: Cell<Pin<Box<F>>>,
    output: Arc<Cell<F::Output>>,
}

impl<F: Future> TypedBody<F> {
    fn take_future(&self) -> Pin<Box<F>> {
        self.future.take().expect("whoever the state word lets in owns the future")
    }
}

impl<F> Body for TypedBody<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn poll(&self, context: &mut Context<'_>) -> Result<Poll<()>, Panic> {
        // Out of its cell: no lock is held while the future runs.
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

/// What the references and the [`Task`] share.
struct Core {
    state: AtomicUsize,
    awaiter: Cell<Waker>,
    body: Box<dyn Body>,
    schedule: Box<dyn Fn(Runnable, bool) + Send + Sync>,
}

impl Core {
    /// Changes the word as `change` says while `may` holds, by a compare-and-swap loop. Returns what it held before, or
    /// what it holds instead.
    fn update_if(
        &self,
        may: impl Fn(usize) -> bool,
        change: impl Fn(usize) -> usize,
    ) -> Result<usize, usize> {
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            may(state).then(|| change(state))
        })
    }

    /// Takes the awaiter's waker, unless it is the one of `current`.
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

    /// Makes `waker` the awaiter's.
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
        // Set if a notification came in meanwhile: it has left the waking to us.
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

    /// The end of a run: gives its reference back, then tells the awaiter. `state` is the word before the last change.
    fn end_run(&self, state: usize, references: Arc<References>) {
        let awaiter = (state & AWAITER != 0).then(|| self.take_awaiter(None)).flatten();
        References::give_back(references);
        if let Some(waker) = awaiter {
            waker.wake();
        }
    }

    /// The future has returned its output. `state` is the word that the poll began with.
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

    /// The future waits. Says whether it was woken while it ran, and is therefore scheduled.
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

    /// The future has panicked.
    fn close_after_panic(&self, references: Arc<References>) {
        let closed = self.update_if(
            |state| state & CLOSED == 0,
            |state| (state & !RUNNING & !SCHEDULED) | CLOSED,
        );
        self.body.drop_future();
        if closed.is_err() {
            self.state.fetch_and(!RUNNING & !SCHEDULED, Ordering::AcqRel);
        }
        // As in the real one, an awaiter that has registered since that look is not told, if it was closed before.
        let (Ok(state) | Err(state)) = closed;
        self.end_run(state, references);
    }
}

/// Whether a model has failed and its threads are being unwound. Its atomics are gone then, and a `drop` that uses them
/// would end the process before the failure is told. (So models do not drop tasks while they unwind for other reasons.)
fn model_has_failed() -> bool {
    cfg!(heist_loom) && std::thread::panicking()
}

/// A lot of references: one [`Runnable`] at most, and wakers.
struct References {
    core: Arc<Core>,
    /// The last of them was a [`Runnable`].
    runnable_was_last: bool,
}

impl References {
    /// A lot that the word counts already.
    fn counted(core: &Arc<Core>) -> Arc<Self> {
        Arc::new(Self { core: Arc::clone(core), runnable_was_last: false })
    }

    /// Gives back the reference of a [`Runnable`].
    fn give_back(references: Arc<Self>) {
        if let Some(mut references) = Arc::into_inner(references) {
            references.runnable_was_last = true;
        }
    }

    /// Hands the task to its schedule function. The word says SCHEDULED already.
    fn schedule(references: Arc<Self>, woken_while_running: bool) {
        // As in the real one, a reference is held over the call. It can turn out to be the last.
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
            // Nobody can ever wake it, and the real one does not notice.
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
        // That it is scheduled already is written all the same: whoever runs it next must see what the waker saw.
        let writes = |state| state & SCHEDULED == 0 || !planted(Plant::WakeOfQueuedWritesNothing);
        let may = |state| state & (COMPLETED | CLOSED) == 0 && writes(state);
        let woken = self.core.update_if(may, |state| state | SCHEDULED);
        let queued = plant::pick!(WakeQueuesWhatRuns => SCHEDULED, _ => SCHEDULED | RUNNING);
        if woken.is_ok_and(|state| state & queued == 0) {
            (self.core.schedule)(Runnable(Some(Arc::clone(self))), false);
        }
    }
}

/// A future that is to be polled. Dropping it cancels the task and drops the future, here.
pub struct Runnable(Option<Arc<References>>);

impl Runnable {
    /// Polls once; says whether it was woken while it ran, and was therefore scheduled again.
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

    /// A waker of the task.
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
        // Who finds it closed already drops the future all the same.
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

/// The other end. Dropping it cancels; so does [`Task::cancel`].
#[must_use = "dropping it cancels the task"]
pub struct Task<T> {
    core: Arc<Core>,
    output: Arc<Cell<T>>,
    detached: bool,
}

impl<T> Task<T> {
    /// The output, or `None` if the task was cancelled and the future is gone.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let core = &*self.core;
        let mut state = core.state.load(Ordering::Acquire);
        loop {
            if state & CLOSED != 0 {
                if state & (SCHEDULED | RUNNING) != 0 {
                    core.register(context.waker());
                    // Registering may have come too late for the end: look again.
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

    /// Closes the task, unless it is completed, and schedules it once more if need be, so that its future is dropped.
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

    /// Lets the task go on without this end.
    pub fn detach(mut self) {
        self.detached = true;
    }

    /// Whether the task is completed or closed. (Of one that was cancelled, the shipping task says whether its future
    /// is gone; no model asks that.)
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
            // Nobody else can ever run it.
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

/// A task that is scheduled, but not yet handed to `schedule`. Whether it was woken while it ran is the second
/// argument of that.
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable, bool) + Send + Sync + 'static,
{
    let output = Arc::new(Cell(Mutex::new(None)));
    let future = Cell(Mutex::new(Some(Box::pin(future))));
    let core = Arc::new(Core {
        state: AtomicUsize::new(SCHEDULED | TASK | REFERENCE),
        awaiter: Cell(Mutex::new(None)),
        body: Box::new(TypedBody { future, output: Arc::clone(&output) }),
        schedule: Box::new(schedule),
    });
    let runnable = Runnable(Some(References::counted(&core)));
    (runnable, Task { core, output, detached: false })
}
