//! The whole pool under loom: the real workers, worker loop and shared state, over queues with the
//! real publication order.
//!
//! `Size` says how far each model is explored, and when.

use crate::support::{
    DEADLOCK, Kept, LookAgain, Rendezvous, Size, Tally, check, config, must_fail, start,
    start_loaded, start_with,
};
use heist::__internal::executor::{TaskRunner, Worker, handle_of};
use heist::__internal::sync::Arc;
use heist::__internal::sync::plant::Plant;
use heist::trace::NoTrace;
use heist::{
    AcquireError, CountBudget, CountPermit, ExecutorConfig, OnPanic, SpawnErrorKind, WorkerCtx,
};

fn push_against_park() {
    let ran = Tally::default();
    let (shared, threads) = start(&config(1), {
        let ran = ran.clone();
        move |_, ()| ran.add()
    });
    shared.spawn(()).unwrap();
    shared.close();
    threads.join();
    assert_eq!(ran.get(), 1);
}

#[test]
fn a_push_against_a_parking_worker() {
    check(Size::Medium, push_against_park);
}

/// A worker that looks again after the close goes quiet before it looks, and keeps searching.
#[test]
fn a_quiet_worker_that_looks_again() {
    check(Size::Medium, || {
        let ran = Tally::default();
        let (shared, threads) = {
            let ran = ran.clone();
            start_with(&config(1), move |worker| {
                let ran = ran.clone();
                let run = &mut |_: &mut Worker<()>, ()| ran.add();
                worker.work_until_done(&mut LookAgain::new(1), &mut NoTrace, run);
            })
        };
        shared.spawn(()).unwrap();
        shared.close();
        threads.join();
        assert_eq!(ran.get(), 1);
    });
}

#[test]
fn join_on_an_idle_pool() {
    check(Size::Medium, || {
        let (shared, threads) = start(&config(2), |_, ()| {});
        shared.close();
        threads.join();
    });
}

/// Two threads close a pool at once. Only the first one checks for the end, and the workers still
/// leave.
#[test]
fn two_closes_of_an_idle_pool() {
    check(Size::Medium, || {
        let (shared, threads) = start(&config(1), |_, ()| {});
        let other = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || shared.close())
        };
        shared.close();
        threads.join();
        other.join().unwrap();
    });
}

/// A task spawns another one through a handle while the pool is closed.
#[test]
fn a_spawn_by_a_task_against_a_close() {
    check(Size::Medium, || {
        let ran = Tally::default();
        let (shared, threads) = {
            let ran = ran.clone();
            start_with(&config(1), move |worker| {
                let runner = |depth: u32, ctx: &mut WorkerCtx<'_, u32, ()>| {
                    ran.add();
                    if depth > 0 {
                        ctx.handle().spawn(depth - 1).expect("a task of the pool is not refused");
                    }
                };
                let mut tasks =
                    TaskRunner::new(worker, &|_worker| (), &runner, &|_scratch: &mut ()| {});
                crate::support::work(worker, &mut tasks);
            })
        };
        shared.spawn(1).unwrap();
        shared.close();
        threads.join();
        assert_eq!(ran.get(), 2, "the workers left before the second task had run");
        assert_eq!(shared.metrics_snapshot().panics, 0);
    });
}

/// Two tasks from outside that can only end together.
fn two_tasks_need_two_workers() {
    let meeting = Rendezvous::new(2);
    let (shared, threads) = start(&config(2), move |_, ()| meeting.meet());
    shared.spawn(()).unwrap();
    shared.spawn(()).unwrap();
    shared.close();
    threads.join();
}

#[test]
fn two_pushes_against_two_parking_workers() {
    check(Size::Large, two_tasks_need_two_workers);
}

/// A task spawns a child locally and waits for it: another worker must be awake to steal it.
fn a_child_needs_a_thief() {
    let meeting = Rendezvous::new(2);
    let threads = start_loaded(&config(2), vec![1], move |worker, depth: u32| {
        if depth > 0 {
            worker.spawn_local(depth - 1);
        }
        meeting.meet();
    });
    threads.join();
}

#[test]
fn a_local_push_against_a_parking_worker() {
    check(Size::Medium, a_child_needs_a_thief);
}

/// Two tasks arrive as one batch, which one worker moves into its own queue.
fn a_batch_needs_two_workers() {
    let meeting = Rendezvous::new(2);
    start_loaded(&config(2), vec![(), ()], move |_, ()| meeting.meet()).join();
}

#[test]
fn a_moved_batch_against_a_parking_worker() {
    check(Size::Medium, a_batch_needs_two_workers);
}

/// A task panics while another is spawned and, perhaps, the pool is joined: the pool ends, and the
/// second task is run, dropped or refused, but not lost.
fn panic_while_spawning(joined: bool) {
    let dropped = Tally::default();
    let (shared, threads) = start_tasks(&config(1), |task: Payload, _| {
        if task.panics {
            // Not `panic!`, which would call the panic hook thousands of times.
            std::panic::resume_unwind(Box::new("as planned"));
        }
    });
    shared.spawn(Payload { panics: true, dropped: dropped.clone() }).unwrap();
    let second = shared.spawn(Payload { panics: false, dropped: dropped.clone() });
    let accepted = 1 + u64::from(second.is_ok());
    drop(second);
    if joined {
        shared.close();
    }
    threads.join();
    assert_eq!(dropped.get(), 2, "each value is dropped once");
    let metrics = shared.metrics_snapshot();
    assert_eq!(metrics.tasks_ended(), accepted);
    assert_eq!(metrics.panics, 1);
    assert_eq!(shared.spawn(Payload::quiet()).unwrap_err().kind(), SpawnErrorKind::Panicked);
}

