//! Threads for calls that block: files, name resolution, a database driver, a long computation.
//!
//! Such a call would hold its worker, and everything that is queued there. So it is made on a thread of its own kind.
//! There is none before the first call; a new one is started when a call comes and none is idle, up to a limit; one that
//! had nothing to do for a while leaves. In between they sleep, without a look at anything.
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
//! **One lock, held for nanoseconds.** An idle thread is handed its call directly, in a mailbox, and is woken after the
//! lock is given back: it runs the call without asking for the lock, where with one queue and a condition variable each
//! of the two would wait for the other. Threads are started without the lock, too.
//!
//! Not guaranteed: that a call begins at once. With all threads busy, and as many as there may be, it waits its turn,
//! and calls that wait for each other can wait for ever. Nor that a call that has begun can be ended: nothing interrupts
//! it.

mod state;
mod threads;

pub(super) use threads::{AttachedThreads, BlockingConfig, BlockingOwner, BlockingThreads};

use threads::NoThread;

use super::RuntimeHandle;
use crate::executor::shared::Shared;
use crate::future::counted::Ended;
use crate::future::raw::{Runnable, Task};
use crate::future::{JoinError, JoinHandle};
use crate::sync::Arc;
use crate::worker_id;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A call as a future: it completes in its first poll.
struct Call<F>(Option<F>);

// Nothing in it is ever pinned.
impl<F> Unpin for Call<F> {}

impl<F: FnOnce() -> R, R> Future for Call<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<R> {
        let call = self.0.take().expect("it is polled once");
        // Until it returns, and no longer: then its end is counted.
        let _in_call = worker_id::begin_call();
        Poll::Ready(call())
    }
}

type Pool = Arc<Shared<Infallible>>;

/// Makes a task of a call that was counted.
fn make_task<F, R>(pool: &Pool, call: F) -> (Runnable, Task<Ended<R>>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    // It is scheduled from now to its only poll, so nobody ever has it scheduled again.
    Shared::make_future(pool, Call(Some(call)), |runnable, _woken_while_running| drop(runnable))
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
        return JoinHandle::failed(JoinError::Refused(kind));
    }
    Shared::hear_of_cancellation(pool);
    let (runnable, task) = make_task(pool, call);
    match BlockingThreads::push(threads, runnable, runtime) {
        Ok(()) => JoinHandle::new(task),
        Err(refused) => JoinHandle::failed(JoinError::NoThread(refused.source)),
    }
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
        let refused = |_call| JoinHandle::failed(JoinError::Refused(kind));
        return calls.into_iter().map(refused).collect();
    }
    Shared::hear_of_cancellation(pool);
    let (runnables, tasks): (Vec<_>, Vec<_>) =
        calls.into_iter().map(|call| make_task(pool, call)).unzip();
    match BlockingThreads::push_all(threads, runnables, runtime) {
        Ok(()) => tasks.into_iter().map(JoinHandle::new).collect(),
        Err(NoThread { source, calls: dropped }) => {
            // One error for each: they cannot be cloned.
            let again = || match source.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(source.kind(), source.to_string()),
            };
            let handle = |(index, task)| match dropped.binary_search(&index) {
                Ok(_) => JoinHandle::failed(JoinError::NoThread(again())),
                Err(_) => JoinHandle::new(task),
            };
            tasks.into_iter().enumerate().map(handle).collect()
        }
    }
}
