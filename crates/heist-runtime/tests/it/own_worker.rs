//! Proves that ending a runtime on one of its own workers does not deadlock, and that a worker may
//! block on another runtime.

use crate::support::event::Event;
use crate::support::sync::Mutex;
use crate::support::{wait_until, watched};
use heist_runtime::{Runtime, RuntimeHandle};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs `end` in a future on one of the runtime's own workers, with another future that waits.
fn end_runtime_on_own_worker(end: impl FnOnce(Runtime) + Send + 'static) -> RuntimeHandle {
    let runtime = Runtime::builder().threads(2).build().unwrap();
    let handle = runtime.handle();
    let slot: Arc<Mutex<Option<Runtime>>> = Arc::default();
    let (found, placed) = (Arc::clone(&slot), Event::default());
    let may_begin = placed.clone();
    let ending = runtime.spawn(async move {
        may_begin.wait().await;
        let runtime = found.lock().unwrap().take().expect("the test has stored the runtime");
        end(runtime);
    });
    *slot.lock().unwrap() = Some(runtime);
    placed.set();
    heist_runtime::block_on(ending).expect("the runtime did not wait for itself");
    handle
}

#[test]
fn a_runtime_that_is_ended_on_its_own_worker_does_not_wait_for_itself() {
    watched(|| {
        let ends: [fn(Runtime); 4] = [
            drop,
            |runtime| {
                let waits = runtime.spawn(std::future::pending::<()>());
                let timeout = runtime.shutdown_timeout(Duration::from_secs(50)).unwrap_err();
                assert_eq!(timeout.blocking_calls(), 0);
                assert!(timeout.futures() >= 1, "the future itself");
                drop(waits);
            },
            |runtime| {
                let so_far = runtime.join();
                assert_eq!(so_far.futures_live(), 1, "the joining future itself");
            },
            |runtime| {
                let timeout = runtime.join_timeout(Duration::from_secs(50)).unwrap_err();
                drop(timeout.into_runtime());
            },
        ];
        for end in ends {
            let began = Instant::now();
            let handle = end_runtime_on_own_worker(end);
            wait_until("every future has ended", || handle.metrics().futures_live() == 0);
            assert!(!handle.is_accepting());
            assert!(began.elapsed() < Duration::from_secs(25), "the runtime waited for itself");
        }
    });
}

/// The worker blocks itself, but the other runtime continues.
#[test]
fn a_worker_may_block_on_another_runtime() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let sum = runtime.spawn(async {
            let inner = Runtime::builder().threads(1).build().unwrap();
            let sum =
                inner.block_on(async { heist_runtime::spawn(async { 1 }).await.unwrap() + 1 });
            assert_eq!(inner.join().futures_ended, 1);
            // The worker's own runtime is the current one again.
            sum + heist_runtime::spawn(async { 1 }).await.unwrap()
        });
        assert_eq!(runtime.block_on(sum).unwrap(), 3);
    });
}
