//! Aborting a future by its [`JoinHandle`](super::JoinHandle), or by an [`AbortHandle`] from
//! anywhere else.
//!
//! A raw [`Task`] has one owner, who polls it, cancels it or detaches it. The first call of
//! `JoinHandle::abort` or `abort_handle` moves it into a [`SharedTask`], which the join handle and
//! all abort handles own together. A future that is never aborted does not pay for this.
//!
//! Invariants of a shared task:
//! - Cancelling a task wakes whatever awaits it, and a waker is the caller's code. So a thread
//!   takes the task out of the lock before it cancels it, and puts it back afterwards. A poll that
//!   finds the task out leaves its waker, and the thread that puts the task back wakes it.
//! - Cancelling makes the raw task forget the waker that was registered with it. So each poll
//!   leaves a copy here, and an abort wakes it: the awaiting future polls again and registers anew.
//! - The last owner detaches the task. Only an abort cancels it.

use super::raw::Task;
use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, Mutex};
use std::fmt;
use std::task::{Context, Poll, Waker};

/// A raw task that is detached when it is dropped: dropping the raw one cancels it.
pub(super) struct DetachOnDrop<T: Send + 'static>(Option<Task<T>>);

impl<T: Send + 'static> DetachOnDrop<T> {
    fn task(&mut self) -> &mut Task<T> {
        self.0.as_mut().expect("there until it is dropped")
    }

    /// Cancels the task, and does not wait for its end.
    fn cancel(mut self) {
        drop(self.0.take());
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        match self.0.take() {
            Some(task) if planted(Plant::DetachAborts) => drop(task),
            Some(task) => task.detach(),
            None => {}
        }
    }
}

/// The task of a join handle.
pub(super) enum JoinTask<T: Send + 'static> {
    /// Nothing else can reach it.
    Own(DetachOnDrop<T>),
    Shared(Arc<SharedTask<T>>),
    /// Its result was taken, or it is about to be shared.
    Gone,
}

/// What the poll of a task came to: its output, or `None` if it was dropped unfinished.
pub(super) struct TaskEnd<T> {
    pub(super) output: Option<T>,
    pub(super) aborted: bool,
}

impl<T: Send + 'static> JoinTask<T> {
    pub(super) fn new(task: Task<T>) -> Self {
        Self::Own(DetachOnDrop(Some(task)))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<TaskEnd<T>> {
        match self {
            Self::Own(task) => {
                task.task().poll(cx).map(|output| TaskEnd { output, aborted: false })
            }
            Self::Shared(task) => task.poll(cx),
            Self::Gone => panic!("the task of a join handle is not polled after its end"),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Own(task) => task.0.as_ref().is_none_or(Task::is_finished),
            Self::Shared(task) => task.is_finished(),
            Self::Gone => true,
        }
    }

    /// Makes the task reachable from elsewhere.
    pub(super) fn share(&mut self) -> Option<Arc<SharedTask<T>>> {
        if let Self::Own(_) = self
            && let Self::Own(task) = std::mem::replace(self, Self::Gone)
        {
            *self = Self::Shared(Arc::new(SharedTask::new(task)));
        }
        match self {
            Self::Shared(task) => Some(Arc::clone(task)),
            Self::Own(_) | Self::Gone => None,
        }
    }

    /// Cancels the task, and does not wait for its end.
    pub(super) fn cancel(self) {
        match self {
            Self::Own(task) => task.cancel(),
            Self::Shared(task) => task.abort(),
            Self::Gone => {}
        }
    }
}

/// Where a shared task is.
enum TaskPlace<T: Send + 'static> {
    Here(DetachOnDrop<T>),
    /// A thread has taken it out, to put it back.
    Out,
    /// Its result was taken.
    Ended,
}

struct SharedTaskState<T: Send + 'static> {
    place: TaskPlace<T>,
    aborted: bool,
    /// The waker of the last poll that found the task unfinished.
    awaiter: Option<Waker>,
    /// A poll has come while the task was out.
    poll_missed: bool,
}

/// A task that a join handle and abort handles share. See the module.
pub(super) struct SharedTask<T: Send + 'static>(Mutex<SharedTaskState<T>>);

