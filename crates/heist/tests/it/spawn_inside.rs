//! Proves that an executor that is being joined still accepts what its own tasks and futures spawn
//! through a handle, and runs it before `join` returns; that it accepts nothing from other threads
//! then; and that a stopped executor refuses both.

use crate::support::{Job, Runs, check_all_run, job, start_jobs, wait_until, watched, workers};
use heist::{CancelToken, Executor, ExecutorHandle, RunOutput, SpawnErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Yields until `join` has closed the executor to other threads.
async fn join_has_begun<T>(handle: &ExecutorHandle<T>) {
    while handle.is_accepting() {
        heist::yield_now().await;
    }
}

/// The README's example "One pool for both", with many objects, joined at once.
#[test]
fn tasks_that_futures_spawn_while_the_executor_is_joined_are_run() {
    const OBJECTS: usize = 100;
    watched(|| {
        for count in [1, 2, 4] {
            let runs = Runs::of(OBJECTS);
            let counter = Arc::clone(&runs);
            let executor =
                Executor::new(workers(count), |_| (), move |object, _ctx| counter.count(object))
                    .unwrap();
            for object in 0..OBJECTS {
                let handle = executor.handle();
                let fetch = async move {
                    join_has_begun(&handle).await;
                    handle.spawn(object).expect("a future of the executor is not refused");
                };
                executor.handle().spawn_future(fetch).unwrap().detach();
            }
            check_all_run(&executor.join(), OBJECTS as u64);
            runs.check(|_object| 1);
        }
    });
}

/// A task spawns through a handle, with each of the three calls, and the spawned tasks do the same.
#[test]
fn tasks_spawn_through_a_handle_while_the_executor_is_joined() {
    fn spawn_children(depth: u32, handle: &ExecutorHandle<u32>) {
        if depth > 0 {
            handle.spawn(depth - 1).unwrap();
            handle.spawn_batch(vec![depth - 1, depth - 1]).unwrap();
            let mut drained = vec![depth - 1];
            handle.spawn_drain(&mut drained).unwrap();
            assert!(drained.is_empty());
        }
    }
    watched(|| {
        let executor = Executor::new(
            workers(2),
            |_| (),
            |depth, ctx| {
                let handle = ctx.handle();
                wait_until("join has begun", || !handle.is_accepting());
                spawn_children(depth, &handle);
            },
        )
        .unwrap();
        executor.spawn(4).unwrap();
        check_all_run(&executor.join(), 1 + 4 + 16 + 64 + 256);
    });
}

/// A run is closed to other threads from its beginning.
#[test]
fn tasks_of_a_run_spawn_through_a_handle() {
    watched(|| {
        let elsewhere = AtomicU32::new(0);
        let RunOutput { metrics, .. } = heist::run(
            workers(2),
            [3_u32],
            |_| (),
            |depth, ctx| {
                let handle = ctx.handle();
                if depth > 0 {
                    handle.spawn(depth - 1).unwrap();
                }
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let refused = handle.spawn(7).unwrap_err();
                        assert_eq!(refused.kind(), SpawnErrorKind::Closed);
                        assert_eq!(refused.into_inner(), 7);
                        elsewhere.fetch_add(1, Ordering::Relaxed);
                    });
                });
            },
        )
        .unwrap();
        check_all_run(&metrics, 4);
        assert_eq!(elsewhere.into_inner(), 4, "each task's own thread was refused");
    });
}

/// A stopped executor gives a task back to its producer, also to one of its own tasks.
#[test]
fn a_stopped_executor_refuses_what_its_own_tasks_spawn() {
    type Stop = fn(&ExecutorHandle<Job>, &CancelToken);
    let cases: [(SpawnErrorKind, Stop); 2] = [
        (SpawnErrorKind::ShutDown, |handle, _cancel| handle.shutdown()),
        (SpawnErrorKind::Cancelled, |_handle, cancel| cancel.cancel()),
    ];
    watched(move || {
        for (kind, stop) in cases {
            let cancel = CancelToken::new();
            let config = workers(1).cancel(cancel.clone());
            let executor = start_jobs(config);
            let (refusals, refused) = channel();
            let task = job(move |ctx| {
                let handle = ctx.handle();
                wait_until("join has begun", || !handle.is_accepting());
                handle.spawn(job(|_| {})).expect("the executor is only being joined");
                stop(&handle, &cancel);
                let single = handle.spawn(job(|_| {})).unwrap_err();
                let batch = handle.spawn_batch(vec![job(|_| {}), job(|_| {})]).unwrap_err();
                refusals.send((single.kind(), batch.kind(), batch.into_inner().len())).unwrap();
            });
            executor.spawn(task).unwrap();
            let metrics = executor.join();
            assert_eq!(refused.recv().unwrap(), (kind, kind, 2));
            assert_eq!((metrics.tasks_run(), metrics.tasks_dropped), (1, 1), "{kind:?}");
        }
    });
}
