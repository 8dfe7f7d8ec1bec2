//! The shipping raw task: `async-task`.

use crate::sync::Mutex;
use async_task::{FallibleTask, ScheduleInfo, WithInfo};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The right to poll a future. Dropping it cancels the task and drops the future on this thread.
pub type Runnable = async_task::Runnable;

/// The end that awaits the future. Dropping it cancels the task, and so does `cancel`.
pub struct Task<T>(JoinState<T>);

enum JoinState<T> {
    Joining(FallibleTask<T>),
    /// In a separate allocation: cancelling is rare, and the handle must stay movable.
    Cancelled(Box<Mutex<Cancelled<T>>>),
    /// Detached, or in the middle of a transition.
    Gone,
}

/// A task that was cancelled. Only a poll shows whether its future is gone, so `is_finished`, which
/// has a shared reference, needs a lock.
enum Cancelled<T> {
    Waiting {
        gone: Pin<Box<dyn Future<Output = Option<T>> + Send>>,
        /// The waker of the last poll. A call of `is_finished` in between must not replace it.
        waker: Waker,
    },
    Gone(Option<T>),
}

impl<T> Cancelled<T> {
    /// Returns the waker of the last poll, if the future is not known to be gone.
    fn awaiter(&self) -> Option<Waker> {
        match self {
            Self::Waiting { waker, .. } => Some(waker.clone()),
            Self::Gone(_) => None,
        }
    }

    /// Polls with the waker of the last poll. Returns `true` if the future is gone.
    fn poll_gone(&mut self) -> bool {
        if let Self::Waiting { gone, waker } = self
            && let Poll::Ready(output) = gone.as_mut().poll(&mut Context::from_waker(waker))
        {
            *self = Self::Gone(output);
        }
        matches!(self, Self::Gone(_))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Self::Waiting { waker, .. } = self {
            waker.clone_from(cx.waker());
        }
        self.poll_gone();
        match self {
            Self::Gone(output) => Poll::Ready(output.take()),
            Self::Waiting { .. } => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

impl<T: Send + 'static> Task<T> {
    /// Returns the future's output once it has completed, or `None` once it was cancelled and is
    /// gone.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        match &mut self.0 {
            JoinState::Joining(task) => Pin::new(task).poll(cx),
            JoinState::Cancelled(cancelled) => cancelled.lock().poll(cx),
            JoinState::Gone => Poll::Ready(None),
        }
    }

    /// Cancels the task: its executor drops the future, unless it has completed. `poll` then waits
    /// until one of the two has happened.
    pub fn cancel(&mut self) {
        if !matches!(self.0, JoinState::Joining(_)) {
            // Already cancelled: `poll` still has to wait for it.
            return;
        }
        if let JoinState::Joining(task) = std::mem::replace(&mut self.0, JoinState::Gone) {
            let waker = Waker::noop().clone();
            let mut cancelled = Cancelled::Waiting { gone: Box::pin(task.cancel()), waker };
            // The first poll does the cancelling.
            cancelled.poll_gone();
            self.0 = JoinState::Cancelled(Box::new(Mutex::new(cancelled)));
        }
    }
}

impl<T> Task<T> {
    /// Lets the future run on without this end.
    pub fn detach(self) {
        if let JoinState::Joining(task) = self.0 {
            task.detach();
        }
    }

    /// Returns `true` if the future is gone.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            JoinState::Joining(task) => task.is_finished(),
            JoinState::Cancelled(cancelled) => {
                let mut cancelled = cancelled.lock();
                let awaiter = cancelled.awaiter();
                let is_gone = cancelled.poll_gone();
                drop(cancelled);
                // A poll that finds the future gone assumes that the registered waker is its own,
                // and drops it. Here another thread may be waiting for it.
                if let Some(awaiter) = awaiter.filter(|_| is_gone) {
                    awaiter.wake();
                }
                is_gone
            }
            JoinState::Gone => true,
        }
    }
}

/// Creates a task from a future. The raw task calls `schedule` whenever the future must be polled;
/// its second argument says whether the future was woken while it ran.
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable, bool) + Send + Sync + 'static,
{
    let schedule = move |runnable, info: ScheduleInfo| schedule(runnable, info.woken_while_running);
    let (runnable, task) = async_task::spawn(future, WithInfo(schedule));
    (runnable, Task(JoinState::Joining(task.fallible())))
}
