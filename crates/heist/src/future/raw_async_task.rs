//! The shipping raw task: `async-task`.

use crate::sync::Mutex;
use async_task::{FallibleTask, ScheduleInfo, WithInfo};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future that is to be polled. Dropping it cancels the task and drops the future, here.
pub type Runnable = async_task::Runnable;

/// The other end. Dropping it cancels, and so does `cancel`.
pub struct Task<T>(State<T>);

enum State<T> {
    Joining(FallibleTask<T>),
    /// An allocation of its own: cancelling is rare, and an output that may not move would pin the handle.
    Cancelled(Box<Mutex<Cancelled<T>>>),
    /// Detached, or in the middle of a change.
    Gone,
}

/// A task that was cancelled. Only a poll tells whether its future is gone, so it is locked for `is_finished`, which
/// has a shared reference.
enum Cancelled<T> {
    Waiting {
        gone: Pin<Box<dyn Future<Output = Option<T>> + Send>>,
        /// The last one that awaited it. A look in between must not put another one in its place.
        waker: Waker,
    },
    Gone(Option<T>),
}

impl<T> Cancelled<T> {
    /// The last one that awaited it, if it is still to be told.
    fn awaiter(&self) -> Option<Waker> {
        match self {
            Self::Waiting { waker, .. } => Some(waker.clone()),
            Self::Gone(_) => None,
        }
    }

    /// Polls it with the waker of the last poll, and returns `true` if the future is gone.
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
    /// The future's output once it has completed; `None` once it was cancelled and is gone.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        match &mut self.0 {
            State::Joining(task) => Pin::new(task).poll(cx),
            State::Cancelled(cancelled) => cancelled.lock().poll(cx),
            State::Gone => Poll::Ready(None),
        }
    }

    /// Cancels the task: its executor drops the future, unless it has completed. `poll` then waits for either.
    pub fn cancel(&mut self) {
        if !matches!(self.0, State::Joining(_)) {
            // Cancelled before: it is still to be waited for.
            return;
        }
        if let State::Joining(task) = std::mem::replace(&mut self.0, State::Gone) {
            let waker = Waker::noop().clone();
            let mut cancelled = Cancelled::Waiting { gone: Box::pin(task.cancel()), waker };
            // It cancels when it is polled for the first time.
            cancelled.poll_gone();
            self.0 = State::Cancelled(Box::new(Mutex::new(cancelled)));
        }
    }
}

impl<T> Task<T> {
    /// Lets the future go on by itself.
    pub fn detach(self) {
        if let State::Joining(task) = self.0 {
            task.detach();
        }
    }

    /// Whether the future is gone.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            State::Joining(task) => task.is_finished(),
            State::Cancelled(cancelled) => {
                let mut cancelled = cancelled.lock();
                let awaiter = cancelled.awaiter();
                let is_gone = cancelled.poll_gone();
                drop(cancelled);
                // A poll that finds the future gone takes the registered waker for its own and drops it. Here another
                // thread may be waiting for it.
                if let Some(awaiter) = awaiter.filter(|_| is_gone) {
                    awaiter.wake();
                }
                is_gone
            }
            State::Gone => true,
        }
    }
}

/// Makes a task of a future. `schedule` is called with the future whenever it is to be polled, and told whether it
/// was woken while it ran.
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable, bool) + Send + Sync + 'static,
{
    let schedule = move |runnable, info: ScheduleInfo| schedule(runnable, info.woken_while_running);
    let (runnable, task) = async_task::spawn(future, WithInfo(schedule));
    (runnable, Task(State::Joining(task.fallible())))
}
