//! Proves that a job waits for a slot of its device without occupying a worker and without polling;
//! that jobs begin in order; and that no device runs more jobs than it has slots, delays another
//! device, or starves.

use crate::support::lanes::run_by;
use crate::support::queued::{Log, Wakes};
use crate::support::{
    Latch, check_all_run, check_finished, job, occupy_worker, start_jobs, wait_until, watched,
    workers,
};
use heist::rng::XorShift64;
use heist::{PushErrorKind, QueueStats};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceSlotsConfig};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

fn device(number: u64) -> DeviceId {
    DeviceId::from_raw(number)
}

/// Long enough for a job to begin, if it wrongly could.
const A_WHILE: Duration = Duration::from_millis(50);

#[test]
fn a_job_with_a_free_slot_runs_at_once_and_holds_it() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slots = DeviceSlots::uniform(2).unwrap();
        let log = Log::default();
        let (seen, inside) = (log.clone(), slots.clone());
        let run = run_by(move |number: u32, slot| {
            seen.add((number, slot.device(), inside.available(slot.device())));
        });
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        lanes.submit(device(1), 10).unwrap();
        wait_until("the job has run", || log.len() == 1);
        assert_eq!(lanes.waiting(device(1)), 0);
        check_all_run(&executor.join(), 1);
        assert_eq!(log.entries(), [(10, device(1), Some(1))]);
        assert_eq!(slots.available(device(1)), Some(2));
        assert!(heist::__internal::sync::Arc::ptr_eq(lanes.slots(), &slots));
    });
}

#[test]
fn jobs_wait_without_a_worker_and_begin_in_order() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slots = DeviceSlots::uniform(1).unwrap();
        let log = Log::default();
        let seen = log.clone();
        let run = run_by(move |number: usize, _slot| seen.add(number));
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        let held = slots.acquire(device(1)).unwrap();
        (0..100).for_each(|number| lanes.submit(device(1), number).unwrap());
        assert_eq!(lanes.waiting(device(1)), 100);
        assert_eq!(executor.metrics().tasks_waiting, 1, "all jobs share one place in the queue");
        // The only worker is free, for plain tasks and for other devices.
        let ran = Latch::default();
        let opened = ran.clone();
        executor.spawn(job(move |_| opened.open())).unwrap();
        ran.wait();
        lanes.submit(device(2), 1_000).unwrap();
        wait_until("the other device's job has run", || log.entries() == [1_000]);
        thread::sleep(A_WHILE);
        assert_eq!((log.len(), lanes.waiting(device(1))), (1, 100));
        drop(held);
        let metrics = executor.join();
        assert_eq!(log.entries()[1..], (0..100).collect::<Vec<_>>());
        check_all_run(&metrics, 1 + 101);
        let stats = lanes.stats();
        assert_eq!((stats.pushed, stats.consumed, stats.dropped, stats.turns), (101, 101, 0, 101));
    });
}

#[test]
fn a_device_runs_one_job_per_slot_at_the_same_time() {
    watched(|| {
        let executor = start_jobs(workers(4));
        let slots = DeviceSlots::uniform(3).unwrap();
        let (inside, latch) = (Arc::new(AtomicUsize::new(0)), Latch::default());
        let (count, held) = (Arc::clone(&inside), latch.clone());
        let run = run_by(move |(), _slot| {
            count.fetch_add(1, Ordering::AcqRel);
            held.wait();
        });
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        (0..5).for_each(|_| lanes.submit(device(1), ()).unwrap());
        wait_until("one job runs per slot", || inside.load(Ordering::Acquire) == 3);
        thread::sleep(A_WHILE);
        assert_eq!((inside.load(Ordering::Acquire), lanes.waiting(device(1))), (3, 2));
        // The fourth worker is idle. One more slot admits one more job at once.
        slots.set_slots(device(1), 4).unwrap();
        wait_until("one more job runs", || inside.load(Ordering::Acquire) == 4);
        latch.open();
        check_all_run(&executor.join(), 5);
        assert_eq!(slots.available(device(1)), Some(4));
    });
}

