//! The handle that awaits a future, or aborts it.

use super::coop;
use super::counted::Ended;
use super::raw::Task;
use crate::executor::{SpawnErrorKind, panic_message};
use crate::sync::Mutex;
use crate::sync::plant::{Plant, planted};
use std::any::Any;
use std::error::Error;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::{fmt, io};

/// Awaits a spawned future.
///
/// Dropping it lets the future go on by itself, as [`JoinHandle::detach`] does; [`JoinHandle::abort`] ends it.
///
/// It returns the result once: polling it again after that panics. Code that may do so, such as a `select!` in a loop,
/// asks a fused future instead.
///
/// ```
/// use futures_lite::future::block_on; // or that of any runtime
///
/// let executor = heist::Executor::builder().build(|_worker| (), |_task: (), _ctx| ())?;
/// let answer = executor.handle().spawn_future(async { 6 * 7 })?;
/// assert_eq!(block_on(answer)?, 42);
///
/// let mut endless = executor.handle().spawn_future(std::future::pending::<()>())?;
/// endless.abort();
/// assert!(matches!(block_on(endless), Err(heist::JoinError::Aborted)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JoinHandle<T: Send + 'static> {
    state: State<T>,
    aborted: bool,
}

enum State<T: Send + 'static> {
    Spawned(Task<Ended<T>>),
    /// It is a blocking call, which may end with what the system said when it refused a thread for it.
    Called(Task<Ended<Result<T, io::Error>>>),
    Refused(SpawnErrorKind),
    /// Detached, or awaited to the end.
    Gone,
}

impl<T: Send + 'static> JoinHandle<T> {
    pub(crate) fn new(task: Task<Ended<T>>) -> Self {
        Self { state: State::Spawned(task), aborted: false }
    }

    /// The handle of a future that was refused.
    pub(crate) fn refused(kind: SpawnErrorKind) -> Self {
        Self { state: State::Refused(kind), aborted: false }
    }

    /// The handle of a blocking call.
    pub(crate) fn of_call(task: Task<Ended<Result<T, io::Error>>>) -> Self {
        Self { state: State::Called(task), aborted: false }
    }

    /// Ends the future: it is dropped on a worker, before its next poll. Nothing, if it has completed. Awaiting the
    /// handle then waits until the future is gone, and says which of the two it was.
    pub fn abort(&mut self) {
        match &mut self.state {
            State::Spawned(_) if planted(Plant::AbortForgotten) => {}
            State::Spawned(task) => task.cancel(),
            State::Called(task) => task.cancel(),
            State::Refused(_) | State::Gone => return,
        }
        self.aborted = true;
    }

    /// Returns `true` if the future has ended, so that awaiting the handle takes no time: the future has completed or
    /// panicked, or it was aborted or its executor stopped and a worker has dropped it.
    pub fn is_finished(&self) -> bool {
        match &self.state {
            State::Spawned(task) => task.is_finished(),
            State::Called(task) => task.is_finished(),
            State::Refused(_) | State::Gone => true,
        }
    }

    /// Polls it without asking the budget.
    pub(crate) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let panicked = |payload| JoinError::Panicked(PanicPayload::new(payload));
        let ended = match &mut self.state {
            State::Spawned(_) if self.aborted && planted(Plant::AbortDoesNotWait) => None,
            State::Spawned(task) => {
                ready!(task.poll(cx)).map(|ended| ended.into_result().map_err(panicked))
            }
            State::Called(task) => ready!(task.poll(cx)).map(|ended| match ended.into_result() {
                Ok(made) => made.map_err(JoinError::NoThread),
                Err(payload) => Err(panicked(payload)),
            }),
            State::Refused(kind) => Some(Err(JoinError::Refused(*kind))),
            State::Gone => {
                panic!("a JoinHandle was polled again after it had returned its result")
            }
        };
        self.state = State::Gone;
        let dropped = if self.aborted { JoinError::Aborted } else { JoinError::Stopped };
        Poll::Ready(ended.unwrap_or(Err(dropped)))
    }

    /// Ends the future, as [`JoinHandle::abort`] does, and does not wait for it.
    pub(crate) fn abort_and_detach(mut self) {
        // A raw task that is dropped is cancelled.
        drop(std::mem::replace(&mut self.state, State::Gone));
    }

    /// Lets the future go on by itself. Its output is dropped when it comes.
    pub fn detach(self) {
        drop(self);
    }
}

impl<T: Send + 'static> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        coop::poll_counted(cx, |cx| self.poll_ended(cx))
    }
}

impl<T: Send + 'static> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, State::Gone) {
            State::Spawned(task) if planted(Plant::DetachAborts) => drop(task),
            State::Spawned(task) => task.detach(),
            State::Called(task) => task.detach(),
            State::Refused(_) | State::Gone => {}
        }
    }
}

impl<T: Send + 'static> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// Why a future has no output.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was aborted by its [`JoinHandle`].
    Aborted,
    /// Its executor was shut down, cancelled or stopped by a panic, and dropped it.
    Stopped,
    /// Its executor took no more when it was spawned.
    Refused(SpawnErrorKind),
    /// It is a blocking call for which there is no thread, because the system refuses one. It was not begun.
    NoThread(io::Error),
    /// It panicked.
    Panicked(PanicPayload),
}

impl JoinError {
    /// Whether the future panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }

    /// Goes on with the future's panic on this thread, if it was one; else gives the error back.
    #[must_use = "it is the error, if that was no panic"]
    pub fn resume_panic(self) -> Self {
        match self {
            Self::Panicked(payload) => resume_unwind(payload.into_inner()),
            other => other,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted => f.write_str("the future was aborted"),
            Self::Stopped => f.write_str("the executor was stopped and dropped the future"),
            Self::Refused(kind) => write!(f, "the future was refused: {kind}"),
            Self::NoThread(source) => write!(
                f,
                "no thread could be started for the blocking call: {source}; raise the limit on threads, or use a \
                 smaller `stack_size`"
            ),
            Self::Panicked(payload) => write!(f, "the future panicked: {}", payload.message),
        }
    }
}

impl Error for JoinError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused(kind) => Some(kind),
            Self::NoThread(source) => Some(source),
            Self::Aborted | Self::Stopped | Self::Panicked(_) => None,
        }
    }
}

/// What a future or a task panicked with.
pub struct PanicPayload {
    message: String,
    /// In a lock, so that the error may be shared between threads, as errors are.
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl PanicPayload {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self { message: panic_message(&*payload), payload: Mutex::new(Some(payload)) }
    }

    /// The message, if it was a string, as it nearly always is.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The payload, for [`std::panic::resume_unwind`].
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.payload.lock().take().expect("only this takes it")
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PanicPayload").field(&self.message).finish()
    }
}
