//! Looks up names. The system's call blocks, so it runs on a thread that may block.
//!
//! That is one of the runtime's threads for blocking calls. Without a runtime (on another executor,
//! or in a plain `block_on`) it is a thread for this call alone.
//!
//! Invariant: a lookup whose future was dropped does not begin. A lookup that has begun runs to its
//! end, which may take seconds; a runtime that is joined waits for it.
//!
//! Not guaranteed: a bound on the threads outside of a runtime.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use heist::__internal::sync::{Arc, Mutex, thread};
use heist::{JoinError, JoinHandle};

/// Returns the addresses of a name.
pub(super) async fn lookup(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let call = || {
        let name = name.to_owned();
        move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect)
    };
    if let Some(runtime) = crate::current() {
        match Awaited(runtime.spawn_blocking(call())).await {
            Ok(found) => return found,
            // This is the `block_on` of a runtime that was shut down in the meantime: use a new
            // thread.
            Err(JoinError::Refused(_)) => {}
            Err(JoinError::NoThread(refused)) => return Err(refused),
            Err(stopped) => return Err(io::Error::other(stopped)),
        }
    }
    on_a_thread(call())?.await
}

/// A blocking call that is aborted, if it has not begun, when this future is dropped.
struct Awaited<R: Send + 'static>(JoinHandle<R>);

impl<R: Send + 'static> Future for Awaited<R> {
    type Output = Result<R, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<R: Send + 'static> Drop for Awaited<R> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The result that a thread leaves for the task that waits.
struct Answer<R> {
    result: Option<R>,
    waiting: Option<Waker>,
}

/// Calls `body` on a new thread. The future completes when `body` returns.
///
/// # Errors
///
/// The system refuses the thread.
fn on_a_thread<R: Send + 'static>(
    body: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> io::Result<impl Future<Output = io::Result<R>>> {
    let answer = Arc::new(Mutex::new(Answer { result: None, waiting: None }));
    let asked = Arc::clone(&answer);
    let named = thread::Builder::new().name("heist-lookup".to_owned());
    named.spawn(move || {
        let result = body();
        let waiting = {
            let mut answer = asked.lock();
            answer.result = Some(result);
            answer.waiting.take()
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    })?;
    Ok(poll_fn(move |cx| {
        let mut answer = answer.lock();
        match answer.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                answer.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }))
}