#[test]
fn random_jobs_on_many_devices_never_exceed_their_slots() {
    const DEVICES: usize = 20;
    const JOBS: usize = 4_000;
    watched(|| {
        let executor = start_jobs(workers(4));
        let config = (0..DEVICES).fold(DeviceSlotsConfig::uniform(1), |config, number| {
            config.with_device(device(number as u64), 1 + number % 3)
        });
        let slots = DeviceSlots::new(config).unwrap();
        let using: Arc<[AtomicUsize; DEVICES]> = Arc::default();
        let exceeded = Arc::new(AtomicBool::new(false));
        let ran = Arc::new(AtomicUsize::new(0));
        let run = {
            let (using, exceeded, ran) =
                (Arc::clone(&using), Arc::clone(&exceeded), Arc::clone(&ran));
            run_by(move |pauses: u32, slot| {
                let number = slot.device().raw() as usize;
                if using[number].fetch_add(1, Ordering::AcqRel) > number % 3 {
                    exceeded.store(true, Ordering::Relaxed);
                }
                (0..pauses).for_each(|_| thread::yield_now());
                using[number].fetch_sub(1, Ordering::AcqRel);
                ran.fetch_add(1, Ordering::Relaxed);
            })
        };
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        let producers: Vec<_> = (0..4)
            .map(|producer| {
                let lanes = lanes.clone();
                thread::spawn(move || {
                    let mut random = XorShift64::for_worker(11, producer);
                    for _ in 0..JOBS / 4 {
                        let id = device(random.below_usize(DEVICES) as u64);
                        lanes.submit(id, random.below(4)).unwrap();
                    }
                })
            })
            .collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        check_all_run(&executor.join(), lanes.stats().turns);
        assert!(!exceeded.load(Ordering::Relaxed), "more jobs on a device than it has slots");
        assert_eq!(ran.load(Ordering::Relaxed), JOBS);
        for number in 0..DEVICES {
            let free = slots.available(device(number as u64));
            assert!(free.is_none_or(|free| free == 1 + number % 3), "device {number}: {free:?}");
        }
    });
}

#[test]
fn a_slow_device_does_not_hold_up_a_fast_one() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let slots = DeviceSlots::uniform(1).unwrap();
        let (slow, fast) = (device(1), device(2));
        let (latch, quick) = (Latch::default(), Arc::new(AtomicUsize::new(0)));
        let (held, count) = (latch.clone(), Arc::clone(&quick));
        let run = run_by(move |(), slot| {
            if slot.device() == slow {
                held.wait();
            } else {
                count.fetch_add(1, Ordering::Release);
            }
        });
        let lanes = DeviceLanes::new(&executor.handle(), slots, run);
        // First a hundred jobs for the slow device: one of them occupies a worker, the others only
        // wait.
        (0..100).for_each(|_| lanes.submit(slow, ()).unwrap());
        (0..500).for_each(|_| lanes.submit(fast, ()).unwrap());
        wait_until("all jobs of the fast device have run", || quick.load(Ordering::Acquire) == 500);
        assert_eq!(lanes.waiting(slow), 99);
        latch.open();
        check_all_run(&executor.join(), 600);
    });
}

#[test]
fn a_full_lane_holds_back_every_kind_of_producer() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        let slots = DeviceSlots::uniform(1).unwrap();
        let log = Log::default();
        let seen = log.clone();
        let run = run_by(move |number: u32, _slot| seen.add(number));
        let lanes = DeviceLanes::bounded(&handle, slots.clone(), 2, run).unwrap();
        let held = slots.acquire(device(1)).unwrap();
        lanes.try_submit(device(1), 1).unwrap();
        lanes.submit(device(1), 2).unwrap();
        let full = lanes.try_submit(device(1), 3).unwrap_err();
        assert_eq!((full.kind(), full.into_inner()), (PushErrorKind::Full, 3));
        lanes.try_submit(device(2), 100).expect("another lane has room");
        wait_until("the other lane's job has run", || log.len() == 1);

        let blocked = {
            let lanes = lanes.clone();
            thread::spawn(move || lanes.submit(device(1), 3))
        };
        thread::sleep(A_WHILE);
        assert!(!blocked.is_finished() && lanes.waiting(device(1)) == 2);
        let wakes = Arc::new(Wakes::default());
        let mut future = pin!(lanes.submit_async(device(1), 4));
        assert!(wakes.poll(future.as_mut()).is_pending());
        let then_log = log.clone();
        let then = move |pushed: Result<(), heist::PushError<u32>>| {
            assert!(pushed.is_ok());
            job(move |_| then_log.add(50))
        };
        assert!(lanes.submit_then(device(1), 5, &handle, then).is_ok());
        let inside = lanes.clone();
        let refusals = Log::default();
        let note = refusals.clone();
        executor
            .spawn(job(move |_| {
                let refused = inside.submit(device(1), 6).unwrap_err();
                note.add((refused.kind(), refused.into_inner()));
            }))
            .unwrap();
        wait_until("the worker was refused", || refusals.len() == 1);
        assert_eq!(refusals.entries(), [(PushErrorKind::OnWorker, 6)]);

        drop(held);
        blocked.join().unwrap().unwrap();
        wait_until("the future is woken", || wakes.get() > 0);
        assert!(matches!(wakes.poll(future), Poll::Ready(Ok(()))));
        executor.join();
        let mut ran: Vec<_> = log.entries().into_iter().filter(|number| *number < 50).collect();
        assert_eq!(ran[..2], [1, 2]);
        ran.sort_unstable();
        assert_eq!(ran, [1, 2, 3, 4, 5]);
        assert!(log.entries().contains(&50), "the task that waited for room continued");
        let impossible = DeviceLanes::bounded(&handle, slots, 0, run_by(|(), _| {})).unwrap_err();
        assert_eq!(impossible.field(), "capacity");
    });
}

