//! Proves how much memory futures need: one allocation each, for their data, their state and both
//! handles; a waker in the pool's set for a waiting future; and nothing for a poll, a wake-up or a
//! yield. A runtime can hold a million futures.

use crate::ALLOCATOR;
use crate::support::counting::alone;
use crate::support::wait_until;
use heist_runtime::Runtime;

/// Tolerates one more allocation per this many futures: queues and sets double their capacity, and
/// the system needs a buffer now and then.
const PER_AMORTISED: u64 = 100;

fn start() -> Runtime {
    Runtime::builder().threads(2).build().unwrap()
}

/// Returns how many allocations `work` makes in its second call. The first one is not measured.
fn allocations(mut work: impl FnMut()) -> u64 {
    work();
    let before = ALLOCATOR.allocations();
    work();
    ALLOCATOR.allocations() - before
}

/// Returns how many allocations a thread makes to wait, independent of the number of futures.
fn allocations_of_waiting() -> u64 {
    allocations(|| heist_runtime::block_on(async {}))
}

#[track_caller]
fn check_each(what: &str, allocations: u64, of: u64, each: u64) {
    println!("{what}: {allocations} allocations for {of}");
    let expected = of * each;
    assert!(allocations >= expected, "{what}: the counter does not count");
    let most = expected + of / PER_AMORTISED + 100;
    assert!(allocations <= most, "{what}: {allocations} allocations for {of}");
}

/// The most memory that a task of this size may need in addition to its data: two counters, the
/// awaiter's waker, the pool, and a place in the pool's set, which has spare capacity because it
/// doubles.
const BYTES_PER_FUTURE_MAX: isize = 150;

#[test]
fn a_million_futures_live_in_one_runtime() {
    const FUTURES: u64 = 1_000_000;
    alone(|| {
        let (bytes_before, before) = (ALLOCATOR.live_bytes(), ALLOCATOR.allocations());
        let runtime = start();
        for _ in 0..FUTURES {
            runtime.spawn(std::future::pending::<()>()).detach();
        }
        wait_until("all futures wait", || runtime.metrics().polls == FUTURES);
        assert_eq!(runtime.metrics().futures_live(), FUTURES);
        let bytes = ALLOCATOR.live_bytes() - bytes_before;
        println!("{} bytes per future", bytes / FUTURES as isize);
        check_each("a million futures", ALLOCATOR.allocations() - before, FUTURES, 1);
        assert!(bytes / (FUTURES as isize) < BYTES_PER_FUTURE_MAX, "{bytes} bytes");
        let handle = runtime.handle();
        drop(runtime);
        assert_eq!(handle.metrics().futures_ended, FUTURES);
        drop(handle);
        // The queues keep some garbage until the next collection.
        let left = ALLOCATOR.live_bytes() - bytes_before;
        assert!(left < 1_000_000, "{left} bytes left after the runtime");
    });
}

#[test]
fn a_future_is_one_allocation() {
    const FUTURES: u64 = 50_000;
    alone(|| {
        let runtime = start();
        let from_outside = || {
            for _ in 0..FUTURES / 100 {
                let handles: [_; 100] = std::array::from_fn(|n| runtime.spawn(async move { n }));
                for (n, handle) in handles.into_iter().enumerate() {
                    assert_eq!(runtime.block_on(handle).unwrap(), n);
                }
            }
        };
        let outside = allocations(from_outside) - FUTURES * allocations_of_waiting();
        check_each("futures from outside", outside, FUTURES, 1);
        let inside = allocations(|| {
            let all = runtime.spawn(async {
                for _ in 0..FUTURES {
                    heist_runtime::spawn(async { [0_u64; 8] }).await.unwrap();
                }
            });
            runtime.block_on(all).unwrap();
        });
        check_each("futures from inside", inside, FUTURES, 1);
    });
}

#[test]
fn polls_wake_ups_and_yields_allocate_nothing() {
    const YIELDS: u64 = 50_000;
    alone(|| {
        let runtime = start();
        let yields = allocations(|| {
            let handles: [_; 4] = std::array::from_fn(|_| {
                runtime.spawn(async {
                    for _ in 0..YIELDS {
                        heist::yield_now().await;
                    }
                })
            });
            handles.into_iter().for_each(|handle| runtime.block_on(handle).unwrap());
        });
        check_each("yields", yields, 4 * YIELDS, 0);
    });
}

#[test]
fn a_member_of_a_group_is_two_allocations() {
    const MEMBERS: u64 = 50_000;
    alone(|| {
        let runtime = start();
        let mut group = runtime.handle().group();
        let mut round = || {
            for _ in 0..MEMBERS / 100 {
                for number in 0..100 {
                    group.spawn(async move { number });
                }
                runtime.block_on(async {
                    while let Some(number) = group.join_next().await {
                        assert!(number.unwrap() < 100);
                    }
                });
            }
        };
        // One for the future, and one for the waker that tells the group which member has ended.
        let members = allocations(&mut round) - MEMBERS / 100 * allocations_of_waiting();
        check_each("members", members, MEMBERS, 2);
    });
}

#[test]
fn a_blocking_call_is_one_allocation() {
    const CALLS: u64 = 20_000;
    alone(|| {
        let runtime = Runtime::builder().threads(1).max_blocking_threads(2).build().unwrap();
        let calls = allocations(|| {
            for _ in 0..CALLS / 100 {
                let handles: [_; 100] = std::array::from_fn(|n| runtime.spawn_blocking(move || n));
                runtime.block_on(async {
                    for (n, handle) in handles.into_iter().enumerate() {
                        assert_eq!(handle.await.unwrap(), n);
                    }
                });
            }
        });
        let calls = calls - CALLS / 100 * allocations_of_waiting();
        check_each("blocking calls", calls, CALLS, 1);
    });
}
