//! Proves how jobs in lanes end when they do not simply run: by a panic, with closed lanes, or with
//! a stopped executor. Each job ends once and is counted, and every slot is returned.

use crate::support::lanes::run_by;
use crate::support::queued::{Log, Tracked};
use crate::support::{
    Latch, Runs, check_all_run, check_finished, job, join_rethrows, silent, start_jobs, wait_until,
    watched, workers,
};
use heist::{CancelToken, OnPanic, PushError, PushErrorKind, SpawnErrorKind};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceTurn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn device(number: u64) -> DeviceId {
    DeviceId::from_raw(number)
}

#[test]
fn a_job_that_panics_returns_its_slot() {
    watched(|| {
        let config = workers(2).on_panic(OnPanic::Isolate);
        let executor = start_jobs(silent(config));
        let slots = DeviceSlots::uniform(1).unwrap();
        let ends = Runs::of(50);
        let log = Log::default();
        let seen = log.clone();
        let run = run_by(move |job: Tracked, _slot| {
            assert!(!job.number.is_multiple_of(5), "as planned");
            seen.add(job.number);
        });
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        let jobs = (0..50).map(|number| Tracked::new(number, &ends));
        jobs.for_each(|job| lanes.submit(device(1), job).unwrap());
        let metrics = executor.join();
        assert_eq!(
            log.entries(),
            (0..50).filter(|number: &usize| !number.is_multiple_of(5)).collect::<Vec<_>>()
        );
        ends.check_each_once();
        assert_eq!((metrics.panics, slots.available(device(1))), (10, Some(1)));
        check_finished(&metrics, 50);
    });
}

/// A task that drops its turn drops a job with it. The lane continues, and the slot is returned.
#[test]
fn dropping_a_turn_drops_a_job() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slots = DeviceSlots::uniform(1).unwrap();
        let (log, tries) = (Log::default(), Arc::new(AtomicUsize::new(0)));
        let make = {
            let (log, tries) = (log.clone(), Arc::clone(&tries));
            move |turn: DeviceTurn<u32>| {
                let (log, tries) = (log.clone(), Arc::clone(&tries));
                job(move |_| {
                    let turn = turn;
                    assert_eq!(turn.device(), device(1));
                    if tries.fetch_add(1, Ordering::Relaxed) >= 2 {
                        let result = turn.run(|job, _slot| 2 * job);
                        log.add(result);
                    }
                })
            }
        };
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), make);
        (19..=21).for_each(|job| lanes.submit(device(1), job).unwrap());
        check_all_run(&executor.join(), 3);
        assert_eq!(log.entries(), [Some(42)]);
        assert_eq!((lanes.stats().consumed, lanes.stats().dropped), (1, 2));
        assert_eq!(slots.available(device(1)), Some(1));
    });
}

#[test]
fn a_panic_while_creating_the_task_closes_the_lane_until_it_is_forgotten() {
    watched(|| {
        let config = workers(1).on_panic(OnPanic::Isolate);
        let executor = start_jobs(silent(config));
        let slots = DeviceSlots::uniform(1).unwrap();
        let ends = Runs::of(4);
        let (log, made) = (Log::default(), AtomicUsize::new(0));
        let seen = log.clone();
        let run = run_by(move |job: Tracked, _slot| seen.add(job.number));
        let make = move |turn| {
            assert!(made.fetch_add(1, Ordering::Relaxed) > 0, "as planned");
            run(turn)
        };
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), make);
        let held = slots.acquire(device(1)).unwrap();
        (0..3).for_each(|n| lanes.submit(device(1), Tracked::new(n, &ends)).unwrap());
        // The thread that returns the slot creates the task.
        let name = crate::support::SILENT.to_owned();
        thread::Builder::new().name(name).spawn(move || drop(held)).unwrap().join().unwrap();
        ends.check(|number| u32::from(number < 3));
        assert_eq!(slots.available(device(1)), Some(1));
        assert_eq!(lanes.stats().dropped, 3);
        let refused = lanes.submit(device(1), Tracked::new(3, &ends)).unwrap_err();
        assert_eq!(refused.kind(), PushErrorKind::Closed);
        assert_eq!(lanes.prune(), 1);
        lanes.submit(device(1), refused.into_inner()).unwrap();
        let metrics = executor.join();
        assert_eq!(log.entries(), [3]);
        ends.check_each_once();
        check_finished(&metrics, 2);
        assert_eq!((metrics.panics, metrics.tasks_dropped), (1, 1));
    });
}

