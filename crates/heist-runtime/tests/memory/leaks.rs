//! Proves that a thousand runtimes, used in every way and then ended, leave no thread and no memory
//! behind.

use crate::ALLOCATOR;
use crate::support::{SILENT, leaks, silence_panics};
use heist_runtime::Runtime;
use std::time::Duration;

fn check_no_leak(cycle: impl Fn() + Send + 'static) {
    leaks::check_no_leak(&ALLOCATOR, cycle);
}

/// Creates a runtime and uses all its features: some futures keep running, wait, panic, or are
/// aborted.
fn used_runtime() -> Runtime {
    let builder = Runtime::builder().threads(2).max_blocking_threads(2);
    let runtime = builder.thread_name(SILENT).build().unwrap();
    let squares: Vec<_> = (0..10_u64).map(|n| runtime.spawn(async move { n * n })).collect();
    let mut group = runtime.handle().group();
    for number in 0..5_u64 {
        group.spawn(async move {
            heist::yield_now().await;
            number
        });
    }
    let calls = runtime.spawn_blocking_batch((0..3_u64).map(|call| move || vec![call; 100]));
    let sum = runtime.block_on(async {
        let mut sum = 0;
        for square in squares {
            sum += square.await.unwrap();
        }
        while let Some(number) = group.join_next().await {
            sum += number.unwrap();
        }
        for call in calls {
            sum += call.await.unwrap()[0];
        }
        sum
    });
    assert_eq!(sum, 285 + 10 + 3);
    let panicked = runtime.block_on(runtime.spawn(async { panic!("unlucky") }));
    assert!(panicked.map(|(): ()| ()).unwrap_err().is_panic());
    let aborted = runtime.spawn(std::future::pending::<Vec<u64>>());
    aborted.abort();
    // Also a group that is dropped with its members.
    group.spawn(std::future::pending());
    runtime
}

#[test]
fn runtimes_that_are_joined_leak_nothing() {
    silence_panics();
    check_no_leak(|| {
        let metrics = used_runtime().join();
        assert_eq!(metrics.futures_live(), 0);
    });
}

#[test]
fn runtimes_that_are_dropped_with_waiting_futures_leak_nothing() {
    silence_panics();
    check_no_leak(|| {
        let runtime = used_runtime();
        let handle = runtime.handle();
        for number in 0..20_u64 {
            runtime.spawn(async move {
                let data = vec![number; 10];
                std::future::pending::<()>().await;
                drop(data);
            });
        }
        // A future that may never be polled, and whose output is not taken.
        let untaken = runtime.spawn(async { vec![1_u64; 10] });
        let metrics = runtime.shutdown_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(metrics.futures_live(), 0);
        drop((untaken, handle));
    });
}
