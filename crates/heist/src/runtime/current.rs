//! Which runtime this code runs on.
//!
//! The workers of a runtime know it, and so does a thread inside [`Runtime::block_on`](super::Runtime::block_on). This
//! is the real thread's, also where threads are modelled: no protocol asks it.

use super::RuntimeHandle;
use crate::future::JoinHandle;
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;

thread_local! {
    static CURRENT: RefCell<Option<RuntimeHandle>> = const { RefCell::new(None) };
}

/// Spawns a future onto the runtime that this code runs on.
///
/// ```
/// let runtime = heist::Runtime::new()?;
/// let sum = runtime.block_on(async {
///     let one = heist::spawn(async { 1 });
///     let two = heist::spawn(async { 2 });
///     one.await.unwrap() + two.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// # Ok::<(), heist::StartError>(())
/// ```
///
/// # Panics
/// Outside of a runtime: neither on one of its workers nor inside its `block_on`. Elsewhere use a [`RuntimeHandle`].
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spawned = CURRENT.with_borrow(|current| match current {
        Some(handle) => Ok(handle.try_spawn(future)),
        None => Err(()),
    });
    match spawned {
        // Here, and not above: a refused future is dropped, and its `drop` may spawn.
        Ok(spawned) => RuntimeHandle::joined(spawned),
        Err(()) => panic!(
            "heist::spawn was called outside of a runtime; call it inside `Runtime::block_on` or a spawned future, or \
             use `RuntimeHandle::spawn`"
        ),
    }
}

/// Makes `handle` the calling thread's current runtime until the guard is dropped.
#[must_use = "the runtime is current while the guard lives"]
pub(super) fn enter(handle: RuntimeHandle) -> Guard {
    Guard { before: CURRENT.replace(Some(handle)), _this_thread_only: PhantomData }
}

/// See [`enter`].
#[derive(Debug)]
pub(super) struct Guard {
    before: Option<RuntimeHandle>,
    _this_thread_only: PhantomData<*const ()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // At a thread's end the place may be gone already.
        let before = self.before.take();
        let _ = CURRENT.try_with(|current| drop(current.replace(before)));
    }
}