impl<T: Send + 'static> SharedTask<T> {
    fn new(task: DetachOnDrop<T>) -> Self {
        Self(Mutex::new(SharedTaskState {
            place: TaskPlace::Here(task),
            aborted: false,
            awaiter: None,
            poll_missed: false,
        }))
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<TaskEnd<T>> {
        let mut state = self.0.lock();
        let aborted = state.aborted;
        let polled = match &mut state.place {
            TaskPlace::Here(_) if aborted && planted(Plant::AbortDoesNotWait) => Poll::Ready(None),
            TaskPlace::Here(task) => task.task().poll(cx),
            TaskPlace::Out => {
                state.poll_missed = true;
                Poll::Pending
            }
            TaskPlace::Ended => panic!("a shared task is not polled after its end"),
        };
        // What is replaced is dropped without the lock: a waker's drop may be the end of its
        // future.
        let (_place, _awaiter);
        match polled {
            Poll::Ready(output) => {
                _place = std::mem::replace(&mut state.place, TaskPlace::Ended);
                _awaiter = state.awaiter.take();
                drop(state);
                Poll::Ready(TaskEnd { output, aborted })
            }
            Poll::Pending => {
                if !state.awaiter.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    _awaiter = state.awaiter.replace(cx.waker().clone());
                }
                drop(state);
                Poll::Pending
            }
        }
    }

    /// Cancels the task, unless it was aborted before or has ended.
    pub(super) fn abort(&self) {
        let mut task = {
            let mut state = self.0.lock();
            if state.aborted || !matches!(state.place, TaskPlace::Here(_)) {
                return;
            }
            state.aborted = true;
            match std::mem::replace(&mut state.place, TaskPlace::Out) {
                TaskPlace::Here(task) => task,
                TaskPlace::Out | TaskPlace::Ended => return,
            }
        };
        if !planted(Plant::AbortForgotten) {
            task.task().cancel();
        }
        self.put_back(task, true);
    }

    fn put_back(&self, task: DetachOnDrop<T>, wakes: bool) {
        let awaiter = {
            let mut state = self.0.lock();
            state.place = TaskPlace::Here(task);
            let missed = std::mem::take(&mut state.poll_missed);
            if wakes || missed { state.awaiter.take() } else { None }
        };
        if let Some(awaiter) = awaiter {
            awaiter.wake();
        }
    }

    fn is_finished(&self) -> bool {
        let mut task = {
            let mut state = self.0.lock();
            let aborted = state.aborted;
            match &mut state.place {
                // A look at a flag. Once it is aborted, it is a poll, which may wake the awaiter.
                TaskPlace::Here(task) if !aborted => return task.task().is_finished(),
                TaskPlace::Here(_) => {}
                TaskPlace::Out => return false,
                TaskPlace::Ended => return true,
            }
            match std::mem::replace(&mut state.place, TaskPlace::Out) {
                TaskPlace::Here(task) => task,
                TaskPlace::Out | TaskPlace::Ended => return false,
            }
        };
        let is_finished = task.task().is_finished();
        self.put_back(task, false);
        is_finished
    }
}

/// A shared task, whatever its output is.
trait AnySharedTask: Send + Sync {
    fn abort(&self);
    fn is_finished(&self) -> bool;
    fn clone_boxed(&self) -> Box<dyn AnySharedTask>;
}

impl<T: Send + 'static> AnySharedTask for Arc<SharedTask<T>> {
    fn abort(&self) {
        SharedTask::abort(self);
    }

    fn is_finished(&self) -> bool {
        SharedTask::is_finished(self)
    }

    fn clone_boxed(&self) -> Box<dyn AnySharedTask> {
        Box::new(Self::clone(self))
    }
}

/// Aborts a spawned future from anywhere: from another thread or future, also while its
/// [`JoinHandle`](super::JoinHandle) is being awaited, and after that was dropped.
///
/// [`JoinHandle::abort_handle`](super::JoinHandle::abort_handle) makes one. Clones abort the same
/// future. Dropping an abort handle changes nothing.
///
/// ```
/// use futures_lite::future::block_on; // or that of any runtime
///
/// let executor = heist::Executor::builder().build(|_worker| (), |_task: (), _ctx| ())?;
/// let endless = executor.handle().spawn_future(std::future::pending::<()>())?;
/// let abort = endless.abort_handle();
/// std::thread::spawn(move || abort.abort());
/// assert!(matches!(block_on(endless), Err(heist::JoinError::Aborted)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AbortHandle(Option<Box<dyn AnySharedTask>>);

impl AbortHandle {
    pub(super) fn new<T: Send + 'static>(task: Option<Arc<SharedTask<T>>>) -> Self {
        Self(task.map(|task| Box::new(task) as Box<dyn AnySharedTask>))
    }

    /// The handle of a future that was refused, or that has ended.
    pub(crate) fn of_nothing() -> Self {
        Self(None)
    }

    /// Aborts the future. See [`JoinHandle::abort`](super::JoinHandle::abort).
    pub fn abort(&self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }

    /// Returns `true` if the future has ended. See
    /// [`JoinHandle::is_finished`](super::JoinHandle::is_finished).
    pub fn is_finished(&self) -> bool {
        self.0.as_ref().is_none_or(|task| task.is_finished())
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        Self(self.0.as_ref().map(|task| task.clone_boxed()))
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("finished", &self.is_finished()).finish()
    }
}
