//! Whether a future that always could go on lets others come: at most 128 operations in a poll, and a turn for
//! everybody in between.

use heist::Runtime;
use heist::coop::OPERATIONS_PER_POLL;
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Operations of the future under test in this poll.
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The future under test has done one.
pub(crate) fn count_operation() {
    OPERATIONS.set(OPERATIONS.get() + 1);
}

/// Runs `busy`, which does so many operations, on a runtime with one worker, beside a task that only counts how often
/// it gets its turn. Requires that no poll of `busy` does more operations than allowed, and that the other one comes in
/// between.
#[track_caller]
pub(crate) fn check_fair(
    operations: u64,
    busy: impl Future<Output = io::Result<()>> + Send + 'static,
) {
    let allowed = u64::from(OPERATIONS_PER_POLL);
    let turns = Arc::new(AtomicU64::new(0));
    let runtime = Runtime::builder().workers(1).build().expect("the runtime starts");
    let counting = Arc::clone(&turns);
    let other = runtime.spawn(async move {
        loop {
            counting.fetch_add(1, Ordering::Relaxed);
            heist::yield_now().await;
        }
    });
    let busy = runtime.spawn(async move {
        let mut busy = pin!(busy);
        let mut most = 0;
        let mut turns_before = None;
        poll_fn(|cx| {
            OPERATIONS.set(0);
            let polled = busy.as_mut().poll(cx);
            most = most.max(OPERATIONS.get());
            if OPERATIONS.get() > 0 {
                // Only from the first operation on: the other one has the worker for itself while this one connects.
                turns_before.get_or_insert_with(|| turns.load(Ordering::Relaxed));
            }
            polled
        })
        .await?;
        let turns = turns.load(Ordering::Relaxed) - turns_before.expect("it did something");
        io::Result::Ok((most, turns))
    });
    let (most, turns) = runtime.block_on(busy).expect("it does not panic").expect("no error");
    other.abort();
    assert!(most <= allowed, "{most} operations in one poll");
    assert!(most > allowed / 2, "{most}: it was not always ready, and proves nothing");
    let turns_min = operations / allowed - 1;
    assert!(turns >= turns_min, "the other task had {turns} turns; {turns_min} are fair");
}
