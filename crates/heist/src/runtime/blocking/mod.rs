//! Threads for calls that block: files, name resolution, a database driver, a long computation.
//!
//! Such a call would hold its worker, and everything that is queued there. So it is made on a thread of its own kind.
//! There is none before the first call; a new one is started when a call comes and none is idle, up to a limit; one
//! that had nothing to do for a while leaves. In between they sleep, without a look at anything.
//!
//! | file | idea |
//! |---|---|
//! | `state` | who is idle, what is queued, who is being started: under one lock |
//! | `threads` | handing calls over; the threads' coming and going |
//!
//! A call is one of the pool's futures that is polled once, elsewhere: it is counted from its spawn to its end, so that
//! `join` waits for it; its panic goes to its handle; aborted before it began, it is dropped. What it spawns itself is
//! never refused, as from any other code on the pool.
//!
//! **One lock, held for nanoseconds.** Threads are woken and started without it. A thread is woken only for a call that
//! nobody else is on his way to; so calls that come faster than threads wake up are taken by those that are awake.
//!
//! Not guaranteed: that a call begins at once. With all threads busy, and as many as there may be, it waits its turn,
//! and calls that wait for each other can wait for ever. Nor that a call that has begun can be ended: nothing
//! interrupts it.

mod state;
mod threads;

pub(super) use threads::{AttachedThreads, BlockingConfig, BlockingOwner, BlockingThreads};

use super::RuntimeHandle;
use crate::executor::shared::PoolShared;
use crate::executor::task::contain;
use crate::future::JoinHandle;
use crate::future::raw::Runnable;
use crate::sync::Arc;
use crate::worker_id;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

crate::sync::per_thread! {
    /// Set while calls are refused on this thread: what the system said when it refused a thread for them.
    static REFUSING: Refusal;
}

/// What the system said, as far as it can be said again for each call. (Errors cannot be cloned.)
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

/// Ends a call without making it, because there is no thread for it and none to be had.
fn refuse(call: Runnable, source: &io::Error) {
    let refusal = Refusal { kind: source.kind(), code: source.raw_os_error() };
    REFUSING.with(|refusing| refusing.set(Some(refusal)));
    // It is polled here, and only says why it is not made.
    contain(|| {
        call.run();
    });
    REFUSING.with(|refusing| refusing.set(None));
}

/// A call as a future: it completes in its first poll.
struct Call<F>(Option<F>);

// Nothing in it is ever pinned.
impl<F> Unpin for Call<F> {}

impl<F: FnOnce() -> R, R> Future for Call<F> {
    type Output = Result<R, io::Error>;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = REFUSING.with(|refusing| refusing.get().map(Refusal::again)) {
            return Poll::Ready(Err(error));
        }
        let call = self.0.take().expect("it is polled once");
        // Until it returns, and no longer: then its end is counted.
        let _in_call = worker_id::begin_call();
        Poll::Ready(Ok(call()))
    }
}

type Pool = Arc<PoolShared<Infallible>>;

/// Makes a task of a call that was counted.
fn make_task<F, R>(pool: &Pool, call: F) -> (Runnable, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    // It is scheduled from now to its only poll, so nobody ever has it scheduled again.
    let schedule = |runnable, _woken_while_running| drop(runnable);
    let (runnable, task) = PoolShared::make_counted(pool, Call(Some(call)), schedule);
    (runnable, JoinHandle::of_call(task))
}

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
    if let Err(kind) = pool.count_futures(1) {
        return JoinHandle::refused(kind);
    }
    PoolShared::hear_of_cancellation(pool);
    let (runnable, handle) = make_task(pool, call);
    BlockingThreads::push(threads, runnable, runtime);
    handle
}

pub(super) fn spawn_all<F, R>(
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
    if let Err(kind) = pool.count_futures(calls.len() as u64) {
        return calls.into_iter().map(|_call| JoinHandle::refused(kind)).collect();
    }
    PoolShared::hear_of_cancellation(pool);
    let (runnables, handles) = calls.into_iter().map(|call| make_task(pool, call)).unzip();
    BlockingThreads::push_all(threads, runnables, runtime);
    handles
}
