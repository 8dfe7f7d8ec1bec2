//! The semaphores of tokio and async-lock, with borrowed and with owned permits.
//!
//! Where a semaphore cannot block a thread, `block_on` waits for it and reuses its parker from call
//! to call.

use std::hint::black_box;
use std::sync::Arc;

use ::async_lock::Semaphore as AsyncLockSemaphore;
use ::tokio::sync::Semaphore as TokiosSemaphore;
use futures_lite::future::block_on;

use super::BudgetPeer;

pub(crate) struct TokioSemaphore(TokiosSemaphore);

impl BudgetPeer for TokioSemaphore {
    fn new(total: usize) -> Self {
        Self(TokiosSemaphore::new(total))
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(self.0.try_acquire()).is_ok()
    }

    #[inline]
    fn once(&self) {
        drop(black_box(block_on(self.0.acquire()).expect("open")));
    }
}

pub(crate) struct TokioOwned(Arc<TokiosSemaphore>);

impl BudgetPeer for TokioOwned {
    fn new(total: usize) -> Self {
        Self(Arc::new(TokiosSemaphore::new(total)))
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(Arc::clone(&self.0).try_acquire_owned()).is_ok()
    }

    #[inline]
    fn once(&self) {
        drop(black_box(block_on(Arc::clone(&self.0).acquire_owned()).expect("open")));
    }
}

pub(crate) struct AsyncLock(AsyncLockSemaphore);

impl BudgetPeer for AsyncLock {
    fn new(total: usize) -> Self {
        Self(AsyncLockSemaphore::new(total))
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(self.0.try_acquire()).is_some()
    }

    #[inline]
    fn once(&self) {
        drop(black_box(self.0.acquire_blocking()));
    }
}

pub(crate) struct AsyncLockArc(Arc<AsyncLockSemaphore>);

impl BudgetPeer for AsyncLockArc {
    fn new(total: usize) -> Self {
        Self(Arc::new(AsyncLockSemaphore::new(total)))
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(self.0.try_acquire_arc()).is_some()
    }

    #[inline]
    fn once(&self) {
        drop(black_box(self.0.acquire_arc_blocking()));
    }
}
