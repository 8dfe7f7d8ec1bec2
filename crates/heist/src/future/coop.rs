//! Cooperative yielding: the budget of a poll, and [`yield_now`].
//!
//! A future whose socket always has data, or whose queue is never empty, would never return
//! `Pending`, and all other work of its worker would wait forever. So a poll has a budget of 128
//! operations. A *leaf* future (a socket, a channel, a permit) calls [`poll_proceed`] before each
//! operation. When the budget is used up, that returns `Pending`, and has the future polled again
//! after the work that is already queued.
//!
//! heist's own leaf futures do this by themselves. Only operations that complete count. An
//! operation that has to wait is free, because its task then yields anyway. Loops over other
//! futures can await [`consume_budget`].

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::sync::plant::{Plant, planted};

/// The number of operations in one poll. They take some ten microseconds, so yielding costs little
/// in comparison.
pub const OPERATIONS_PER_POLL: u32 = 128;

crate::sync::per_thread! {
    /// The rest of the running poll's budget; `None` outside of polls.
    static LEFT: u32;
}

/// Runs one poll with its own budget.
#[inline]
pub(crate) fn with_budget<R>(poll: impl FnOnce() -> R) -> R {
    LEFT.with(|left| left.set(Some(OPERATIONS_PER_POLL)));
    let polled = poll();
    LEFT.with(|left| left.set(None));
    polled
}

/// Runs `act` with an unlimited budget, also inside a poll. For code that polls futures itself,
/// such as `block_on`: with the outer poll's budget used up, it would be asked to yield again and
/// again, and the budget would never be refilled.
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

/// Counts one operation of the running poll, and returns `Ready` if the poll may do it.
///
/// Returns `Pending` if the budget is used up. The future was then woken already, and the caller
/// should return `Pending` as well. On a thread that is not polling for a worker, as in `block_on`,
/// the budget is unlimited.
///
/// Inside a poll, this exception holds for heist's own `block_on` only. The `block_on` of another
/// crate does not know the budget: once it is used up, that function polls forever, since the
/// budget is refilled only when the outer poll returns. Call it inside `spawn_blocking` instead.
///
/// # Examples
///
/// ```
/// use std::task::{Context, Poll, ready};
///
/// /// The operation of a leaf future: returns the next number at once.
/// fn poll_next(
///     numbers: &mut impl Iterator<Item = u64>,
///     cx: &mut Context<'_>,
/// ) -> Poll<Option<u64>> {
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

/// Polls one operation of a leaf future, and counts it if it is ready. If the budget is used up,
/// this does not poll the operation, which keeps its place in a queue, or what it was granted,
/// until the task's next poll.
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

/// Takes one operation from the budget of the running poll, if any is left.
pub fn count_operation() {
    LEFT.with(|budget| budget.set(budget.get().map(|left| left.saturating_sub(1))));
}

/// Returns `true` if the running poll may do one more operation. Outside of polls, this is always
/// `true`.
///
/// Without a budget, heist's own leaf futures return `Pending` before they begin. For example, a
/// future that acquires a permit is not in line yet.
#[inline]
pub fn has_budget_remaining() -> bool {
    LEFT.with(|budget| budget.get() != Some(0)) || planted(Plant::BudgetIgnored)
}

/// Counts one operation of the running poll, and yields if the budget is used up. For loops whose
/// operations do not use the budget.
pub async fn consume_budget() {
    poll_fn(poll_proceed).await;
}

/// Yields once: the future goes behind all futures that its worker has queued, and behind a batch
/// of those in the injector.
///
/// # Examples
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
