//! Tests of `ExecutorBuilder::build_with`: what a worker gives back before it sleeps.

use heist::{AcquireError, CountBudget, CountPermit, Executor, OnPanic};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

enum Task {
    /// Takes the permit into the scratch and keeps it there.
    TakeAndKeep,
    /// Has waited for the permit, and drops it.
    Granted(Result<CountPermit, AcquireError>),
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_waiting_task_gets_the_permit_that_a_worker_gives_back_before_it_parks() {
    for _ in 0..200 {
        let budget = CountBudget::new(1).unwrap();
        let granted = Arc::new(AtomicUsize::new(0));
        let executor = {
            let (budget, granted) = (budget.clone(), Arc::clone(&granted));
            Executor::builder().threads(2).build_with(
                |_worker| None::<CountPermit>,
                move |task, ctx| match task {
                    Task::TakeAndKeep => *ctx.scratch = budget.try_acquire(1).ok(),
                    Task::Granted(permit) => {
                        drop(permit.expect("the budget is open"));
                        granted.fetch_add(1, Ordering::Relaxed);
                    }
                },
                |held| *held = None,
            )
        }
        .unwrap();
        executor.spawn(Task::TakeAndKeep).unwrap();
        budget.acquire_then(1, &executor.handle(), Task::Granted).unwrap();
        // Without the hook, the permit would stay with the sleeping worker, and `join` would never
        // end.
        executor.join();
        assert_eq!(granted.load(Ordering::Relaxed), 1);
        assert_eq!(budget.available(), 1);
    }
}

#[test]
fn a_worker_gives_its_permit_back_before_it_parks_without_another_event() {
    let budget = CountBudget::new(1).unwrap();
    let (shared, taken) = (budget.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&taken);
    let executor = Executor::builder()
        .threads(1)
        .build_with(
            |_worker| None::<CountPermit>,
            move |(), ctx| {
                *ctx.scratch = shared.try_acquire(1).ok();
                counted.fetch_add(usize::from(ctx.scratch.is_some()), Ordering::Relaxed);
            },
            |held| *held = None,
        )
        .unwrap();
    executor.spawn(()).unwrap();
    wait_until("the permit", || taken.load(Ordering::Relaxed) == 1 && budget.available() == 1);
    executor.join();
}

#[test]
fn a_panic_in_the_hook_counts_like_any_other() {
    let panicking = |on_panic| {
        let executor = Executor::builder()
            .threads(1)
            .on_panic(on_panic)
            .build_with(
                |_worker| false,
                |(), ctx| *ctx.scratch = true,
                |ran| assert!(!*ran, "the hook panics after a task"),
            )
            .unwrap();
        let handle = executor.handle();
        executor.spawn(()).unwrap();
        wait_until("the panic", || !handle.panics().is_empty());
        (executor, handle)
    };
    // Isolated: the scratch is rebuilt and the worker continues.
    let (executor, handle) = panicking(OnPanic::Isolate);
    executor.spawn(()).unwrap();
    wait_until("the next panic", || handle.panics().len() == 2);
    executor.join();
    // Not isolated: the panic ends the pool.
    let (executor, _handle) = panicking(OnPanic::StopPool);
    let joined = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| executor.join()));
    assert!(joined.is_err());
}
