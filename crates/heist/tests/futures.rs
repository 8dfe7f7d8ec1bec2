//! Futures on an executor and on a runtime.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::{JoinError, Runtime};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::{SILENT, silence_panics, wait_until, watched};

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

/// Takes its time to be dropped.
struct Slow(Arc<AtomicBool>);

impl Drop for Slow {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_future_that_is_aborted_twice_is_still_waited_for() {
    watched(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let gone = Arc::new(AtomicBool::new(false));
        let slow = Slow(Arc::clone(&gone));
        let mut handle = runtime.spawn(async move {
            let _slow = slow;
            std::future::pending::<()>().await;
        });
        wait_until("it waits", || runtime.metrics().polls == 1);
        handle.abort();
        handle.abort();
        assert!(matches!(runtime.block_on(handle), Err(JoinError::Aborted)));
        assert!(gone.load(Ordering::Relaxed), "the future is still being dropped");
    });
}

#[test]
fn a_future_that_is_aborted_twice_after_its_end_has_its_output() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let mut handle = runtime.spawn(async { 5 });
        wait_until("it has ended", || handle.is_finished());
        handle.abort();
        handle.abort();
        assert_eq!(runtime.block_on(handle).unwrap(), 5);
    });
}

/// More of them than a queue holds, so that some are handed over to the others.
#[test]
fn who_yields_goes_behind_all_that_it_has_spawned() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let polled = Arc::new(AtomicUsize::new(0));
        let spawner = runtime.spawn(async move {
            for _ in 0..100 {
                let polled = Arc::clone(&polled);
                heist::spawn(async move { polled.fetch_add(1, Ordering::Relaxed) }).detach();
            }
            heist::yield_now().await;
            polled.load(Ordering::Relaxed)
        });
        assert_eq!(runtime.block_on(spawner).unwrap(), 100);
    });
}

/// Blocks on its runtime when its thread ends.
struct AtTheEnd(Arc<Runtime>, Arc<AtomicBool>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let answer = self.0.spawn(async { 42 });
        self.1.store(self.0.block_on(answer).unwrap() == 42, Ordering::Relaxed);
    }
}

thread_local! {
    static AT_THE_END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_may_block_on_a_runtime_at_its_very_end() {
    watched(|| {
        let runtime = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let answered = Arc::new(AtomicBool::new(false));
        let at_the_end = AtTheEnd(runtime, Arc::clone(&answered));
        let thread = std::thread::spawn(move || {
            let runtime = Arc::clone(&at_the_end.0);
            // Before the thread's first use of the runtime: so it is dropped after what that left on the thread.
            AT_THE_END.set(Some(at_the_end));
            runtime.block_on(async {});
        });
        thread.join().unwrap();
        assert!(answered.load(Ordering::Relaxed));
    });
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panic_in_the_drop_of_a_future_is_counted_and_reported() {
    watched(|| {
        silence_panics();
        let runtime = Runtime::builder().workers(1).thread_name(SILENT).build().unwrap();
        let fragile = Fragile;
        let mut handle = runtime.spawn(async move {
            let _fragile = fragile;
            std::future::pending::<()>().await;
        });
        wait_until("it waits", || runtime.metrics().polls == 1);
        handle.abort();
        assert!(matches!(runtime.block_on(handle), Err(JoinError::Aborted)));
        assert_eq!(runtime.panics().len(), 1);
        let metrics = runtime.join();
        assert_eq!((metrics.panics, metrics.futures_ended), (1, 1));
    });
}
