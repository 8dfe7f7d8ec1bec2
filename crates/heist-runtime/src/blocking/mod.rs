//! Threads for blocking calls: files, name resolution, a database driver, a long computation.
//!
//! On a worker such a call would block every future that is queued there, so it runs on a separate
//! kind of thread. The runtime has none before the first call. It starts one when a call arrives
//! and no thread is idle, up to a limit. A thread that had no call for a while ends. Between calls
//! the threads sleep without polling anything.
//!
//! | file | idea |
//! |---|---|
//! | `state` | which threads are idle or starting, and which calls are queued: under one lock |
//! | `threads` | how calls reach the threads, and how threads start and end |
//!
//! A call is one of the pool's futures, polled once, on another thread. It counts from its spawn to
//! its end, so `join` waits for it. Its panic goes to its handle. A call that is aborted before it
//! began is dropped. Like any other code on the pool, a call may always spawn.
//!
//! **One lock, held for nanoseconds.** Threads are woken and started without it. A thread is woken
//! only for a call that no other thread is about to take, so calls that arrive faster than threads
//! wake up are taken by the threads that are awake.
//!
//! Not guaranteed: that a call begins at once. If the limit is reached and all threads are busy, a
//! call waits, and calls that wait for each other can wait forever. Nor can a call that has begun
//! be interrupted.

mod state;
mod threads;

pub(super) use threads::{AttachedThreads, BlockingConfig, BlockingOwner, BlockingThreads};

use super::RuntimeHandle;
use heist::__internal::sync::Arc;
use heist::__internal::{self as internal, Runnable, contain, worker_id};
use heist::{ExecutorHandle, JoinHandle};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

heist::__internal::sync::per_thread! {
    /// Set while this thread refuses calls: the error with which the system refused a thread.
    static REFUSING: Refusal;
}

/// A system error that can be repeated for each call. (`io::Error` cannot be cloned.)
#[derive(Clone, Copy, Debug)]
struct Refusal {
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl Refusal {
    fn again(self) -> io::Error {
        self.code.map_or_else(|| io::Error::from(self.kind), io::Error::from_raw_os_error)
    }
}

/// Ends a call without running it, because no thread exists for it and the system refuses to start
/// one.
fn refuse(call: Runnable, source: &io::Error) {
    let refusal = Refusal { kind: source.kind(), code: source.raw_os_error() };
    REFUSING.with(|refusing| refusing.set(Some(refusal)));
    // This poll only returns the refusal.
    contain(|| {
        call.run();
    });
    REFUSING.with(|refusing| refusing.set(None));
}

/// A call as a future: it completes in its first poll.
struct Call<F>(Option<F>);

// No field is structurally pinned.
impl<F> Unpin for Call<F> {}

impl<F: FnOnce() -> R, R> Future for Call<F> {
    type Output = Result<R, io::Error>;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = REFUSING.with(|refusing| refusing.get().map(Refusal::again)) {
            return Poll::Ready(Err(error));
        }
        let call = self.0.take().expect("it is polled once");
        // Only until the call returns: then its end is counted.
        let _in_call = worker_id::begin_call();
        Poll::Ready(Ok(call()))
    }
}

type Pool = ExecutorHandle<Infallible>;

pub(super) fn spawn<F, R>(
    pool: &Pool,
    threads: &Arc<BlockingThreads>,
    runtime: &RuntimeHandle,
    call: F,
) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    if let Err(kind) = internal::count_calls(pool, 1) {
        return internal::refused_handle(kind);
    }
    let (runnable, handle) = internal::make_call(pool, Call(Some(call)));
    BlockingThreads::push(threads, runnable, runtime);
    handle
}

pub(super) fn spawn_batch<F, R>(
    pool: &Pool,
    threads: &Arc<BlockingThreads>,
    runtime: &RuntimeHandle,
    calls: Vec<F>,
) -> Vec<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    if calls.is_empty() {
        return Vec::new();
    }
    if let Err(kind) = internal::count_calls(pool, calls.len() as u64) {
        return calls.into_iter().map(|_call| internal::refused_handle(kind)).collect();
    }
    let make_task = |call| internal::make_call(pool, Call(Some(call)));
    let (runnables, handles) = calls.into_iter().map(make_task).unzip();
    BlockingThreads::push_all(threads, runnables, runtime);
    handles
}
