//! A future with a time limit.
//!
//! Invariants:
//! - a future that is ready in the same poll in which its time runs out counts as in time;
//! - the future is dropped together with the [`Timeout`], not when its time runs out. With
//!   `.await`, both happen at once.
//!
//! Not guaranteed: that a future which does not return from `poll` is stopped. The timeout checks
//! the time only after `poll` returns.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, io};

use pin_project_lite::pin_project;

use super::sleep::{Sleep, sleep, sleep_until};
use heist::__internal::coop;

/// Limits a future to `duration` from now. If the future is not ready by then, it is dropped, and
/// the result is [`Elapsed`].
///
/// ```
/// # heist_runtime::block_on(async {
/// use heist_runtime::time::timeout;
/// use std::future::{pending, ready};
/// use std::time::Duration;
///
/// assert_eq!(timeout(Duration::from_secs(1), ready(5)).await, Ok(5));
/// assert!(timeout(Duration::from_millis(1), pending::<()>()).await.is_err());
/// # });
/// ```
pub fn timeout<F: Future>(duration: Duration, future: F) -> Timeout<F> {
    Timeout { future, sleep: sleep(duration), has_waited: false }
}

/// Limits a future to the time until `deadline`.
pub fn timeout_at<F: Future>(deadline: Instant, future: F) -> Timeout<F> {
    Timeout { future, sleep: sleep_until(deadline), has_waited: false }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
        has_waited: bool,
    }
}

impl<F> Timeout<F> {
    /// Returns the inner future.
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// Returns the inner future, without a limit.
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // The future goes first: if it is ready it needs no timer, and a late result is better than
        // an error.
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // The budget may postpone only the first poll. A loop over timeouts that have expired must
        // yield. But a timeout that has waited must expire even if other code in its task uses up
        // the budget of every poll.
        let elapsed = if std::mem::replace(this.has_waited, true) {
            this.sleep.poll_elapsed(cx).map(|()| coop::count_operation())
        } else {
            coop::poll_counted(cx, |cx| this.sleep.poll_elapsed(cx))
        };
        elapsed.map(|()| Err(Elapsed(())))
    }
}

/// The time ran out before the future was ready.
///
/// `?` converts it to an [`io::Error`] of the kind [`TimedOut`](io::ErrorKind::TimedOut).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit passed before the future was ready")
    }
}

impl Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_io::block_on;
    use futures_lite::future;
    use std::rc::Rc;

    #[test]
    fn a_ready_future_succeeds_even_with_a_limit_of_zero() {
        block_on(async {
            assert_eq!(timeout(Duration::ZERO, future::ready(1)).await, Ok(1));
            assert_eq!(timeout_at(Instant::now(), future::ready(2)).await, Ok(2));
            assert_eq!(timeout(Duration::MAX, future::ready(3)).await, Ok(3));
        });
    }

    #[test]
    fn a_late_future_is_dropped_only_after_its_limit() {
        block_on(async {
            let held = Rc::new(());
            let future = {
                let held = Rc::clone(&held);
                async move {
                    let _held = held;
                    future::pending::<()>().await;
                }
            };
            let began = Instant::now();
            assert!(timeout(Duration::from_millis(20), future).await.is_err());
            assert!(began.elapsed() >= Duration::from_millis(20));
            assert_eq!(Rc::strong_count(&held), 1);
        });
    }

    #[test]
    fn into_inner_returns_the_future() {
        block_on(async {
            let mut limited = timeout(Duration::ZERO, sleep(Duration::from_millis(2)));
            assert_eq!(
                future::poll_once(&mut limited).await.map(|ended| ended.is_err()),
                Some(true)
            );
            assert!(!limited.get_ref().is_elapsed());
            limited.into_inner().await;
        });
    }

    #[test]
    fn elapsed_converts_to_an_io_error() {
        let error = io::Error::from(Elapsed(()));
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "the time limit passed before the future was ready");
    }

    #[test]
    fn a_timeout_does_not_double_the_size_of_its_future() {
        let future = async {
            let room = [0_u8; 4096];
            future::yield_now().await;
            assert_eq!(room[future::ready(5).await], 0);
        };
        let bare = size_of_val(&future);
        let limited = timeout(Duration::MAX, timeout(Duration::MAX, future));
        assert!(size_of_val(&limited) < bare + 512, "{} of {bare}", size_of_val(&limited));
    }
}
