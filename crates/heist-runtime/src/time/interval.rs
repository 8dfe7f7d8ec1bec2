//! A timer that fires repeatedly.
//!
//! Invariants:
//! - the first tick is at the start, and the n-th is due at `start + n * period`: a late tick does
//!   not shift the following ones, unless [`MissedTickBehavior::Delay`] is set;
//! - dropping the future of `tick` loses nothing: the next call returns that tick.
//!
//! Not guaranteed: that the waiting task sees ticks exactly a period apart. They are due a period
//! apart, but the task may run late.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::sleep::Sleep;
use heist::__internal::coop;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Creates a timer that ticks every `period`. The first tick is immediate.
///
/// With a period of zero, every call of `tick` returns at once. [`MissedTickBehavior`] defines what
/// happens to ticks that the task does not take in time.
///
/// ```
/// # heist_runtime::block_on(async {
/// use std::time::{Duration, Instant};
///
/// let began = Instant::now();
/// let mut ticks = heist_runtime::time::interval(Duration::from_millis(2));
/// for _ in 0..5 {
///     ticks.tick().await;
/// }
/// assert!(began.elapsed() >= Duration::from_millis(8));
/// # });
/// ```
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Creates a timer that ticks every `period`. The first tick is due at `start`.
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval {
        next: Sleep::until(Some(start)),
        period,
        missed_tick_behavior: MissedTickBehavior::default(),
    }
}

/// What an [`Interval`] does with ticks that were due before the task waited for them.
///
/// With a period of 100 ms, if the task asks for the tick of 200 ms only at 450 ms:
///
/// | behaviour | the late tick, and those after it |
/// |---|---|
/// | `Burst` | 450 (for 200), 450 (for 300), 450 (for 400), 500, 600 ... |
/// | `Delay` | 450 (for 200), 550, 650 ... |
/// | `Skip` | 450 (for 200), 500, 600 ... |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissedTickBehavior {
    /// Delivers every missed tick, as fast as the task asks: the number of ticks stays right.
    #[default]
    Burst,
    /// The next tick is due a period after the late tick was taken. (This applies if the tick was
    /// late by a period or more. Otherwise no tick was missed, and the next one is due on
    /// schedule.)
    Delay,
    /// Skips the missed ticks: ticks stay on multiples of the period since the start.
    Skip,
}

impl MissedTickBehavior {
    /// Returns when the next tick is due, after the one due at `due` was taken at `now`.
    fn next_after(self, due: Instant, now: Instant, period: Duration) -> Option<Instant> {
        let late = now.saturating_duration_since(due);
        if late < period || self == Self::Burst {
            return due.checked_add(period);
        }
        match self {
            Self::Burst | Self::Delay => now.checked_add(period),
            Self::Skip if period.is_zero() => Some(now),
            Self::Skip => {
                let into_this_period = late.as_nanos() % period.as_nanos();
                let whole_seconds = (into_this_period / NANOS_PER_SECOND) as u64;
                let nanos = (into_this_period % NANOS_PER_SECOND) as u32;
                now.checked_add(period - Duration::new(whole_seconds, nanos))
            }
        }
    }
}

/// A timer that ticks. Created by [`interval`] and [`interval_at`].
#[derive(Debug)]
pub struct Interval {
    next: Sleep,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick, and returns when it was due.
    ///
    /// Dropping the future loses no tick.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Does the same as [`Self::tick`], for hand-written futures.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        // A burst, or a period of zero, would otherwise occupy its worker forever.
        ready!(coop::poll_counted(cx, |cx| self.next.poll_elapsed(cx)));
        let now = Instant::now();
        let due = self.next.deadline().unwrap_or(now);
        self.next.set(self.missed_tick_behavior.next_after(due, now, self.period));
        Poll::Ready(due)
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns what happens to missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets what happens to missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// Restarts the interval: the next tick is due a period from now.
    pub fn reset(&mut self) {
        self.next.set(Instant::now().checked_add(self.period));
    }

    /// Restarts the interval: the next tick is due at once.
    pub fn reset_immediately(&mut self) {
        self.next.set(Some(Instant::now()));
    }

    /// Restarts the interval: the next tick is due at `start`.
    pub fn reset_at(&mut self, start: Instant) {
        self.next.set(Some(start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_io::block_on;
    use futures_lite::future;

    const PERIOD: Duration = Duration::from_millis(100);

    /// The table of [`MissedTickBehavior`]: the tick of 200 ms is taken at 450 ms, and every later
    /// tick at once or when it is due.
    #[track_caller]
    fn check_table(behavior: MissedTickBehavior, expected_millis: [u64; 4]) {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut due, mut now) = (at(200), at(450));
        for expected in expected_millis {
            due = behavior.next_after(due, now, PERIOD).expect("the clock can express this time");
            now = now.max(due);
            assert_eq!(due, at(expected), "{behavior:?}");
        }
    }

    #[test]
    fn burst_delivers_missed_ticks() {
        check_table(MissedTickBehavior::Burst, [300, 400, 500, 600]);
    }

    #[test]
    fn delay_postpones_the_next_ticks() {
        check_table(MissedTickBehavior::Delay, [550, 650, 750, 850]);
    }

    #[test]
    fn skip_drops_missed_ticks() {
        check_table(MissedTickBehavior::Skip, [500, 600, 700, 800]);
    }

    #[test]
    fn a_tick_that_is_taken_in_time_changes_nothing() {
        let start = Instant::now();
        for behavior in
            [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip]
        {
            for late_millis in [0, 1, 99] {
                let taken = start + Duration::from_millis(late_millis);
                assert_eq!(behavior.next_after(start, taken, PERIOD), Some(start + PERIOD));
            }
        }
        let exactly = start + PERIOD;
        assert_eq!(
            MissedTickBehavior::Skip.next_after(start, exactly, PERIOD),
            Some(exactly + PERIOD)
        );
    }

    #[test]
    fn extreme_periods_work() {
        block_on(async {
            for behavior in
                [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip]
            {
                let mut never_again = interval(Duration::MAX);
                never_again.set_missed_tick_behavior(behavior);
                never_again.tick().await;
                assert!(future::poll_once(never_again.tick()).await.is_none());

                let mut always = interval(Duration::ZERO);
                always.set_missed_tick_behavior(behavior);
                for _ in 0..10 {
                    assert!(future::poll_once(always.tick()).await.is_some());
                }
            }
        });
    }

    #[test]
    fn dropping_a_tick_future_loses_no_tick() {
        block_on(async {
            let mut ticks = interval(Duration::from_millis(300));
            let first = ticks.tick().await;
            assert!(future::poll_once(ticks.tick()).await.is_none());
            assert_eq!(ticks.tick().await, first + Duration::from_millis(300));
        });
    }

    #[test]
    fn an_interval_can_be_reset() {
        block_on(async {
            let mut ticks = interval_at(Instant::now() + Duration::from_secs(3600), PERIOD);
            assert_eq!(ticks.period(), PERIOD);
            assert_eq!(ticks.missed_tick_behavior(), MissedTickBehavior::Burst);
            assert!(future::poll_once(ticks.tick()).await.is_none());
            ticks.reset_immediately();
            assert!(future::poll_once(ticks.tick()).await.is_some());
            ticks.reset();
            assert!(future::poll_once(ticks.tick()).await.is_none());
            let past = Instant::now();
            ticks.reset_at(past);
            assert_eq!(ticks.tick().await, past);
        });
    }
}