#[test]
fn a_panic_against_a_join() {
    check(Size::Medium, || panic_while_spawning(true));
}

/// The producer may be blocked and never join: the panic must close the intake itself.
#[test]
fn a_panic_against_a_producer_that_never_joins() {
    check(Size::Medium, || panic_while_spawning(false));
}

#[test]
fn a_shutdown_against_a_spawn() {
    check(Size::Medium, || {
        let dropped = Tally::default();
        let (shared, threads) = start_tasks(&config(1), |_: Payload, _| {});
        let spawner = {
            let shared = shared.clone();
            let dropped = dropped.clone();
            loom::thread::spawn(move || shared.spawn(Payload { panics: false, dropped }).is_ok())
        };
        shared.shut_down();
        threads.join();
        let accepted = spawner.join().unwrap();
        assert_eq!(dropped.get(), 1, "run, dropped or refused: the value ends once");
        let metrics = shared.metrics_snapshot();
        assert_eq!(metrics.tasks_ended(), u64::from(accepted));
    });
}

/// A value that counts its drop.
struct Payload {
    panics: bool,
    dropped: Tally,
}

impl Payload {
    fn quiet() -> Self {
        Self { panics: false, dropped: Tally::default() }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.dropped.add();
    }
}

/// A pool whose workers use the real task runner: it contains panics, and drops tasks after a stop.
fn start_tasks<T: Send + 'static>(
    config: &ExecutorConfig,
    runner: fn(T, &mut WorkerCtx<'_, T, ()>),
) -> (
    heist::__internal::sync::Arc<heist::__internal::executor::PoolShared<T>>,
    crate::support::Threads,
) {
    let config = config.clone().on_panic(OnPanic::StopPool);
    start_with(&config, move |worker| {
        let scratch_init = |_worker| ();
        let mut tasks = TaskRunner::new(worker, &scratch_init, &runner, &|_scratch: &mut ()| {});
        crate::support::work(worker, &mut tasks);
    })
}

/// A worker keeps a permit between its tasks, and a task waits for that permit. With `gives_back`,
/// the worker gives it back before it parks; otherwise the parked worker keeps it.
fn a_permit_kept_between_tasks(gives_back: bool) {
    /// `None`: take the permit and keep it.
    type Task = Option<Kept<Result<CountPermit, AcquireError>>>;
    let budget = CountBudget::new(1).unwrap();
    let ran = Tally::default();
    let (shared, threads) = {
        let (budget, ran) = (budget.clone(), ran.clone());
        start_with(&config(1), move |worker| {
            let runner = |task: Task, ctx: &mut WorkerCtx<'_, Task, Option<Kept<CountPermit>>>| {
                ran.add();
                match task {
                    None => *ctx.scratch = budget.try_acquire(1).ok().map(Kept::new),
                    Some(granted) => assert!(granted.is_ok(), "the budget stays open"),
                }
            };
            let before_park = |kept: &mut Option<Kept<CountPermit>>| {
                if gives_back {
                    *kept = None;
                }
            };
            let mut tasks = TaskRunner::new(worker, &|_worker| None, &runner, &before_park);
            crate::support::work(worker, &mut tasks);
        })
    };
    shared.spawn(None).unwrap();
    let handle = handle_of(Arc::clone(&shared));
    budget.acquire_then(1, &handle, |granted| Some(Kept::new(granted))).unwrap();
    shared.close();
    threads.join();
    assert_eq!(ran.get(), 2);
}

#[test]
fn what_a_worker_gives_back_before_it_parks_is_found() {
    check(Size::Medium, || a_permit_kept_between_tasks(true));
}

#[test]
fn bites_a_permit_that_sleeps_with_its_worker() {
    assert!(crate::support::fails(2, DEADLOCK, || a_permit_kept_between_tasks(false)));
}

#[test]
fn bites_no_light_fence() {
    must_fail(Plant::NoLightFence, 2, DEADLOCK, push_against_park);
}

#[test]
fn bites_no_heavy_fence() {
    must_fail(Plant::NoHeavyFence, 2, DEADLOCK, push_against_park);
}

#[test]
fn bites_no_look_after_the_bit_is_set() {
    must_fail(Plant::NoLookAfterBit, 2, DEADLOCK, push_against_park);
}

#[test]
fn bites_no_wake_by_the_last_searcher() {
    must_fail(Plant::LastSearcherSilent, 2, DEADLOCK, two_tasks_need_two_workers);
}

#[test]
fn bites_a_batch_moved_without_the_push_rule() {
    must_fail(Plant::MoveWithoutNotify, 2, DEADLOCK, a_batch_needs_two_workers);
}

#[test]
fn bites_an_intake_left_open_on_panic() {
    must_fail(Plant::IntakeOpenOnPanic, 2, DEADLOCK, || panic_while_spawning(false));
}
