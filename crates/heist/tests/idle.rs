//! Proves that an idle pool does nothing at all (its threads make no context switch, so no system call that could
//! sleep), and that it is awake at once when a task comes.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#![cfg(target_os = "linux")]

mod support;

use heist::{Executor, ExecutorConfig, Runtime};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use support::event::Event;
use support::silence::check_silent_for;
use support::sync::Mutex;
use support::{check_all_run, threads_named, wait_until, watched, workers};

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
        let (executor, _) = start(ExecutorConfig { thread_name: "fresh".to_owned(), ..workers(4) });
        check_silent("fresh", 4);
        check_all_run(&executor.join(), 0);
    });
}

#[test]
fn a_pool_that_had_work_is_silent_and_wakes_again() {
    watched(|| {
        let (executor, ran) =
            start(ExecutorConfig { thread_name: "rested".to_owned(), ..workers(3) });
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
        // A wake-up takes some 50 µs; this only tells it from a poll that comes by now and then.
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
        let config = ExecutorConfig { thread_name: "large".to_owned(), ..workers(WORKERS) };
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
fn a_pool_without_stealing_and_without_spinning_is_silent_too() {
    watched(|| {
        let config = ExecutorConfig {
            thread_name: "plain".to_owned(),
            stealing: false,
            spin_iters: 0,
            ..workers(2)
        };
        let (executor, ran) = start(config);
        executor.spawn_batch(0..1_000).unwrap();
        wait_until("all have run", || ran.load(Ordering::Acquire) == 1_000);
        check_silent("plain", 2);
        check_all_run(&executor.join(), 1_000);
    });
}

/// A cancelled pool may have to be told, but must not keep looking.
#[test]
fn a_cancelled_pool_is_silent() {
    watched(|| {
        let config = ExecutorConfig { thread_name: "cancelled".to_owned(), ..workers(2) };
        let cancel = config.cancel.clone();
        let (executor, _) = start(config);
        cancel.cancel();
        assert!(!executor.handle().is_accepting());
        check_silent("cancelled", 2);
        check_all_run(&executor.join(), 0);
    });
}

/// Futures that wait, and threads for blocking calls that wait for the next one, cost nothing.
#[test]
fn a_runtime_whose_futures_wait_is_silent_and_they_wake_again() {
    watched(|| {
        let runtime = Runtime::builder().workers(2).thread_name("waiting").build().unwrap();
        let event = Event::default();
        let futures: Vec<_> = (0..1_000)
            .map(|_| {
                let event = event.clone();
                runtime.spawn(async move { event.wait().await })
            })
            .collect();
        runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        wait_until("they wait", || event.waiting() == 1_000);
        check_silent("waiting", 2 + 1);
        event.set();
        futures.into_iter().for_each(|future| runtime.block_on(future).unwrap());
        check_silent("waiting", 2 + 1);
    });
}

#[test]
fn a_runtime_whose_threads_for_blocking_calls_have_left_is_silent() {
    watched(|| {
        let builder = Runtime::builder().workers(2).thread_name("left");
        let runtime = builder.blocking_keep_alive(Duration::from_millis(50)).build().unwrap();
        for call in runtime.spawn_blocking_batch([(); 10].map(|()| || ())) {
            runtime.block_on(call).unwrap();
        }
        wait_until("they have left", || threads_named("left-").len() == 2);
        check_silent("left", 2);
        assert_eq!(runtime.metrics().blocking_threads, 0);
    });
}
