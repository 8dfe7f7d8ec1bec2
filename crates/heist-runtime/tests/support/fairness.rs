//! Checks that a future that is always ready lets other tasks run: at most 128 operations in a
//! poll, and the other tasks run in between.

use heist::coop::OPERATIONS_PER_POLL;
use heist_runtime::Runtime;
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Operations that the future under test has done in this poll.
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts an operation of the future under test.
pub(crate) fn count_operation() {
    OPERATIONS.set(OPERATIONS.get() + 1);
}

/// Runs `busy`, which does the given number of operations, on a runtime with one worker, beside a
/// task that only counts how often it runs. Requires that no poll of `busy` does more operations
/// than allowed, and that the other task runs in between.
#[track_caller]
pub(crate) fn check_fair(
    operations: u64,
    busy: impl Future<Output = io::Result<()>> + Send + 'static,
) {
    let allowed = u64::from(OPERATIONS_PER_POLL);
    let runs = Arc::new(AtomicU64::new(0));
    let runtime = Runtime::builder().threads(1).build().expect("the runtime starts");
    let counting = Arc::clone(&runs);
    let other = runtime.spawn(async move {
        loop {
            counting.fetch_add(1, Ordering::Relaxed);
            heist::yield_now().await;
        }
    });
    let busy = runtime.spawn(async move {
        let mut busy = pin!(busy);
        let mut most = 0;
        let mut runs_before = None;
        poll_fn(|cx| {
            OPERATIONS.set(0);
            let polled = busy.as_mut().poll(cx);
            most = most.max(OPERATIONS.get());
            if OPERATIONS.get() > 0 {
                // Counts from the first operation on: while `busy` connects, the other task has the
                // worker for itself.
                runs_before.get_or_insert_with(|| runs.load(Ordering::Relaxed));
            }
            polled
        })
        .await?;
        let runs = runs.load(Ordering::Relaxed) - runs_before.expect("it did an operation");
        io::Result::Ok((most, runs))
    });
    let (most, runs) = runtime.block_on(busy).expect("it does not panic").expect("no error");
    other.abort();
    assert!(most <= allowed, "{most} operations in one poll");
    assert!(most > allowed / 2, "{most}: the future was not always ready, so this proves nothing");
    let runs_min = operations / allowed - 1;
    assert!(runs >= runs_min, "the other task ran {runs} times; {runs_min} would be fair");
}