/// A lane and threads that acquire slots directly wait in the same queue.
#[test]
fn threads_and_a_lane_share_a_device_without_starving() {
    const JOBS: usize = 300;
    watched(|| {
        let executor = start_jobs(workers(2));
        let slots = DeviceSlots::uniform(1).unwrap();
        let (ran, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let using = Arc::new(AtomicUsize::new(0));
        let beside = Arc::new(AtomicBool::new(false));
        let use_it = {
            let (using, beside) = (Arc::clone(&using), Arc::clone(&beside));
            move || {
                if using.fetch_add(1, Ordering::AcqRel) > 0 {
                    beside.store(true, Ordering::Relaxed);
                }
                thread::yield_now();
                using.fetch_sub(1, Ordering::AcqRel);
            }
        };
        let run = {
            let (ran, use_it) = (Arc::clone(&ran), use_it.clone());
            run_by(move |(), _slot| {
                use_it();
                ran.fetch_add(1, Ordering::Release);
            })
        };
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        // Two threads that always want the slot: when one returns it, the other is waiting for it.
        let taken: [Arc<AtomicUsize>; 2] = Default::default();
        let threads: Vec<_> = taken
            .iter()
            .map(|taken| {
                let (slots, stop, use_it) = (slots.clone(), Arc::clone(&stop), use_it.clone());
                let taken = Arc::clone(taken);
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let _slot = slots.acquire(device(1)).unwrap();
                        use_it();
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        // The system decides how often each thread runs. The test only requires that each gets the
        // slot at times.
        let both_took_since = |before: [usize; 2]| {
            let now = taken.each_ref().map(|taken| taken.load(Ordering::Relaxed));
            now[0] > before[0] && now[1] > before[1]
        };
        wait_until("both threads have had the slot", || both_took_since([0, 0]));
        (0..JOBS).for_each(|_| lanes.submit(device(1), ()).unwrap());
        let before = taken.each_ref().map(|taken| taken.load(Ordering::Relaxed));
        wait_until("all jobs of the lane have run", || ran.load(Ordering::Acquire) == JOBS);
        wait_until("both threads have had the slot again", || both_took_since(before));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!beside.load(Ordering::Relaxed), "two users at a time with one slot");
        executor.join();
    });
}

#[test]
fn lanes_of_devices_that_are_gone_are_forgotten() {
    const DEVICES: u64 = 1_000;
    watched(|| {
        let executor = start_jobs(workers(2));
        let slots = DeviceSlots::uniform(1).unwrap();
        let run = run_by(|(), _slot| {});
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        let held = slots.acquire(device(0)).unwrap();
        lanes.submit(device(0), ()).unwrap();
        let mut most = 0;
        for number in 1..=DEVICES {
            lanes.submit(device(number), ()).unwrap();
            // Let each lane become idle before the next one is created.
            wait_until("the job has run", || lanes.waiting(device(number)) == 0);
            most = most.max(lanes.lane_count());
        }
        assert!(most <= 200, "{most} lanes at a time");
        assert!(slots.active_device_count() <= 400, "{}", slots.active_device_count());
        assert_eq!(lanes.waiting(device(0)), 1, "a lane with a job is not forgotten");
        drop(held);
        let metrics = executor.join();
        check_all_run(&metrics, DEVICES + 1);
        let QueueStats { pushed, consumed, turns, .. } = lanes.stats();
        assert_eq!((pushed, consumed, turns), (DEVICES + 1, DEVICES + 1, DEVICES + 1));
    });
}

#[test]
fn idle_lanes_and_then_their_devices_are_forgotten_on_demand() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let slots = DeviceSlots::uniform(1).unwrap();
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run_by(|(), _slot| {}));
        assert_eq!(lanes.prune(), 0);
        let held = slots.acquire(device(0)).unwrap();
        (0..4).for_each(|number| lanes.submit(device(number), ()).unwrap());
        assert_eq!((lanes.lane_count(), slots.active_device_count()), (4, 4));
        wait_until("three have run", || executor.metrics().tasks_run() == 3);
        assert_eq!(slots.prune(), 0, "lanes use their devices");
        assert_eq!(lanes.prune(), 3);
        assert_eq!(
            (lanes.lane_count(), lanes.waiting(device(0))),
            (1, 1),
            "the lane with a job remains"
        );
        assert_eq!((slots.prune(), slots.active_device_count()), (3, 1));
        lanes.submit(device(1), ()).unwrap();
        drop(held);
        check_all_run(&executor.join(), 5);
        let stats = lanes.stats();
        assert_eq!((stats.pushed, stats.consumed), (5, 5), "forgotten lanes count as well");
        assert_eq!((lanes.prune(), lanes.lane_count()), (2, 0));
        assert_eq!((slots.prune(), slots.active_device_count()), (2, 0));
    });
}

