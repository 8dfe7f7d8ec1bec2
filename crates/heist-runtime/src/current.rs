//! Which runtime the calling code runs on.
//!
//! Every thread of a runtime knows its runtime, and so does a thread inside
//! [`Runtime::block_on`](super::Runtime::block_on). This state belongs to the real thread, even
//! where threads are modelled: no protocol depends on it.

use super::RuntimeHandle;
use heist::__internal::is_large;
use heist::{JoinHandle, current_worker_id};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;

thread_local! {
    static CURRENT: RefCell<Option<RuntimeHandle>> = const { RefCell::new(None) };
}

/// Spawns a future onto the current runtime: the one on which the caller runs.
///
/// # Examples
///
/// ```
/// let runtime = heist_runtime::Runtime::new()?;
/// let sum = runtime.block_on(async {
///     let one = heist_runtime::spawn(async { 1 });
///     let two = heist_runtime::spawn(async { 2 });
///     one.await.unwrap() + two.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// # Ok::<(), heist::StartError>(())
/// ```
///
/// # Panics
/// Panics outside of a runtime: the calling thread must belong to a runtime or be inside its
/// `block_on`. Elsewhere, use a [`RuntimeHandle`]. An [`Executor`](heist::Executor) is not a
/// runtime: on its workers, use
/// [`ExecutorHandle::spawn_future`](heist::ExecutorHandle::spawn_future) or
/// [`WorkerCtx::spawn_future`](heist::WorkerCtx::spawn_future).
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // A refused future is dropped outside of the closure, because its `drop` may spawn.
    RuntimeHandle::joined(if const { is_large::<F>() } {
        let future = Box::new(future);
        with_current(&SPAWN, |handle| handle.try_spawn_boxed(future))
    } else {
        with_current(&SPAWN, |handle| handle.try_spawn(future))
    })
}

/// Runs a blocking call on a thread of the current runtime. See [`RuntimeHandle::spawn_blocking`].
///
/// # Examples
///
/// ```
/// let runtime = heist_runtime::Runtime::new()?;
/// let manifest = runtime.block_on(async {
///     heist_runtime::spawn_blocking(|| std::fs::read_to_string("Cargo.toml")).await
/// })??;
/// assert!(manifest.contains("[package]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// Panics outside of a runtime, as [`spawn`] does.
#[track_caller]
pub fn spawn_blocking<F, R>(call: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    // Uses a clone of the handle: `spawn_blocking` drops a refused call, and its `drop` may spawn.
    let handle = with_current(&SPAWN_BLOCKING, RuntimeHandle::clone);
    handle.spawn_blocking(call)
}

/// A function that needs a current runtime, and the advice for a thread without one.
struct CurrentRuntimeUser {
    name: &'static str,
    /// The advice on the worker of an executor.
    on_executor: &'static str,
}

const SPAWN: CurrentRuntimeUser = CurrentRuntimeUser {
    name: "heist_runtime::spawn",
    on_executor: "spawn the future with `ExecutorHandle::spawn_future` or `WorkerCtx::spawn_future`",
};

const SPAWN_BLOCKING: CurrentRuntimeUser = CurrentRuntimeUser {
    name: "heist_runtime::spawn_blocking",
    on_executor: "an executor has no threads for blocking calls, so start a `Runtime` beside it and use its \
                  `RuntimeHandle::spawn_blocking`",
};

/// Calls `act` with the current runtime. `act` must not run the caller's code.
#[track_caller]
fn with_current<R>(caller: &CurrentRuntimeUser, act: impl FnOnce(&RuntimeHandle) -> R) -> R {
    let done = CURRENT.try_with(|current| current.borrow().as_ref().map(act)).ok().flatten();
    done.unwrap_or_else(|| no_runtime(caller))
}

#[cold]
#[track_caller]
fn no_runtime(CurrentRuntimeUser { name, on_executor }: &CurrentRuntimeUser) -> ! {
    if current_worker_id().is_some() {
        panic!(
            "{name} was called on a worker of an `Executor`, which is not a runtime; {on_executor}"
        );
    }
    panic!(
        "{name} was called outside of a runtime; call it inside `Runtime::block_on`, a spawned future or a blocking \
         call, or use a `RuntimeHandle`"
    )
}

/// Returns the current runtime, if there is one.
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub(crate) fn current() -> Option<RuntimeHandle> {
    CURRENT.with_borrow(Clone::clone)
}

/// Makes `handle` the calling thread's current runtime until the guard is dropped.
#[must_use = "the runtime is current while the guard lives"]
pub(super) fn enter(handle: RuntimeHandle) -> CurrentGuard {
    // At a thread's end its thread-locals may be gone already: then no runtime is current, but
    // `block_on` works.
    let before = CURRENT.try_with(|current| current.replace(Some(handle))).ok().flatten();
    CurrentGuard { before, _this_thread_only: PhantomData }
}

/// See [`enter`].
#[derive(Debug)]
pub(super) struct CurrentGuard {
    before: Option<RuntimeHandle>,
    _this_thread_only: PhantomData<*const ()>,
}

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        // At a thread's end its thread-locals may be gone already.
        let before = self.before.take();
        let _ = CURRENT.try_with(|current| drop(current.replace(before)));
    }
}
