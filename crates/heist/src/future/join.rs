//! The handle that awaits a future, and its errors.

use super::abort::{AbortHandle, JoinTask, TaskEnd};
use super::coop;
use super::counted::Ended;
use super::raw::Task;
use crate::executor::{SpawnErrorKind, panic_message};
use crate::sync::Mutex;
use std::any::Any;
use std::error::Error;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::{fmt, io};

/// Awaits a spawned future.
///
/// Dropping the handle lets the future go on by itself, as [`JoinHandle::detach`] does.
/// [`JoinHandle::abort`] ends the future; an [`AbortHandle`] does so from elsewhere.
///
/// The handle returns the result once, and panics if it is polled again after that. Code that may
/// do so, such as a `select!` in a loop, wraps it in a fused future.
///
/// # Examples
///
/// ```
/// use futures_lite::future::block_on; // or that of any runtime
///
/// let executor = heist::Executor::builder().build(|_worker| (), |_task: (), _ctx| ())?;
/// let answer = executor.handle().spawn_future(async { 6 * 7 })?;
/// assert_eq!(block_on(answer)?, 42);
///
/// let endless = executor.handle().spawn_future(std::future::pending::<()>())?;
/// endless.abort();
/// assert!(matches!(block_on(endless), Err(heist::JoinError::Aborted)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JoinHandle<T: Send + 'static> {
    /// In a lock, because `abort` and `abort_handle` take `&self` and may move the task. Polls have
    /// `&mut self` and do not lock it.
    joined: Mutex<Joined<T>>,
}

/// What a join handle waits for.
enum Joined<T: Send + 'static> {
    Future(JoinTask<Ended<T>>),
    /// A blocking call, which may end with the error of a system that refused a thread for it.
    BlockingCall(JoinTask<Ended<Result<T, io::Error>>>),
    Refused(SpawnErrorKind),
    /// The result was taken.
    Gone,
}

impl<T: Send + 'static> JoinHandle<T> {
    fn of(joined: Joined<T>) -> Self {
        Self { joined: Mutex::new(joined) }
    }

    #[inline]
    pub(crate) fn new(task: Task<Ended<T>>) -> Self {
        Self::of(Joined::Future(JoinTask::new(task)))
    }

    /// The handle of a future that was refused.
    pub(crate) fn refused(kind: SpawnErrorKind) -> Self {
        Self::of(Joined::Refused(kind))
    }

    /// The handle of a blocking call.
    pub(crate) fn of_call(task: Task<Ended<Result<T, io::Error>>>) -> Self {
        Self::of(Joined::BlockingCall(JoinTask::new(task)))
    }

    /// Ends the future: a worker drops it before its next poll. Does nothing if the future has
    /// completed.
    ///
    /// Awaiting the handle afterwards waits until the future is gone. The result tells which of the
    /// two happened: [`JoinError::Aborted`], or the output.
    pub fn abort(&self) {
        self.abort_handle().abort();
    }

    /// Returns a handle that aborts this future from elsewhere, for example while this one is being
    /// awaited.
    pub fn abort_handle(&self) -> AbortHandle {
        match &mut *self.joined.lock() {
            Joined::Future(task) => AbortHandle::new(task.share()),
            Joined::BlockingCall(task) => AbortHandle::new(task.share()),
            Joined::Refused(_) | Joined::Gone => AbortHandle::of_nothing(),
        }
    }

    /// Returns `true` if the future has ended, so that awaiting the handle takes no time: the
    /// future has completed or panicked, or it was aborted or its executor stopped, and a worker
    /// has dropped it.
    pub fn is_finished(&self) -> bool {
        match &*self.joined.lock() {
            Joined::Future(task) => task.is_finished(),
            Joined::BlockingCall(task) => task.is_finished(),
            Joined::Refused(_) | Joined::Gone => true,
        }
    }

    /// Polls the handle without spending the cooperative budget.
    pub(crate) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let panicked = |payload| JoinError::Panicked(PanicPayload::new(payload));
        let dropped = |aborted| if aborted { JoinError::Aborted } else { JoinError::Stopped };
        let joined = self.joined.get_mut();
        let result = match joined {
            Joined::Future(task) => {
                let TaskEnd { output, aborted } = ready!(task.poll(cx));
                match output {
                    Some(ended) => ended.into_result().map_err(panicked),
                    None => Err(dropped(aborted)),
                }
            }
            Joined::BlockingCall(task) => {
                let TaskEnd { output, aborted } = ready!(task.poll(cx));
                match output.map(Ended::into_result) {
                    Some(Ok(made)) => made.map_err(JoinError::NoThread),
                    Some(Err(payload)) => Err(panicked(payload)),
                    None => Err(dropped(aborted)),
                }
            }
            Joined::Refused(kind) => Err(JoinError::Refused(*kind)),
            Joined::Gone => {
                panic!("a JoinHandle was polled again after it had returned its result")
            }
        };
        *joined = Joined::Gone;
        Poll::Ready(result)
    }

    /// Ends the future, as [`JoinHandle::abort`] does, and does not wait for its end.
    pub(crate) fn abort_and_detach(mut self) {
        match std::mem::replace(self.joined.get_mut(), Joined::Gone) {
            Joined::Future(task) => task.cancel(),
            Joined::BlockingCall(task) => task.cancel(),
            Joined::Refused(_) | Joined::Gone => {}
        }
    }

    /// Lets the future go on by itself. Its output is dropped when it completes.
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

impl<T: Send + 'static> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// The reason why a future has no output.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was aborted: by its [`JoinHandle`], an [`AbortHandle`] or its group.
    Aborted,
    /// Its executor was shut down, cancelled or stopped by a panic, and dropped it.
    Stopped,
    /// Its executor refused it when it was spawned.
    Refused(SpawnErrorKind),
    /// It is a blocking call, and the system refused to start a thread for it. The call was not
    /// made.
    NoThread(io::Error),
    /// It panicked.
    Panicked(PanicPayload),
}

impl JoinError {
    /// Returns `true` if the future panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }

    /// Continues the future's panic on this thread; returns the error if it is not a panic.
    #[must_use = "this returns the error if it is not a panic"]
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

/// The payload of a future's or task's panic.
pub struct PanicPayload {
    message: String,
    /// In a lock, so that the error may be shared between threads, as errors are.
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl PanicPayload {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self { message: panic_message(&*payload), payload: Mutex::new(Some(payload)) }
    }

    /// Returns the panic's message. Nearly every panic has one; otherwise this is a placeholder.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the payload, for [`std::panic::resume_unwind`].
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.payload.lock().take().expect("only this takes it")
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PanicPayload").field(&self.message).finish()
    }
}
