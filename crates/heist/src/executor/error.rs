//! The errors of executors.

use crate::future::PanicPayload;
use crate::sync::Unshared;
use std::any::Any;
use std::error::Error;
use std::{fmt, io};

/// A field of a configuration has an unusable value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The thing that is configured.
    subject: &'static str,
    field: &'static str,
    problem: String,
}

impl ConfigError {
    pub(super) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self::of("executor", field, problem)
    }

    /// Creates an error about the configuration of `subject`.
    pub(crate) fn of(
        subject: &'static str,
        field: &'static str,
        problem: impl Into<String>,
    ) -> Self {
        Self { subject, field, problem: problem.into() }
    }

    /// Changes the subject, for the configuration of something that contains an executor.
    pub(crate) fn about(self, subject: &'static str) -> Self {
        Self { subject, ..self }
    }

    /// Returns the field's name.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} configuration: `{}` {}", self.subject, self.field, self.problem)
    }
}

impl Error for ConfigError {}

/// The reason why an executor or a runtime could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A field of the configuration has an unusable value.
    Config(ConfigError),
    /// The system refused a worker thread. The workers that had started were ended again.
    Thread {
        /// The worker that could not be started.
        worker: usize,
        /// The system's error.
        source: io::Error,
    },
    /// A runtime with timers and sockets (feature `io`) could not start its reactor: one thread and
    /// a few file descriptors per process. Nothing else was started.
    Reactor(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Thread { worker, source } => write!(
                f,
                "could not start the thread of worker {worker}: {source}; use fewer workers, a smaller \
                 `stack_size`, or raise the limit on threads"
            ),
            Self::Reactor(source) => write!(
                f,
                "could not start the reactor for timers and sockets: {source}; close files or raise the limit on \
                 open files (`ulimit -n`), or start the runtime before they are opened"
            ),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(_) => None,
            Self::Thread { source, .. } | Self::Reactor(source) => Some(source),
        }
    }
}

impl From<ConfigError> for StartError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

/// The reason why an executor refused a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// The executor is being joined, or is a [`crate::run`], and the caller is not one of its tasks
    /// or futures. Queued tasks still run.
    Closed,
    /// The executor was shut down.
    ShutDown,
    /// The executor's [`CancelToken`](crate::CancelToken) was cancelled.
    Cancelled,
    /// A panic stopped the executor, in a task or in `scratch_init`.
    Panicked,
}

impl fmt::Display for SpawnErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the executor is being joined and accepts no more tasks from outside",
            Self::ShutDown => "the executor was shut down",
            Self::Cancelled => "the executor was cancelled",
            Self::Panicked => "a panic stopped the executor",
        })
    }
}

impl Error for SpawnErrorKind {}

/// A refused task, or batch of tasks, and the reason.
///
/// It is `Send` and `Sync` if the task is `Send`. Where a boxed error must be both and the task is
/// not `Send`, pass on [`SpawnError::kind`], which is also an error.
pub struct SpawnError<T> {
    /// On the heap, so that the `Result` of a spawn fits into two registers.
    refusal: Box<Refusal<T>>,
}

struct Refusal<T> {
    kind: SpawnErrorKind,
    /// In a box of its own, so that a large future is given back without being moved.
    refused: Unshared<Box<T>>,
}

impl<T> SpawnError<T> {
    pub(crate) fn new(kind: SpawnErrorKind, refused: T) -> Self {
        Self::of_boxed(kind, Box::new(refused))
    }

    pub(crate) fn of_boxed(kind: SpawnErrorKind, refused: Box<T>) -> Self {
        Self { refusal: Box::new(Refusal { kind, refused: Unshared::new(refused) }) }
    }

    /// Returns the reason.
    pub fn kind(&self) -> SpawnErrorKind {
        self.refusal.kind
    }

    /// Returns the refused task or tasks.
    pub fn into_inner(self) -> T {
        *self.refusal.refused.into_inner()
    }
}

// By hand, so that `T` need not be `Debug`.
impl<T> fmt::Debug for SpawnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnError").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SpawnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task refused: {}", self.kind())
    }
}

impl<T> Error for SpawnError<T> {}

/// The panic of a task or future, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskPanic {
    /// The worker that ran the task or polled the future. `None` if another thread panicked: while
    /// it made a task, or in a blocking call.
    pub worker: Option<usize>,
    /// The panic's message. Nearly every panic has one; otherwise this is a placeholder.
    pub message: String,
}

impl TaskPanic {
    pub(super) fn new(worker: Option<usize>, payload: &(dyn Any + Send)) -> Self {
        Self { worker, message: panic_message(payload) }
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic whose payload is not text".to_owned())
}

impl Error for TaskPanic {}

impl fmt::Display for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => write!(f, "panic on worker {worker}: {}", self.message),
            None => write!(f, "panic outside of the workers: {}", self.message),
        }
    }
}

/// The reason why [`crate::run`] has no output.
#[non_exhaustive]
pub enum RunError {
    /// The run could not be started. No task was run.
    Start(StartError),
    /// A task, or `scratch_init`, panicked and stopped the run.
    Panicked {
        /// The panic as text.
        panic: TaskPanic,
        /// The payload. Pass [`PanicPayload::into_inner`] to [`std::panic::resume_unwind`] to
        /// rethrow it.
        payload: PanicPayload,
    },
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => f.debug_tuple("Start").field(error).finish(),
            Self::Panicked { panic, .. } => {
                f.debug_struct("Panicked").field("panic", panic).finish_non_exhaustive()
            }
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::Panicked { panic, .. } => panic.fmt(f),
        }
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Start(error) => error.source(),
            Self::Panicked { .. } => None,
        }
    }
}

impl From<StartError> for RunError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

/// The executor did not finish in time. [`JoinTimeout::into_executor`] gives the executor back,
/// which goes on. Dropping the error drops the executor, which shuts down and waits.
pub struct JoinTimeout<T: Send + 'static>(super::Executor<T>);

impl<T: Send + 'static> JoinTimeout<T> {
    pub(super) fn new(executor: super::Executor<T>) -> Self {
        Self(executor)
    }

    /// Returns the executor. It accepts no more tasks from outside, and its tasks go on. Join it
    /// again, or shut it down.
    pub fn into_executor(self) -> super::Executor<T> {
        self.0
    }
}

impl<T: Send + 'static> fmt::Debug for JoinTimeout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinTimeout")
    }
}

impl<T: Send + 'static> fmt::Display for JoinTimeout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the executor's tasks did not finish in time")
    }
}

impl<T: Send + 'static> Error for JoinTimeout<T> {}
