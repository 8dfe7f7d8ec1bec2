//! The shipping raw task: `async-task`.

use async_task::{FallibleTask, ScheduleInfo, WithInfo};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future that is to be polled. Dropping it cancels the task and drops the future, here.
pub type Runnable = async_task::Runnable;

type Cancelling<T> = Pin<Box<dyn Future<Output = Option<T>> + Send>>;

/// The other end. Dropping it cancels, and so does `cancel`.
pub struct Task<T>(State<T>);

enum State<T> {
    Joining(FallibleTask<T>),
    /// An allocation of its own: cancelling is rare, and its future has no name.
    Cancelling(Cancelling<T>),
    /// It had ended by the time that it was cancelled. (Boxed: an output that may not move would pin the handle.)
    Ended(Box<Option<T>>),
    /// Detached, or in the middle of a change.
    Gone,
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
            State::Cancelling(cancelled) => cancelled.as_mut().poll(cx),
            State::Ended(output) => Poll::Ready(output.take()),
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
            let mut cancelled: Cancelling<T> = Box::pin(task.cancel());
            // It cancels when it is polled for the first time.
            let polled = cancelled.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            self.0 = match polled {
                Poll::Pending => State::Cancelling(cancelled),
                Poll::Ready(output) => State::Ended(Box::new(output)),
            };
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
            State::Cancelling(_) => false,
            State::Ended(_) | State::Gone => true,
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
