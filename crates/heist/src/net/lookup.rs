//! Looking a name up: the system's call blocks, so it is made on a thread that may.
//!
//! Not guaranteed: a bound on the threads of lookups outside of any runtime. Each has its own, for as long as it takes.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::task::{Poll, Waker};

use crate::sync::{Arc, Mutex, thread};

/// The addresses of a name.
pub(super) async fn lookup(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let name = name.to_owned();
    let resolve = move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
    on_a_thread(resolve)?.await
}

/// What a thread leaves for the task that waits for it.
struct Answer<R> {
    result: Option<R>,
    waiting: Option<Waker>,
}

/// Calls `body` on a thread of its own, whose end is the future's.
///
/// # Errors
///
/// When the system refuses the thread.
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
