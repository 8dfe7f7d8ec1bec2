//! A timer for one point in time, on which the other timers are built.
//!
//! Invariants:
//! - a deadline that the clock cannot express is `None`, and never arrives;
//! - once elapsed, a sleep stays elapsed until it is reset: polled again, it is ready again.
//!
//! Not guaranteed: after a reset, the waker of an earlier poll is not called until the sleep is
//! polled again. The task that holds the `&mut Sleep` to reset it is the one that polls it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_io::Timer;

use crate::reactor;
use heist::__internal::coop;

/// Waits for `duration`, counted from now (not from the first poll).
///
/// ```
/// # heist_runtime::block_on(async {
/// use std::time::{Duration, Instant};
///
/// let began = Instant::now();
/// heist_runtime::time::sleep(Duration::from_millis(5)).await;
/// assert!(began.elapsed() >= Duration::from_millis(5));
/// # });
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::until(Instant::now().checked_add(duration))
}

/// Waits until `deadline`. Returns at once if it has passed.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::until(Some(deadline))
}

/// The future of [`sleep`] and [`sleep_until`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    /// `None` never arrives.
    deadline: Option<Instant>,
    /// Created by the first poll that has to wait.
    timer: Option<Timer>,
}

impl Sleep {
    pub(super) fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, timer: None }
    }

    /// Returns the deadline; `None` if the clock cannot express it, so that the sleep never ends.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns `true` if the deadline has passed.
    pub fn is_elapsed(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Sets another deadline, whether or not the old one has passed.
    pub fn reset(&mut self, deadline: Instant) {
        self.set(Some(deadline));
    }

    pub(super) fn set(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
        // The next poll registers a new timer. Changing the old one would make a system call now,
        // although it may never be polled again.
        self.timer = None;
    }

    /// Polls without counting an operation of the task: for callers that have counted it.
    pub(super) fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        if deadline <= Instant::now() {
            self.timer = None;
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| {
            if let Err(error) = reactor::start() {
                panic!(
                    "a timer could not be started, because the system refuses its reactor: {error}"
                );
            }
            Timer::at(deadline)
        });
        let fired = Pin::new(timer).poll(cx).map(drop);
        if fired.is_ready() {
            self.timer = None;
        }
        fired
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // A loop of sleeps of zero length would otherwise occupy its worker forever.
        coop::poll_counted(cx, |cx| self.get_mut().poll_elapsed(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_io::block_on;
    use futures_lite::future;

    #[test]
    fn a_sleep_is_never_early() {
        block_on(async {
            for millis in [0, 1, 7, 20] {
                let began = Instant::now();
                sleep(Duration::from_millis(millis)).await;
                assert!(began.elapsed() >= Duration::from_millis(millis), "{millis} ms");
            }
        });
    }

    #[test]
    fn a_past_instant_is_ready_at_once() {
        block_on(async {
            let mut sleep = sleep_until(Instant::now());
            assert!(sleep.is_elapsed());
            assert!(future::poll_once(&mut sleep).await.is_some());
            assert!(future::poll_once(&mut sleep).await.is_some(), "it stays elapsed");
            assert!(sleep.timer.is_none(), "nothing was registered");
        });
    }

    /// Tests every power of two, because the limits of the clock, the poller and the system call
    /// are among them.
    #[test]
    fn extreme_durations_work() {
        block_on(async {
            let mut waiting: Vec<_> =
                (12..64).map(|power| sleep(Duration::from_secs(1 << power))).collect();
            waiting.push(sleep(Duration::MAX));
            for sleep in &mut waiting {
                assert!(future::poll_once(&mut *sleep).await.is_none(), "{sleep:?}");
                assert!(!sleep.is_elapsed());
                // This timer is now the reactor's earliest, because the ones before it were
                // dropped.
                super::sleep(Duration::from_millis(1)).await;
                sleep.timer = None;
            }
            assert_eq!(sleep(Duration::MAX).deadline(), None);
        });
    }

    #[test]
    fn a_sleep_can_be_reset_to_an_earlier_or_later_time() {
        block_on(async {
            let mut sleep = sleep(Duration::from_secs(3600));
            assert!(future::poll_once(&mut sleep).await.is_none());
            let soon = Instant::now() + Duration::from_millis(2);
            sleep.reset(soon);
            assert_eq!(sleep.deadline(), Some(soon));
            (&mut sleep).await;
            assert!(sleep.is_elapsed());
            sleep.reset(Instant::now() + Duration::from_secs(3600));
            assert!(!sleep.is_elapsed());
            assert!(future::poll_once(&mut sleep).await.is_none());
        });
    }

    #[test]
    fn the_task_that_polled_last_is_woken() {
        let mut sleep = sleep(Duration::from_millis(20));
        // First polled with the waker of another task, which must not be woken.
        assert!(block_on(future::poll_once(&mut sleep)).is_none());
        block_on(future::or(sleep, async {
            super::sleep(Duration::from_secs(20)).await;
            panic!("the timer woke another task");
        }));
    }
}
