//! Waiting tasks and device lanes under loom: the real budgets, device slots, lanes and pool. One
//! worker, and one or two threads that release, submit, cancel or close at the same time.
//!
//! `Size` defines how far each model is explored, and when.

use crate::support::{
    DEADLOCK, Kept, Size, Tally, Threads, check, config, explore, must_fail, start_prepared,
};
use heist::__internal::executor::PoolShared;
use heist::__internal::sync::Arc;
use heist::__internal::sync::plant::Plant;
use heist::{AcquireError, CancelToken, CountBudget, CountPermit, ExecutorHandle, OnPanic};
use heist_device::{DeviceId, DeviceLanes, DeviceSlotPermit, DeviceSlots, DeviceTurn};

/// The message of a model that lost an accepted job.
const ALL: &str = "every job that was accepted has run";

/// The message of a model in which a turn ran in vain, as it then would again and again.
const FRUITLESS: &str = "a turn comes with a device slot and finds a job";

const DISK: DeviceId = DeviceId::from_raw(1);

type Granted = Result<CountPermit, AcquireError>;

/// A pool of one worker whose tasks are permits, and a budget of one permit.
fn pool_and_budget(
    cancel: &CancelToken,
) -> (Arc<PoolShared<Granted>>, CountBudget, ExecutorHandle<Granted>, Threads, Tally) {
    let config = config(1).cancel(cancel.clone());
    let budget = CountBudget::new(1).unwrap();
    let ran = Tally::default();
    let count = ran.clone();
    let run = move |granted: Granted| {
        assert!(granted.is_ok(), "a task without a permit is dropped, not run");
        count.add();
    };
    let (shared, handle, threads) = start_prepared(&config, Clone::clone, run);
    (shared, budget, handle, threads, ran)
}

#[track_caller]
fn wait_then(budget: &CountBudget, handle: &ExecutorHandle<Granted>) -> bool {
    budget.acquire_then(1, handle, |granted| granted).is_ok()
}

/// A task is about to wait while a thread returns the permit and the pool ends.
#[test]
fn a_waiting_task_against_a_release() {
    check(Size::Medium, || {
        let (shared, budget, handle, threads, ran) = pool_and_budget(&CancelToken::new());
        let held = budget.try_acquire(1).unwrap();
        let releaser = loom::thread::spawn(move || drop(held));
        assert!(wait_then(&budget, &handle));
        shared.close();
        threads.join();
        releaser.join().unwrap();
        assert_eq!((ran.get(), budget.available(), budget.waiting()), (1, 1, 0));
    });
}

/// The permit is never granted: the stop must find the task at every stage of its wait.
fn waiting_against_shutdown() {
    let (shared, budget, handle, threads, ran) = pool_and_budget(&CancelToken::new());
    let held = Kept::new(budget.try_acquire(1).unwrap());
    let waiter = {
        let budget = budget.clone();
        loom::thread::spawn(move || wait_then(&budget, &handle))
    };
    shared.shut_down();
    threads.join();
    let accepted = waiter.join().unwrap();
    assert_eq!(ran.get(), 0);
    let metrics = shared.metrics_snapshot();
    assert_eq!((metrics.tasks_dropped, metrics.tasks_waiting), (u64::from(accepted), 0));
    assert_eq!(budget.waiting(), 0, "the task left the queue");
    drop(held);
    assert_eq!(budget.available(), 1);
}

#[test]
fn a_waiting_task_against_a_shutdown() {
    check(Size::Medium, waiting_against_shutdown);
}

#[test]
fn bites_a_stop_that_forgets_waiting_tasks() {
    must_fail(Plant::StopForgetsWaiters, 2, DEADLOCK, waiting_against_shutdown);
}

/// A release and a stop at the same time: the task gets the permit or the error, and the permit is
/// returned.
#[test]
fn a_release_against_a_shutdown() {
    check(Size::Medium, || {
        let (shared, budget, handle, threads, ran) = pool_and_budget(&CancelToken::new());
        let held = budget.try_acquire(1).unwrap();
        assert!(wait_then(&budget, &handle));
        let releaser = loom::thread::spawn(move || drop(held));
        shared.shut_down();
        threads.join();
        releaser.join().unwrap();
        let dropped = shared.metrics_snapshot().tasks_dropped;
        assert_eq!(ran.get() as u64 + dropped, 1, "the task ends once");
        assert_eq!((budget.available(), budget.waiting()), (1, 0));
    });
}

