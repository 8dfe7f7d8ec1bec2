//! Proves that a closed pool accepts nothing: each task is either accepted and run exactly once, or
//! refused and returned with the reason, no matter what closes the pool and what races with it.

use crate::support::{Runs, check_all_run, job, silent, start_jobs, watched, workers};
use heist::{CancelToken, Executor, ExecutorHandle, SpawnErrorKind};
use std::sync::Arc;
use std::thread;

/// Spawns numbers from a range until one is refused, alternately one by one and in batches. Returns
/// how many were accepted. Checks that refused tasks come back unchanged.
fn produce_until_refused(handle: &ExecutorHandle<usize>, first: usize, last: usize) -> usize {
    let mut next = first;
    while next + 3 < last {
        if let Err(error) = handle.spawn(next) {
            assert_eq!(error.kind(), SpawnErrorKind::Closed);
            assert_eq!(error.into_inner(), next);
            break;
        }
        next += 1;
        if let Err(error) = handle.spawn_batch(vec![next, next + 1, next + 2]) {
            assert_eq!(error.kind(), SpawnErrorKind::Closed);
            assert_eq!(error.into_inner(), [next, next + 1, next + 2]);
            break;
        }
        next += 3;
    }
    next - first
}

#[test]
fn producers_that_race_with_join_have_each_task_run_once_or_returned() {
    const PRODUCERS: usize = 3;
    const RANGE: usize = 20_000;
    watched(|| {
        for round in 0..30 {
            let runs = Runs::of(PRODUCERS * RANGE);
            let counter = Arc::clone(&runs);
            let executor =
                Executor::new(workers(2), |_| (), move |task, _ctx| counter.count(task)).unwrap();
            let producers: Vec<_> = (0..PRODUCERS)
                .map(|producer| {
                    let (handle, first) = (executor.handle(), producer * RANGE);
                    thread::spawn(move || produce_until_refused(&handle, first, first + RANGE))
                })
                .collect();
            thread::sleep(std::time::Duration::from_micros(100 * round));
            let metrics = executor.join();
            let accepted: Vec<_> =
                producers.into_iter().map(|producer| producer.join().unwrap()).collect();
            check_all_run(&metrics, accepted.iter().sum::<usize>() as u64);
            runs.check(|task| u32::from(task % RANGE < accepted[task / RANGE]));
        }
    });
}

#[test]
fn a_refused_task_comes_back_with_the_reason() {
    type Stop = fn(Executor<crate::support::Job>, &CancelToken);
    let cases: [(SpawnErrorKind, Stop); 4] = [
        (SpawnErrorKind::Closed, |executor, _| {
            executor.join();
        }),
        (SpawnErrorKind::ShutDown, |executor, _| executor.shutdown()),
        (SpawnErrorKind::Cancelled, |_executor, token| token.cancel()),
        (SpawnErrorKind::Panicked, |executor, _| {
            executor.spawn(job(|_| panic!("deliberate panic"))).unwrap();
            crate::support::wait_until("the panic has closed the intake", || {
                !executor.handle().is_accepting()
            });
        }),
    ];
    watched(move || {
        for (kind, stop) in cases {
            let cancel = CancelToken::new();
            let executor = start_jobs(silent(workers(2).cancel(cancel.clone())));
            let handle = executor.handle();
            assert!(handle.is_accepting());
            stop(executor, &cancel);
            assert!(!handle.is_accepting(), "{kind:?}");

            let error = handle.spawn(job(|_| {})).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert_eq!(error.to_string(), format!("task refused: {kind}"));
            let error = handle.spawn_batch(vec![job(|_| {}), job(|_| {})]).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert_eq!(error.into_inner().len(), 2, "all or nothing");
            let mut tasks = vec![job(|_| {}), job(|_| {})];
            assert_eq!(handle.spawn_drain(&mut tasks).unwrap_err().kind(), kind);
            assert_eq!(tasks.len(), 2, "a refused vector is unchanged");
        }
    });
}
