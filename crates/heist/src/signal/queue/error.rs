//! Why a push was refused.

use super::core::Refused;
use crate::budget::AcquireError;
use crate::executor::SpawnErrorKind;
use crate::sync::Unshared;
use std::error::Error;
use std::fmt;

/// The reason for which a push was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PushErrorKind {
    /// The queue is full ([`try_push`](super::GatedQueue::try_push) only).
    Full,
    /// The queue is closed.
    Closed,
    /// The executor of the queue accepts no more work.
    Executor(SpawnErrorKind),
    /// The queue is full, and the caller is an executor's worker, which must not block. Use
    /// `try_push` or `push_then`.
    OnWorker,
    /// The executor was stopped while its task waited for room.
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
    /// Converts the error of the budget that counts the queue's room.
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::NotNow => Self::Full,
            AcquireError::OnWorker => Self::OnWorker,
            AcquireError::Stopped => Self::Stopped,
            // One item is never too large for the budget, and no push waits with a timeout.
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
                "the queue is full and a worker must not block; use `try_push` or `push_then`",
            ),
            Self::Stopped => f.write_str("the executor was stopped while its task waited for room"),
        }
    }
}

impl Error for PushErrorKind {}

/// A refused item and the reason. It is `Send` and `Sync` if the item is `Send`.
pub struct PushError<T> {
    kind: PushErrorKind,
    item: Unshared<T>,
}

impl<T> PushError<T> {
    pub(crate) fn new(kind: impl Into<PushErrorKind>, item: T) -> Self {
        Self { kind: kind.into(), item: Unshared::new(item) }
    }

    /// Returns the reason for the refusal.
    pub fn kind(&self) -> PushErrorKind {
        self.kind
    }

    /// Returns the item.
    pub fn into_inner(self) -> T {
        self.item.into_inner()
    }
}

// Not derived, so that `T` need not be `Debug`.
impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushError").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the item was not pushed: {}", self.kind)
    }
}

impl<T> Error for PushError<T> {}
