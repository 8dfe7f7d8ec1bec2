//! Giving way: the budget of a poll, and [`yield_now`].
//!
//! A future whose socket always has data, or whose queue is never empty, would never return `Pending`, and whatever
//! else waits for its worker would wait for ever. So a poll has a budget of 128 operations. What ends in a resource
//! (a *leaf* future: a socket, a channel, a permit) asks [`poll_proceed`] before each operation; when the budget is
//! used up, that says `Pending` and has the future polled again, after what is queued already.
//!
//! Leaf futures of heist ask by themselves, through `poll_counted`: of their operations only those count that are
//! done. One that has to wait is free, since its task gives way anyhow unless it has others to go on with. Loops over
//! other futures can await [`consume_budget`].

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::sync::plant::{Plant, planted};

/// The operations of one poll: as many as take some ten microseconds, so that giving way costs little beside them.
pub const OPERATIONS_PER_POLL: u32 = 128;

crate::sync::per_thread! {
    /// What is left of the running poll's budget; nothing outside of polls.
    static LEFT: u32;
}

/// Runs one poll with a budget of its own.
#[inline]
pub(crate) fn with_budget<R>(poll: impl FnOnce() -> R) -> R {
    LEFT.with(|left| left.set(Some(OPERATIONS_PER_POLL)));
    let polled = poll();
    LEFT.with(|left| left.set(None));
    polled
}

/// Runs something without end to its budget, also inside of a poll: for whoever polls on his own account. With the
/// outer poll's budget used up, he would be told to give way again and again, and nobody would ever fill it up.
pub fn without_budget<R>(act: impl FnOnce() -> R) -> R {
    /// Restores also after a panic.
    struct Restore(Option<u32>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEFT.with(|left| left.set(self.0));
        }
    }
    let _restore = Restore(LEFT.with(|left| left.replace(None)));
    act()
}

/// Asks whether the running poll may do one more operation, and counts it.
///
/// `Pending` if the budget is used up: the future is woken already, and whoever asks returns `Pending`, too. On a
/// thread that polls for no worker, as in `block_on`, the budget has no end.
///
/// (Inside of a poll that is so in heist's own `block_on` only. Another crate's knows nothing of the budget: once that
/// is used up it polls for ever, since the budget is not filled up before the outer poll returns. Call it inside
/// `spawn_blocking`.)
///
/// ```
/// use std::task::{Context, Poll, ready};
///
/// /// A leaf future's operation: a number, at once.
/// fn poll_next(numbers: &mut impl Iterator<Item = u64>, cx: &mut Context<'_>) -> Poll<Option<u64>> {
///     ready!(heist::coop::poll_proceed(cx));
///     Poll::Ready(numbers.next())
/// }
/// # let mut cx = Context::from_waker(std::task::Waker::noop());
/// # assert_eq!(poll_next(&mut [1].into_iter(), &mut cx), Poll::Ready(Some(1)));
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    LEFT.with(|budget| match budget.get() {
        None => Poll::Ready(()),
        Some(0) if !planted(Plant::BudgetIgnored) => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Some(left) => {
            budget.set(Some(left.saturating_sub(1)));
            Poll::Ready(())
        }
    })
}

/// Polls one operation of a leaf future, and counts it if it is ready. With the budget used up, the operation is not
/// polled: it keeps what it has, its place in a queue or what it was granted there, until the task's next poll.
#[inline]
pub fn poll_counted<R>(
    cx: &mut Context<'_>,
    operation: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    if !has_budget_remaining() {
        cx.waker().wake_by_ref();
        return Poll::Pending;
    }
    let polled = operation(cx);
    if polled.is_ready() {
        count_operation();
    }
    polled
}

/// Takes one operation from the budget of the running poll, if it has any left.
#[inline]
pub fn count_operation() {
    LEFT.with(|budget| budget.set(budget.get().map(|left| left.saturating_sub(1))));
}

/// Returns `true` if the running poll may do one more operation. Outside of polls it always may.
///
/// Without, heist's own leaf futures return `Pending` without having begun: an operation that asks for a permit is not
/// in line yet, for example.
#[inline]
pub fn has_budget_remaining() -> bool {
    LEFT.with(|budget| budget.get() != Some(0)) || planted(Plant::BudgetIgnored)
}

/// Counts one operation against the budget of the poll, and gives way if that is used up: for loops whose own
/// operations do not ask.
pub async fn consume_budget() {
    poll_fn(poll_proceed).await;
}

/// Gives way once: the future goes behind everything that its worker has queued, and behind a batch of what waits in
/// the injector.
///
/// ```
/// let executor = heist::Executor::builder().build(|_worker| (), |_task: (), _ctx| ())?;
/// let sum = executor.handle().spawn_future(async {
///     let mut sum = 0_u64;
///     for number in 0..100_000 {
///         sum += number;
///         if number % 1_000 == 0 {
///             heist::yield_now().await;
///         }
///     }
///     sum
/// })?;
/// assert_eq!(futures_lite::future::block_on(sum)?, 4_999_950_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn yield_now() {
    YieldNow { yielded: false }.await;
}

struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