#[test]
fn closed_lanes_run_waiting_jobs_and_accept_no_others() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slots = DeviceSlots::uniform(1).unwrap();
        let log = Log::default();
        let seen = log.clone();
        let run = run_by(move |number: u32, _slot| seen.add(number));
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        let held = slots.acquire(device(1)).unwrap();
        (0..3).for_each(|number| lanes.submit(device(1), number).unwrap());
        lanes.close();
        let back = Log::default();
        // For a lane that exists, and for one that does not.
        for (number, item) in [(1, 3), (2, 4)] {
            let refused = lanes.submit(device(number), item).unwrap_err();
            assert_eq!((refused.kind(), refused.into_inner()), (PushErrorKind::Closed, item));
            let refused = lanes.try_submit(device(number), item).unwrap_err();
            assert_eq!((refused.kind(), refused.into_inner()), (PushErrorKind::Closed, item));
            let errors = back.clone();
            let then = move |end: Result<(), PushError<u32>>| {
                job(move |_| {
                    let refused = end.unwrap_err();
                    errors.add((refused.kind(), refused.into_inner()));
                })
            };
            let accepted = lanes.submit_then(device(number), item, &executor.handle(), then);
            assert!(accepted.is_ok(), "the task receives the error");
        }
        assert_eq!(
            (lanes.lane_count(), slots.active_device_count()),
            (1, 1),
            "a closed lane was created"
        );
        drop(held);
        check_all_run(&executor.join(), 3 + 2);
        assert_eq!(log.entries(), [0, 1, 2]);
        assert_eq!(back.entries(), [(PushErrorKind::Closed, 3), (PushErrorKind::Closed, 4)]);
    });
}

#[test]
fn closing_and_dropping_returns_how_many_jobs_were_dropped() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slots = DeviceSlots::uniform(1).unwrap();
        let ends = Runs::of(20);
        let run = run_by(|_job: Tracked, _slot| panic!("a dropped job was run"));
        let lanes = DeviceLanes::bounded(&executor.handle(), slots.clone(), 10, run).unwrap();
        let held = [slots.acquire(device(0)).unwrap(), slots.acquire(device(1)).unwrap()];
        for number in 0..20 {
            lanes.submit(device(number as u64 % 2), Tracked::new(number, &ends)).unwrap();
        }
        let waiting = {
            let (lanes, ends) = (lanes.clone(), Runs::of(1));
            thread::spawn(move || {
                lanes.submit(device(0), Tracked::new(0, &ends)).unwrap_err().kind()
            })
        };
        assert_eq!(lanes.close_and_drop(), 20);
        assert_eq!(waiting.join().unwrap(), PushErrorKind::Closed);
        ends.check_each_once();
        drop(held);
        // The turns are queued already, and find no jobs.
        check_all_run(&executor.join(), 2);
        assert_eq!((lanes.stats().dropped, lanes.stats().consumed), (20, 0));
        assert_eq!((slots.available(device(0)), slots.available(device(1))), (Some(1), Some(1)));
    });
}

#[derive(Clone, Copy, Debug)]
enum End {
    ShutDown,
    Cancel,
    CancelWhileJoining,
    Drop,
    Panic,
}

const JOBS: usize = 1_000;
const DEVICES: usize = 10;

