//! Proves that an idle pool does nothing at all (its threads make no context switch, so they make
//! no system call that could sleep), and that it wakes at once when a task arrives.
//!
//! Context switches are counted for each thread, so other tests of this process do not disturb the
//! count. Each pool has a name that no other test uses.

use crate::support::silence::check_silent_for;
use crate::support::sync::Mutex;
use crate::support::{check_all_run, wait_until, watched, workers};
use heist::{Executor, ExecutorConfig};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

#[track_caller]
fn check_silent(thread_name: &str, workers_wanted: usize) {
    check_silent_for(thread_name, workers_wanted, Duration::from_secs(1));
}

fn start(config: ExecutorConfig) -> (Executor<u32>, Arc<AtomicU64>) {
    let ran = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&ran);
    let runner = move |_task, _ctx: &mut heist::WorkerCtx<'_, u32, ()>| {
        counter.fetch_add(1, Ordering::Release);
    };
    (Executor::new(config, |_| (), runner).unwrap(), ran)
}

#[test]
fn a_pool_that_never_had_work_is_silent() {
    watched(|| {
        let (executor, _) = start(workers(4).thread_name("fresh"));
        check_silent("fresh", 4);
        check_all_run(&executor.join(), 0);
    });
}

#[test]
fn a_pool_that_had_work_is_silent_and_wakes_again() {
    watched(|| {
        let (executor, ran) = start(workers(3).thread_name("rested"));
        for round in 1..=2 {
            executor.spawn_batch(0..10_000).unwrap();
            wait_until("all have run", || ran.load(Ordering::Acquire) == 10_000 * round);
            check_silent("rested", 3);
        }
        let began = Instant::now();
        executor.spawn(1).unwrap();
        while ran.load(Ordering::Acquire) < 20_001 {
            thread::yield_now();
        }
        // A wake-up takes about 50 µs. This only distinguishes it from occasional polling.
        assert!(began.elapsed() < Duration::from_secs(2));
        check_all_run(&executor.join(), 20_001);
    });
}

#[test]
fn a_large_pool_is_silent_and_workers_beyond_the_64th_wake() {
    const WORKERS: usize = 70;
    watched(|| {
        let barrier = Barrier::new(WORKERS);
        let seen = Arc::new(Mutex::new(HashSet::new()));
        let ids = Arc::clone(&seen);
        let config = workers(WORKERS).thread_name("large");
        let runner = move |(), ctx: &mut heist::WorkerCtx<'_, (), ()>| {
            ids.lock().unwrap().insert(ctx.worker_id());
            barrier.wait();
        };
        let executor = Executor::new(config, |_| (), runner).unwrap();
        check_silent("large", WORKERS);
        executor.spawn_batch(vec![(); WORKERS]).unwrap();
        check_all_run(&executor.join(), WORKERS as u64);
        assert_eq!(*seen.lock().unwrap(), (0..WORKERS).collect());
    });
}

#[test]
fn an_idle_pool_without_stealing_and_spinning_is_silent() {
    watched(|| {
        let config = workers(2).thread_name("plain").stealing(false).spin_iters(0);
        let (executor, ran) = start(config);
        executor.spawn_batch(0..1_000).unwrap();
        wait_until("all have run", || ran.load(Ordering::Acquire) == 1_000);
        check_silent("plain", 2);
        check_all_run(&executor.join(), 1_000);
    });
}

/// A cancelled pool may need a wake-up, but must not keep polling.
#[test]
fn a_cancelled_pool_is_silent() {
    watched(|| {
        let config = workers(2).thread_name("cancelled");
        let cancel = config.cancel.clone();
        let (executor, _) = start(config);
        cancel.cancel();
        assert!(!executor.handle().is_accepting());
        check_silent("cancelled", 2);
        check_all_run(&executor.join(), 0);
    });
}
