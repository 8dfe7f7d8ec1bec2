//! Proves that `in_flight` counts the tasks and futures that were spawned and have not ended,
//! wherever they wait; that it counts nothing else; and that it goes down to 0.

use crate::support::{job, occupy_worker, silent, start_jobs, wait_until, watched, workers};
use heist::{CountBudget, Executor};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

#[test]
fn what_was_accepted_and_has_not_ended_is_in_flight() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        assert_eq!(handle.in_flight(), 0);
        let gate = occupy_worker(&executor);
        assert_eq!(handle.in_flight(), 1, "a running task");
        executor.spawn(job(|_| {})).unwrap();
        executor.spawn_batch(vec![job(|_| {}), job(|_| {})]).unwrap();
        assert_eq!(handle.in_flight(), 4, "and queued ones");
        let endless = handle.spawn_future(pending::<()>()).unwrap();
        assert_eq!(executor.in_flight(), 5, "and a future");
        let budget = CountBudget::new(1).unwrap();
        let permit = budget.try_acquire(1).unwrap();
        budget.acquire_then(1, &handle, |_granted| job(|_| {})).unwrap();
        assert_eq!(handle.in_flight(), 6, "and a task that waits for a permit");
        gate.open();
        wait_until("the tasks have ended", || handle.in_flight() == 2);
        drop(permit);
        wait_until("the task that waited has ended", || handle.in_flight() == 1);
        endless.abort();
        wait_until("the future is gone", || handle.in_flight() == 0);
        executor.join();
        assert!(handle.spawn(job(|_| {})).is_err());
        assert_eq!(handle.in_flight(), 0, "a refused task is not counted");
    });
}

#[test]
fn a_task_and_its_children_are_in_flight_until_they_have_ended() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let (counts, counted) = channel();
        let task = job(move |ctx| {
            let handle = ctx.handle();
            counts.send(handle.in_flight()).unwrap();
            ctx.spawn_local(job(|_| {}));
            ctx.spawn_local_batch([job(|_| {}), job(|_| {})]);
            ctx.spawn_global(job(|_| {}));
            ctx.spawn_future(async {}).detach();
            counts.send(handle.in_flight()).unwrap();
        });
        let handle = executor.handle();
        executor.spawn(task).unwrap();
        executor.join();
        assert_eq!([counted.recv().unwrap(), counted.recv().unwrap()], [1, 6]);
        assert_eq!(handle.in_flight(), 0);
    });
}

#[test]
fn what_panics_or_is_dropped_is_no_longer_in_flight() {
    watched(|| {
        let executor = start_jobs(silent(workers(2)));
        let handle = executor.handle();
        let tasks = (0..100).map(|number| job(move |_| assert_ne!(number, 50, "on purpose")));
        handle.spawn_batch(tasks).unwrap();
        wait_until("everything was run or dropped", || handle.in_flight() == 0);
        assert_eq!(handle.metrics().tasks_ended(), 100);
        drop(executor);
    });
}

/// While everything changes, the count is never above what was ever spawned, and so never below 0.
#[test]
fn a_racing_count_stays_within_its_bounds() {
    const CHILDREN: u64 = 20_000;
    watched(|| {
        let executor = Executor::new(
            workers(2),
            |_| (),
            |depth: u32, ctx| {
                if depth > 0 {
                    ctx.spawn_local(depth - 1);
                }
            },
        )
        .unwrap();
        let endless = executor.handle().spawn_future(pending::<()>()).unwrap();
        let (handle, done) = (executor.handle(), AtomicBool::new(false));
        let looks = thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut looks = 0_u64;
                while !done.load(Ordering::Acquire) {
                    let in_flight = handle.in_flight();
                    assert!(in_flight <= 1 + CHILDREN, "{in_flight}");
                    looks += 1;
                }
                looks
            });
            for _ in 0..CHILDREN / 10 {
                executor.spawn(9).unwrap();
            }
            wait_until("only the future is left", || executor.in_flight() == 1);
            done.store(true, Ordering::Release);
            watcher.join().unwrap()
        });
        assert!(looks > 0);
        drop(endless);
        executor.shutdown();
        executor.join();
    });
}