/// Ends a pool whose jobs all wait. It must end at once, although no slot becomes free.
fn ends_at_once(end: End) {
    let cancel = CancelToken::new();
    let config = workers(2).cancel(cancel.clone());
    let executor = start_jobs(silent(config));
    let handle = executor.handle();
    let slots = DeviceSlots::uniform(2).unwrap();
    let all = || (0..DEVICES as u64).map(device);
    // The test holds one slot of each device. The other one is held by a job that waits for the
    // latch.
    let held: Vec<_> = all().map(|id| slots.acquire(id).unwrap()).collect();
    let ends = Runs::of(JOBS);
    let (running, latch) = (Latch::default(), Latch::default());
    let open = (running.clone(), latch.clone());
    let run = run_by(move |job: Tracked, _slot| {
        assert_eq!(job.number, 0, "only the first job gets a slot");
        open.0.open();
        open.1.wait();
    });
    let lanes = DeviceLanes::new(&handle, slots.clone(), run);
    let taken: Vec<_> = all().skip(1).map(|id| slots.acquire(id).unwrap()).collect();
    for number in 0..JOBS {
        let id = device((number % DEVICES) as u64);
        lanes.submit(id, Tracked::new(number, &ends)).unwrap();
    }
    running.wait();
    assert_eq!(executor.metrics().tasks_waiting, DEVICES as u64);
    let began = Instant::now();
    let stopper = {
        let (handle, latch, cancel) = (handle.clone(), latch.clone(), cancel.clone());
        thread::spawn(move || {
            wait_until("the pool is closed", || !handle.is_accepting());
            if matches!(end, End::CancelWhileJoining) {
                thread::sleep(Duration::from_millis(20));
                cancel.cancel();
            }
            wait_until("no task waits", || handle.metrics().tasks_waiting == 0);
            latch.open();
        })
    };
    match end {
        End::ShutDown => executor.shutdown(),
        End::Cancel => cancel.cancel(),
        End::Panic => executor.spawn(job(|_| panic!("as planned"))).unwrap(),
        End::CancelWhileJoining | End::Drop => {}
    }
    match end {
        End::Drop => drop(executor),
        End::Panic => assert_eq!(join_rethrows(executor), "as planned"),
        _ => drop(executor.join()),
    }
    stopper.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{end:?} took {:?}", began.elapsed());
    ends.check_each_once();
    let stats = lanes.stats();
    assert_eq!((stats.pushed, stats.consumed), (JOBS as u64, 1), "{end:?}");
    assert_eq!(stats.dropped, JOBS as u64 - 1, "{end:?}");
    let metrics = handle.metrics();
    let run = 1 + u64::from(matches!(end, End::Panic));
    check_finished(&metrics, run + DEVICES as u64);
    assert_eq!(metrics.tasks_dropped, DEVICES as u64, "the waiting turns are dropped");
    assert_eq!(slots.available(device(0)), Some(1));
    drop((held, taken));
    assert!(all().all(|id| slots.available(id) == Some(2)), "every slot was returned");
    let refused = lanes.submit(device(0), Tracked::new(0, &Runs::of(1))).unwrap_err();
    let expected = match end {
        End::ShutDown | End::Drop => SpawnErrorKind::ShutDown,
        End::Cancel | End::CancelWhileJoining => SpawnErrorKind::Cancelled,
        End::Panic => SpawnErrorKind::Panicked,
    };
    assert_eq!(refused.kind(), PushErrorKind::Executor(expected));
}

#[test]
fn a_stopped_pool_drops_its_waiting_jobs() {
    watched(|| {
        [End::ShutDown, End::Cancel, End::Drop, End::Panic].into_iter().for_each(ends_at_once);
    });
}

#[test]
fn a_cancellation_reaches_a_pool_that_is_joined_and_waits_for_slots() {
    watched(|| ends_at_once(End::CancelWhileJoining));
}

/// A slot that is returned after the pool has ended goes to the next in the queue.
#[test]
fn a_stopped_pools_lane_leaves_the_line() {
    watched(|| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let stopped = start_jobs(workers(1));
        let lanes = DeviceLanes::new(&stopped.handle(), slots.clone(), run_by(|(), _| {}));
        let held = slots.acquire(device(1)).unwrap();
        lanes.submit(device(1), ()).unwrap();
        let behind = {
            let slots = slots.clone();
            thread::spawn(move || slots.acquire(device(1)).map(|slot| slot.device()))
        };
        stopped.shutdown();
        check_finished(&stopped.join(), 1);
        drop(held);
        assert_eq!(behind.join().unwrap(), Ok(device(1)));
        assert_eq!(slots.available(device(1)), Some(1));
    });
}