/// All workers sleep and the join has begun, so no thread polls the cancel token.
fn waiting_against_cancel() {
    let cancel = CancelToken::new();
    let (shared, budget, handle, threads, ran) = pool_and_budget(&cancel);
    let held = Kept::new(budget.try_acquire(1).unwrap());
    let canceller = loom::thread::spawn(move || cancel.cancel());
    let accepted = wait_then(&budget, &handle);
    shared.close();
    threads.join();
    canceller.join().unwrap();
    assert_eq!(ran.get(), 0);
    assert_eq!(shared.metrics_snapshot().tasks_dropped, u64::from(accepted));
    assert_eq!(budget.waiting(), 0, "the task left the queue");
    drop(held);
    assert_eq!(budget.available(), 1);
}

#[test]
fn a_waiting_task_against_a_cancellation() {
    check(Size::Medium, waiting_against_cancel);
}

#[test]
fn bites_a_cancellation_that_skips_watchers() {
    must_fail(Plant::CancelSkipsWatchers, 2, DEADLOCK, waiting_against_cancel);
}

/// The first task is granted its permit just when it begins to wait. The second one waits until the
/// pool is cancelled, so the pool must watch its token by then.
#[test]
fn a_cancellation_after_a_first_task_that_did_not_wait() {
    // One pre-emption puts the release between the first task's two attempts. A second one would
    // cost a minute.
    explore(Some(1), || {
        let cancel = CancelToken::new();
        let (shared, budget, handle, threads, ran) = pool_and_budget(&cancel);
        let held = budget.try_acquire(1).unwrap();
        let releaser = loom::thread::spawn(move || drop(held));
        assert!(wait_then(&budget, &handle));
        releaser.join().unwrap();
        // The first task has its permit or will get it; this one is never granted.
        let never = CountBudget::new(1).unwrap();
        let kept = Kept::new(never.try_acquire(1).unwrap());
        assert!(wait_then(&never, &handle));
        shared.close();
        cancel.cancel();
        threads.join();
        assert!(ran.get() <= 1);
        assert_eq!(shared.metrics_snapshot().tasks_ended(), 2);
        assert_eq!((never.waiting(), budget.available()), (0, 1));
        drop(kept);
    });
}

type Turn = DeviceTurn<Tally>;

/// The parts of a model of lanes.
struct Model {
    shared: Arc<PoolShared<Turn>>,
    lanes: Kept<DeviceLanes<Tally>>,
    /// The only device slot of the disk, if the test holds it at first.
    slot: Option<DeviceSlotPermit>,
    threads: Threads,
    ran: Tally,
    /// Turns that had no job or no device slot.
    fruitless: Tally,
}

/// A pool of one worker whose tasks are the turns of lanes; each job counts itself. The disk has
/// one device slot, and `jobs` jobs are submitted before the worker starts.
fn pool_and_lanes(jobs: usize, held: bool) -> Model {
    let (ran, fruitless) = (Tally::default(), Tally::default());
    let prepare = |handle: &ExecutorHandle<Turn>| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let slot = held.then(|| slots.try_acquire(DISK).unwrap());
        let lanes = DeviceLanes::new(handle, slots, |turn| turn);
        (0..jobs).for_each(|_| lanes.submit(DISK, ran.clone()).unwrap());
        (lanes, slot)
    };
    let count = fruitless.clone();
    let run = move |turn: Turn| {
        let result = turn.run(|ran, slot| {
            ran.add();
            drop(slot);
        });
        if result.is_none() {
            count.add();
            // Such a turn could repeat forever, so this stops the pool.
            std::panic::resume_unwind(Box::new("fruitless"));
        }
    };
    let (shared, (lanes, slot), threads) = start_prepared(&config(1), prepare, run);
    Model { shared, lanes: Kept::new(lanes), slot, threads, ran, fruitless }
}

#[track_caller]
fn check_slot_is_back(lanes: &DeviceLanes<Tally>) {
    assert_eq!(lanes.slots().available(DISK), Some(1), "the device slot was returned");
    assert_eq!(lanes.waiting(DISK), 0);
}

/// A job needs the device slot while a thread returns it.
fn submit_against_release() {
    let Model { shared, lanes, slot, threads, ran, fruitless } = pool_and_lanes(0, true);
    let releaser = loom::thread::spawn(move || drop(slot));
    lanes.submit(DISK, ran.clone()).unwrap();
    shared.close();
    threads.join();
    releaser.join().unwrap();
    assert_eq!(fruitless.get(), 0, "{FRUITLESS}");
    assert_eq!(ran.get(), 1, "{ALL}");
    check_slot_is_back(&lanes);
}

#[test]
fn a_job_against_a_release() {
    check(Size::Medium, submit_against_release);
}

