//! Futures on an executor and on a runtime.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

use heist::{JoinError, Runtime};

#[test]
fn a_spawned_future_is_polled_and_awaited() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let handles: Vec<_> = (0..1_000_u64).map(|n| runtime.spawn(async move { n })).collect();
    let sum = runtime.block_on(async {
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 499_500);
    let metrics = runtime.join();
    assert_eq!((metrics.futures_spawned, metrics.futures_ended), (1_000, 1_000));
}

#[test]
fn a_stop_drops_futures_that_wait() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let handles: Vec<_> = (0..100).map(|_| runtime.spawn(std::future::pending::<()>())).collect();
    std::thread::sleep(std::time::Duration::from_millis(20));
    drop(runtime);
    for handle in handles {
        assert!(matches!(heist::block_on(handle), Err(JoinError::Stopped)));
    }
}
