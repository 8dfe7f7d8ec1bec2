//! Proves that the counters add up: every task is counted once, by where it was found; every
//! wake-up that arrives was sent; the histograms contain samples; and a snapshot can be taken at
//! any time.

use crate::support::{
    check_all_run, check_finished, job, occupy_worker, silent, start_jobs, wait_until, watched,
    workers,
};
use heist::{Executor, OnPanic, WorkerCtx};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

#[test]
fn tasks_are_counted_by_where_they_were_found() {
    watched(|| {
        // The tasks come one by one to a single worker, so each comes directly from the injector.
        let executor = start_jobs(workers(1).injector_batch(1));
        executor.spawn_batch((0..10).map(|_| job(|_| {}))).unwrap();
        let metrics = executor.join();
        check_all_run(&metrics, 10);
        assert_eq!((metrics.tasks_injector, metrics.tasks_local), (10, 0));

        let executor = start_jobs(workers(1));
        executor
            .spawn(job(|ctx| {
                for _ in 0..10 {
                    ctx.spawn_local(job(|_| {}));
                }
            }))
            .unwrap();
        let metrics = executor.join();
        check_all_run(&metrics, 11);
        assert_eq!((metrics.tasks_injector, metrics.tasks_local), (1, 10));
        assert_eq!((metrics.tasks_stolen, metrics.steals_tried, metrics.tasks_moved), (0, 0, 0));
    });
}

#[test]
fn stolen_tasks_are_counted() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let barrier = Arc::new(Barrier::new(2));
        let meeting = Arc::clone(&barrier);
        executor
            .spawn(job(move |ctx| {
                let other = Arc::clone(&meeting);
                ctx.spawn_local(job(move |_| {
                    other.wait();
                }));
                // Only another worker can run the child while this one waits for it.
                meeting.wait();
            }))
            .unwrap();
        let metrics = executor.join();
        check_all_run(&metrics, 2);
        assert_eq!((metrics.tasks_stolen, metrics.steals_won, metrics.tasks_moved), (1, 1, 1));
        assert_eq!(metrics.tasks_injector, 1);
    });
}

#[test]
fn panics_and_dropped_tasks_are_counted() {
    watched(|| {
        let config = silent(workers(1)).on_panic(OnPanic::Isolate);
        let executor = start_jobs(config);
        let handle = executor.handle();
        executor.spawn_batch((0..3).map(|_| job(|_| panic!("counted")))).unwrap();
        wait_until("all have panicked", || handle.metrics().panics == 3);
        let latch = occupy_worker(&executor);
        executor.spawn_batch((0..7).map(|_| job(|_| {}))).unwrap();
        wait_until("they are queued", || handle.metrics().injector_depth == 7);
        executor.shutdown();
        latch.open();
        let metrics = executor.join();
        check_finished(&metrics, 11);
        assert_eq!((metrics.panics, metrics.tasks_run(), metrics.tasks_dropped), (3, 4, 7));
    });
}

#[test]
fn a_snapshot_can_be_taken_while_tasks_run() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        assert_eq!(handle.metrics().tasks_ended(), 0);
        let (latch, other) = (occupy_worker(&executor), occupy_worker(&executor));
        for queued in 1..=5 {
            executor.spawn(job(|_| {})).unwrap();
            assert_eq!(handle.metrics().injector_depth, queued);
            assert_eq!(executor.metrics().tasks_run(), 0);
        }
        latch.open();
        wait_until("one worker has run them", || handle.metrics().tasks_run() == 6);
        assert_eq!(handle.metrics().injector_depth, 0);
        other.open();
        let metrics = executor.join();
        check_all_run(&metrics, 7);
        assert_eq!(metrics, handle.metrics(), "nothing changes after the end");
    });
}

#[test]
fn a_task_reads_its_own_workers_counters() {
    watched(|| {
        let executor = Executor::new(
            workers(1),
            |_| 0,
            |_task: u64, ctx: &mut WorkerCtx<'_, u64, u64>| {
                let metrics = ctx.metrics();
                assert_eq!(metrics.threads, 1);
                assert_eq!(metrics.tasks_run(), *ctx.scratch, "the running task is not counted");
                *ctx.scratch += 1;
            },
        )
        .unwrap();
        executor.spawn_batch(0..200).unwrap();
        check_all_run(&executor.join(), 200);

        let executor = start_jobs(workers(3));
        for _ in 0..100 {
            executor
                .spawn(job(|ctx| {
                    let (mine, all) = (ctx.metrics(), ctx.handle().metrics());
                    assert_eq!((mine.threads, all.threads), (1, 3));
                    assert!(mine.tasks_run() <= all.tasks_run());
                }))
                .unwrap();
        }
        check_all_run(&executor.join(), 100);
    });
}

#[test]
fn histograms_hold_samples_of_the_right_size() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slow = || job(|_| thread::sleep(Duration::from_millis(2)));
        executor.spawn_batch((0..100).map(|_| slow())).unwrap();
        let metrics = executor.join();
        check_all_run(&metrics, 100);
        let task_time = metrics.task_time_ns;
        assert!((1..=100).contains(&task_time.count()), "{task_time:?}");
        assert!(task_time.quantile(0.5).unwrap() >= 2_000_000, "{task_time:?}");
        assert!(metrics.queue_time_ns.count() >= 1);

        // Tasks that wait in the injector while the only worker is blocked for 20 ms have waited
        // that long.
        let executor = start_jobs(workers(1));
        let latch = occupy_worker(&executor);
        executor.spawn_batch((0..200).map(|_| job(|_| {}))).unwrap();
        thread::sleep(Duration::from_millis(20));
        latch.open();
        let metrics = executor.join();
        check_all_run(&metrics, 201);
        let queue_time = metrics.queue_time_ns;
        assert!(queue_time.quantile(1.0).unwrap() >= 20_000_000, "{queue_time:?}");
    });
}

#[test]
fn no_more_wake_ups_arrive_than_are_sent() {
    watched(|| {
        let executor = start_jobs(workers(3).spin_iters(0));
        let handle = executor.handle();
        for round in 1..=200 {
            executor.spawn(job(|ctx| ctx.spawn_local(job(|_| {})))).unwrap();
            wait_until("the round is over", || handle.metrics().tasks_run() == 2 * round);
        }
        let metrics = executor.join();
        check_all_run(&metrics, 400);
        assert!(metrics.wakes_received > 0, "{metrics}");
        assert!(metrics.wakes_received <= metrics.wakes_sent, "{metrics}");
        assert!(metrics.wakes_received <= metrics.parks, "{metrics}");
        // Some worker has published the counts of all tasks that ended.
        assert!(metrics.counter_flushes > 0 && metrics.termination_checks > 0, "{metrics}");
        assert!(metrics.searches > 0, "{metrics}");
    });
}

#[test]
fn a_snapshot_is_printed_in_a_few_lines() {
    watched(|| {
        let executor = start_jobs(workers(1));
        executor.spawn(job(|ctx| ctx.spawn_local(job(|_| {})))).unwrap();
        let shown = executor.join().to_string();
        assert!(
            shown.starts_with(
                "tasks: 2 run on 1 threads (1 local, 1 injected, 0 stolen), 0 dropped"
            ),
            "{shown}"
        );
        assert!(shown.contains("task time") && shown.contains("queue time"), "{shown}");
        assert!((3..=8).contains(&shown.lines().count()), "{shown}");
    });
}