/// Two jobs and one device slot: the second job queues before the first returns the slot.
fn two_jobs_one_slot() {
    let Model { shared, lanes, threads, ran, fruitless, .. } = pool_and_lanes(1, false);
    lanes.submit(DISK, ran.clone()).unwrap();
    shared.close();
    threads.join();
    assert_eq!(fruitless.get(), 0, "{FRUITLESS}");
    assert_eq!(ran.get(), 2, "{ALL}");
    check_slot_is_back(&lanes);
}

#[test]
fn a_job_against_the_one_before_it() {
    check(Size::Medium, two_jobs_one_slot);
}

#[test]
fn bites_a_slot_taken_before_the_look_at_the_queue() {
    must_fail(Plant::SlotBeforeQueue, 2, FRUITLESS, two_jobs_one_slot);
}

#[test]
fn bites_a_refused_job_that_is_queued_again() {
    must_fail(Plant::RequeueInsteadOfLane, 2, FRUITLESS, submit_against_release);
}

/// A job runs before the pool ends, or is returned to its producer.
#[test]
fn a_job_against_a_join() {
    check(Size::Medium, || {
        let Model { shared, lanes, slot, threads, ran, fruitless } = pool_and_lanes(1, true);
        let submitter = {
            let (lanes, ran) = (lanes.clone(), ran.clone());
            loom::thread::spawn(move || {
                drop(slot);
                usize::from(lanes.submit(DISK, ran).is_ok())
            })
        };
        shared.close();
        threads.join();
        let ran_by_then = ran.get();
        assert_eq!(ran_by_then, 1 + submitter.join().unwrap(), "{ALL}");
        assert_eq!(fruitless.get(), 0, "{FRUITLESS}");
        check_slot_is_back(&lanes);
    });
}

/// Jobs wait for a device slot that is never returned, and the pool is stopped: the jobs are
/// dropped and leave the device's queue.
#[test]
fn waiting_jobs_against_a_shutdown() {
    check(Size::Medium, || {
        let Model { shared, lanes, slot, threads, ran, .. } = pool_and_lanes(1, true);
        let slot = Kept::new(slot);
        let submitter = {
            let (lanes, ran) = (lanes.clone(), ran.clone());
            loom::thread::spawn(move || u64::from(lanes.submit(DISK, ran).is_ok()))
        };
        shared.shut_down();
        threads.join();
        let accepted = 1 + submitter.join().unwrap();
        let stats = lanes.stats();
        assert_eq!((stats.pushed, stats.dropped, ran.get()), (accepted, accepted, 0));
        drop(slot);
        check_slot_is_back(&lanes);
    });
}

/// Emptied lanes stop waiting, although the device slot is never returned.
#[test]
fn emptied_lanes_against_a_submission() {
    check(Size::Medium, || {
        let Model { shared, lanes, slot, threads, ran, .. } = pool_and_lanes(0, true);
        let slot = Kept::new(slot);
        let submitter = {
            let (lanes, ran) = (lanes.clone(), ran.clone());
            loom::thread::spawn(move || usize::from(lanes.submit(DISK, ran).is_ok()))
        };
        let dropped = lanes.close_and_drop();
        let accepted = submitter.join().unwrap();
        shared.close();
        threads.join();
        assert_eq!((dropped, ran.get()), (accepted, 0), "dropped and counted, or refused");
        drop(slot);
        assert_eq!(lanes.waiting(DISK), 0);
    });
}

/// A job panics while another one waits for its device slot.
fn panic_gives_the_slot_on() {
    let config = config(1).on_panic(OnPanic::Isolate);
    let ran = Tally::default();
    let prepare = |handle: &ExecutorHandle<Turn>| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let lanes = DeviceLanes::new(handle, slots, |turn| turn);
        lanes.submit(DISK, ran.clone()).unwrap();
        Kept::new(lanes)
    };
    let (shared, lanes, threads) = start_prepared(&config, prepare, |turn: Turn| {
        turn.run(|ran, _slot| {
            ran.add();
            if ran.get() == 1 {
                // Not `panic!`, which would call the panic hook thousands of times.
                std::panic::resume_unwind(Box::new("as planned"));
            }
        });
    });
    lanes.submit(DISK, ran.clone()).unwrap();
    shared.close();
    threads.join();
    assert_eq!((ran.get(), shared.metrics_snapshot().panics), (2, 1), "{ALL}");
    check_slot_is_back(&lanes);
}

#[test]
fn a_job_that_panics_against_the_one_behind_it() {
    check(Size::Medium, panic_gives_the_slot_on);
}

#[test]
fn bites_a_permit_that_a_panic_leaks() {
    must_fail(Plant::PermitLeakedOnPanic, 2, DEADLOCK, panic_gives_the_slot_on);
}
