//! Why an item was not taken.

use super::core::Refused;
use crate::budget::AcquireError;
use crate::executor::SpawnErrorKind;
use crate::sync::Unshared;
use std::error::Error;
use std::fmt;

/// Why a push was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PushErrorKind {
    /// There is no room now ([`try_push`](super::GatedQueue::try_push) only).
    Full,
    /// The queue was closed.
    Closed,
    /// The queue's executor takes nothing more.
    Executor(SpawnErrorKind),
    /// There is no room, and the caller is a worker of an executor, which must not wait: use `try_push` or
    /// `push_then`.
    OnWorker,
    /// The executor whose task waited for room was stopped.
    Stopped,
}

impl From<Refused> for PushErrorKind {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Closed => Self::Closed,
            Refused::Executor(kind) => Self::Executor(kind),
        }
    }
}

impl From<AcquireError> for PushErrorKind {
    /// Room is a budget, with the same reasons to be refused.
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::NotNow => Self::Full,
            AcquireError::OnWorker => Self::OnWorker,
            AcquireError::Stopped => Self::Stopped,
            // One item is never too large, and nobody waits for room with a deadline.
            _ => Self::Closed,
        }
    }
}

impl fmt::Display for PushErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the queue is full"),
            Self::Closed => f.write_str("the queue is closed"),
            Self::Executor(kind) => kind.fmt(f),
            Self::OnWorker => f.write_str(
                "the queue is full, and a worker must not wait for room: use `try_push` or `push_then`",
            ),
            Self::Stopped => f.write_str("the executor was stopped while its task waited for room"),
        }
    }
}

impl Error for PushErrorKind {}

/// A refused item, and the reason. It is `Send` and `Sync` if the item is `Send`.
pub struct PushError<T> {
    kind: PushErrorKind,
    item: Unshared<T>,
}

impl<T> PushError<T> {
    pub(crate) fn new(kind: impl Into<PushErrorKind>, item: T) -> Self {
        Self { kind: kind.into(), item: Unshared::new(item) }
    }

    /// Why it was refused.
    pub fn kind(&self) -> PushErrorKind {
        self.kind
    }

    /// The item, unharmed.
    pub fn into_inner(self) -> T {
        self.item.into_inner()
    }
}

// By hand, so that `T` need not be `Debug`.
impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushError").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item refused: {}", self.kind)
    }
}

impl<T> Error for PushError<T> {}
