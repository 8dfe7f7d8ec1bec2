//! Proves that a `CancelToken` ends a pool from outside: running tasks can see it, queued ones are
//! dropped and counted, new ones are refused, and the pool can be joined no matter what it was
//! doing.

use crate::support::{
    Latch, check_all_run, check_finished, job, occupy_worker, start_jobs, wait_until, watched,
    workers,
};
use heist::{CancelToken, ExecutorConfig, SpawnErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

fn cancellable(workers_wanted: usize) -> (CancelToken, ExecutorConfig) {
    let cancel = CancelToken::new();
    (cancel.clone(), workers(workers_wanted).cancel(cancel))
}

#[test]
fn running_tasks_see_the_cancellation() {
    watched(|| {
        let (cancel, config) = cancellable(3);
        let executor = start_jobs(config);
        let running = Arc::new(AtomicU64::new(0));
        for _ in 0..3 {
            let entered = Arc::clone(&running);
            executor
                .spawn(job(move |ctx| {
                    assert!(!ctx.is_cancelled());
                    entered.fetch_add(1, Ordering::Relaxed);
                    while !ctx.is_cancelled() {
                        thread::yield_now();
                    }
                }))
                .unwrap();
        }
        wait_until("all run", || running.load(Ordering::Relaxed) == 3);
        cancel.cancel();
        check_all_run(&executor.join(), 3);
    });
}

#[test]
fn queued_tasks_are_dropped_and_counted() {
    watched(|| {
        let (cancel, config) = cancellable(1);
        let executor = start_jobs(config);
        let alive = Arc::new(());
        let latch = occupy_worker(&executor);
        for _ in 0..100 {
            let value = Arc::clone(&alive);
            executor.spawn(job(move |_| unreachable!("{value:?}"))).unwrap();
        }
        cancel.cancel();
        latch.open();
        let metrics = executor.join();
        check_finished(&metrics, 101);
        assert_eq!(metrics.tasks_dropped, 100);
        assert_eq!(Arc::strong_count(&alive), 1, "their values are freed");
    });
}

#[test]
fn tasks_spawned_after_the_cancellation_are_dropped() {
    watched(|| {
        let (cancel, config) = cancellable(2);
        let executor = start_jobs(config);
        executor
            .spawn(job(move |ctx| {
                cancel.cancel();
                ctx.spawn_local(job(|_| unreachable!()));
                ctx.spawn_local_batch((0..10).map(|_| job(|_| unreachable!())));
                ctx.spawn_global(job(|_| unreachable!()));
                ctx.spawn_yielded(job(|_| unreachable!()));
                let refused = ctx.handle().spawn(job(|_| unreachable!())).unwrap_err();
                assert_eq!(refused.kind(), SpawnErrorKind::Cancelled);
            }))
            .unwrap();
        let metrics = executor.join();
        check_finished(&metrics, 14);
        assert_eq!((metrics.tasks_run(), metrics.tasks_dropped, metrics.panics), (1, 13, 0));
    });
}

#[test]
fn an_idle_pool_can_be_joined_or_dropped_after_it_was_cancelled() {
    watched(|| {
        for round in 0..100 {
            let (cancel, config) = cancellable(1 + round % 3);
            let executor = start_jobs(config);
            if round % 5 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
            cancel.cancel();
            assert!(!executor.handle().is_accepting());
            if round % 2 == 0 {
                check_all_run(&executor.join(), 0);
            } else {
                drop(executor);
            }
        }
    });
}

#[test]
fn cancelling_releases_a_producer() {
    watched(|| {
        let (cancel, config) = cancellable(1);
        let executor = start_jobs(config);
        let handle = executor.handle();
        let producer = thread::spawn(move || {
            for accepted in 0.. {
                let slow = job(|_| thread::sleep(Duration::from_micros(20)));
                if let Err(error) = handle.spawn(slow) {
                    return (accepted, error.kind());
                }
            }
            unreachable!("the input is endless");
        });
        thread::sleep(Duration::from_millis(20));
        cancel.cancel();
        let (accepted, kind) = producer.join().unwrap();
        assert_eq!(kind, SpawnErrorKind::Cancelled);
        check_finished(&executor.join(), accepted);
    });
}

#[test]
fn a_token_cancels_all_its_pools_and_a_child_token_only_its_own() {
    watched(|| {
        let root = CancelToken::new();
        let child = root.child();
        let config = |cancel: &CancelToken| workers(1).cancel(cancel.clone());
        let (one, two) = (start_jobs(config(&child)), start_jobs(config(&root)));
        let three = start_jobs(config(&root.child()));
        child.cancel();
        assert!(!one.handle().is_accepting());
        let ran = Latch::default();
        let opened = ran.clone();
        two.spawn(job(move |_| opened.open())).unwrap();
        ran.wait();
        three.spawn(job(|_| {})).unwrap();
        wait_until("the sibling has run it", || three.metrics().tasks_run() == 1);
        root.cancel();
        for pool in [&two, &three] {
            let refused = pool.spawn(job(|_| {})).unwrap_err();
            assert_eq!(refused.kind(), SpawnErrorKind::Cancelled);
        }
        check_all_run(&one.join(), 0);
        check_all_run(&two.join(), 1);
        check_all_run(&three.join(), 1);
    });
}