#[test]
fn an_error_names_an_impossible_capacity() {
    let executor = start_jobs(workers(1));
    for (capacity, problem) in
        [(0, "must be at least 1"), (u64::MAX, "must be at most 4611686018427387903")]
    {
        let slots = DeviceSlots::uniform(1).unwrap();
        let run = run_by(|(), _slot| {});
        let error = DeviceLanes::bounded(&executor.handle(), slots, capacity, run).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("lanes configuration: `capacity` {problem}")),
            "{message}"
        );
    }
    executor.join();
}

/// A waiting job costs memory, but no CPU.
#[test]
#[cfg(target_os = "linux")]
fn workers_sleep_while_a_thousand_jobs_wait() {
    use crate::support::silence::check_silent_for;
    watched(|| {
        let config = workers(2).thread_name("waiting");
        let executor = start_jobs(config);
        let slots = DeviceSlots::uniform(1).unwrap();
        let run = run_by(|(), _slot| {});
        let lanes = DeviceLanes::new(&executor.handle(), slots.clone(), run);
        let held: Vec<_> = (0..10).map(|number| slots.acquire(device(number)).unwrap()).collect();
        (0..1_000).for_each(|job| lanes.submit(device(job % 10), ()).unwrap());
        assert_eq!(executor.metrics().tasks_waiting, 10);
        check_silent_for("waiting", 2, Duration::from_millis(200));
        drop(held);
        check_all_run(&executor.join(), 1_000);
    });
}

/// A job submits to its own lane and to another one while the pool is joined.
#[test]
fn jobs_submit_jobs_while_the_pool_is_joined() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        let slots = DeviceSlots::uniform(1).unwrap();
        let lanes: Arc<std::sync::OnceLock<DeviceLanes<u32>>> = Arc::default();
        let (inside, ran) = (Arc::clone(&lanes), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&ran);
        let run = run_by(move |left: u32, slot| {
            count.fetch_add(1, Ordering::Relaxed);
            if left > 0 {
                let lanes = inside.get().expect("set before the first job");
                lanes.submit(slot.device(), left - 1).unwrap();
                lanes.submit(device(slot.device().raw() + 1), left - 1).unwrap();
            }
        });
        lanes.set(DeviceLanes::new(&handle, slots, run)).unwrap();
        let latches = [occupy_worker(&executor), occupy_worker(&executor)];
        lanes.get().unwrap().submit(device(0), 9).unwrap();
        let opener = thread::spawn(move || {
            wait_until("the pool is closed", || !handle.is_accepting());
            latches.iter().for_each(Latch::open);
        });
        let metrics = executor.join();
        opener.join().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), (1 << 10) - 1);
        check_finished(&metrics, 2 + (1 << 10) - 1);
    });
}
