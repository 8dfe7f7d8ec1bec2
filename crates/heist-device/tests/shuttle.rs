//! Whole executors under shuttle, with gated queues, tasks that wait for permits, and device lanes;
//! with more workers, producers and items than loom can handle.
//!
//! Shuttle is sequentially consistent; loom checks the memory orderings.
#![cfg(heist_shuttle)]

// Explores schedules in the same way as heist's own shuttle tests.
#[path = "../../heist/tests/shuttle/support.rs"]
mod support;

use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::thread::{self, JoinHandle};
use heist::{
    AcquireError, CancelToken, CountBudget, CountPermit, Executor, ExecutorConfig, GatedQueue,
    OnPanic, QueueConfig, QueueTurn, WorkerCtx,
};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceSlotsConfig, DeviceTurn};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{DEADLOCK, LIVELOCK, Tally, check, config, must_fail};

/// The message of a scenario that lost something it had accepted.
const ALL: &str = "everything that was accepted has ended";

fn spawn<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    thread::Builder::new().spawn(body).unwrap()
}

/// Lets the scheduler interrupt the thread here.
fn pause() {
    shuttle::thread::sleep(Duration::ZERO);
}

/// Counts the threads inside a section, and records the maximum. The scheduler does not see it.
#[derive(Clone, Default)]
struct Inside(Arc<[AtomicUsize; 2]>);

impl Inside {
    fn visit(&self) {
        let now = self.0[0].fetch_add(1, Ordering::Relaxed) + 1;
        self.0[1].fetch_max(now, Ordering::Relaxed);
        pause();
        self.0[0].fetch_sub(1, Ordering::Relaxed);
    }

    fn most(&self) -> usize {
        self.0[1].load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy)]
struct Item {
    producer: usize,
    number: usize,
    /// The consumer spawns a task that pushes another item.
    relayed: bool,
}

enum QueueTask {
    Consume(QueueTurn<Item>),
    Push(GatedQueue<Item>),
}

const PRODUCERS: usize = 2;
const ITEMS: usize = 3;

/// A queue with small batches, two producers, and tasks that push into it: every item arrives in
/// order, and only one consumer runs at a time.
fn items_from_producers_and_tasks(capacity: Option<u64>, join_early: bool) {
    let (inside, next) = (Inside::default(), Arc::new([const { AtomicUsize::new(0) }; PRODUCERS]));
    let (consumed, relayed) = (Tally::default(), Tally::default());
    let queue = Arc::new(std::sync::OnceLock::<GatedQueue<Item>>::new());
    let runner = {
        let (inside, next, consumed) = (inside.clone(), Arc::clone(&next), consumed.clone());
        let (queue, relayed) = (Arc::clone(&queue), relayed.clone());
        move |task, ctx: &mut WorkerCtx<'_, QueueTask, ()>| match task {
            QueueTask::Consume(turn) => {
                turn.run(|item: Item| {
                    inside.visit();
                    consumed.add();
                    if let Some(next) = next.get(item.producer) {
                        let expected = next.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(item.number, expected, "items come in their producer's order");
                    }
                    if item.relayed {
                        ctx.spawn_global(QueueTask::Push(queue.get().unwrap().clone()));
                    }
                });
            }
            QueueTask::Push(queue) => {
                let item = Item { producer: PRODUCERS, number: 0, relayed: false };
                // A worker must not wait for room; if the push is refused, the caller keeps the
                // item.
                if queue.try_push(item).is_ok() {
                    relayed.add();
                }
            }
        }
    };
    let executor = Executor::new(config(3), |_worker| (), runner).unwrap();
    let handle = executor.handle();
    let config = QueueConfig::new().capacity(capacity).batch(2);
    let made = GatedQueue::with_config(&handle, &config, QueueTask::Consume).unwrap();
    assert!(queue.set(made.clone()).is_ok());
    let accepted = Tally::default();
    let mut producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (queue, accepted) = (made.clone(), accepted.clone());
            spawn(move || {
                for number in 0..ITEMS {
                    let item = Item { producer, number, relayed: number == 1 };
                    if queue.push(item).is_err() {
                        return;
                    }
                    accepted.add();
                }
            })
        })
        .collect();
    if !join_early {
        producers.drain(..).for_each(|producer| producer.join().unwrap());
    }
    executor.join();
    let consumed_by_then = consumed.get();
    producers.drain(..).for_each(|producer| producer.join().unwrap());
    assert_eq!(consumed_by_then, accepted.get() + relayed.get(), "{ALL}");
    assert!(inside.most() <= 1, "one consumer at a time");
    assert_eq!(made.stats().consumed, consumed_by_then as u64);
    if !join_early {
        assert_eq!(accepted.get(), PRODUCERS * ITEMS);
    }
}

#[test]
fn an_unbounded_queue() {
    check(3_000, || items_from_producers_and_tasks(None, false));
}

#[test]
fn a_bounded_queue() {
    check(3_000, || items_from_producers_and_tasks(Some(2), false));
}

#[test]
fn a_queue_against_a_join() {
    check(3_000, || items_from_producers_and_tasks(None, true));
    check(3_000, || items_from_producers_and_tasks(Some(1), true));
}

#[test]
fn bites_a_batch_left_behind() {
    must_fail(Plant::BatchLeftBehind, 2_000, ALL, || items_from_producers_and_tasks(None, false));
}

#[test]
fn bites_a_consumer_that_does_not_look_whether_it_is_due_again() {
    must_fail(Plant::FinishIgnoresSchedule, 2_000, ALL, || {
        items_from_producers_and_tasks(None, false);
    });
}

type Granted = Result<CountPermit, AcquireError>;

/// Tasks of two pools and a thread share one budget: they never exceed it, and each of them gets a
/// permit.
fn two_pools_share_a_budget() {
    let budget = CountBudget::new(2).unwrap();
    let inside = Inside::default();
    let pools: Vec<Executor<Granted>> = (0..2)
        .map(|_| {
            let inside = inside.clone();
            let runner = move |granted: Granted, _: &mut WorkerCtx<'_, Granted, ()>| {
                let _permit = granted.expect("the pools are not stopped");
                inside.visit();
            };
            Executor::new(config(2), |_worker| (), runner).unwrap()
        })
        .collect();
    let blocking = {
        let (budget, inside) = (budget.clone(), inside.clone());
        spawn(move || {
            for _ in 0..2 {
                let _permit = budget.acquire(1).unwrap();
                inside.visit();
            }
        })
    };
    for _ in 0..3 {
        for pool in &pools {
            assert!(budget.acquire_then(1, &pool.handle(), |granted| granted).is_ok());
        }
    }
    for pool in pools {
        assert_eq!(pool.join().tasks_run(), 3, "{ALL}");
    }
    blocking.join().unwrap();
    assert!(inside.most() <= 2, "more than the budget at a time");
    assert_eq!((budget.available(), budget.waiting()), (2, 0));
}

#[test]
fn tasks_of_two_pools_wait_for_one_budget() {
    check(3_000, two_pools_share_a_budget);
}

struct Job {
    panics: bool,
    ended: Tally,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.ended.add();
    }
}

const DISKS: u64 = 2;

fn disk(number: u64) -> DeviceId {
    DeviceId::from_raw(number)
}

/// The parts of a scenario of lanes.
struct Lanes {
    executor: Executor<DeviceTurn<Job>>,
    lanes: DeviceLanes<Job>,
    slots: Arc<DeviceSlots>,
    /// For each disk.
    inside: [Inside; DISKS as usize],
    ran: Tally,
    ended: Tally,
}

/// Three workers; a disk with one device slot, and one with two.
fn lanes(config: ExecutorConfig) -> Lanes {
    let slots = DeviceSlots::new(DeviceSlotsConfig::uniform(1).with_device(disk(1), 2)).unwrap();
    let inside: [Inside; DISKS as usize] = Default::default();
    let ran = Tally::default();
    let runner = {
        let (inside, ran) = (inside.clone(), ran.clone());
        move |turn: DeviceTurn<Job>, _: &mut WorkerCtx<'_, DeviceTurn<Job>, ()>| {
            turn.run(|job, slot| {
                ran.add();
                inside[slot.device().raw() as usize].visit();
                if job.panics {
                    resume_unwind(Box::new("as planned"));
                }
            });
        }
    };
    let executor = Executor::new(config, |_worker| (), runner).unwrap();
    let lanes = DeviceLanes::new(&executor.handle(), Arc::clone(&slots), |turn| turn);
    Lanes { executor, lanes, slots, inside, ran, ended: Tally::default() }
}

impl Lanes {
    /// Starts a thread that submits two jobs for each disk, and returns how many were accepted.
    fn submit(&self, panics: bool) -> JoinHandle<usize> {
        let (lanes, ended) = (self.lanes.clone(), self.ended.clone());
        spawn(move || {
            let jobs = (0..4).map(|number| {
                let job = Job { panics, ended: ended.clone() };
                usize::from(lanes.submit(disk(number % DISKS), job).is_ok())
            });
            jobs.sum()
        })
    }
}

/// Two producers, and a thread that also waits for a device slot. The pool is joined after all jobs
/// were submitted, or before.
fn jobs_from_two_producers(panics: bool, join_early: bool) {
    let scene = lanes(config(3).on_panic(OnPanic::Isolate));
    let mut producers = vec![scene.submit(panics), scene.submit(false)];
    let Lanes { executor, lanes, slots, inside, ran, ended } = scene;
    let outsider = {
        let (slots, inside) = (Arc::clone(&slots), inside[0].clone());
        spawn(move || {
            let _slot = slots.acquire(disk(0)).unwrap();
            inside.visit();
        })
    };
    let mut accepted = 0;
    if !join_early {
        accepted += producers.drain(..).map(|producer| producer.join().unwrap()).sum::<usize>();
        assert_eq!(accepted, 8);
    }
    executor.join();
    let ran_by_then = ran.get();
    accepted += producers.drain(..).map(|producer| producer.join().unwrap()).sum::<usize>();
    outsider.join().unwrap();
    assert_eq!((ran_by_then, ended.get()), (accepted, 8), "{ALL}");
    assert_eq!(lanes.stats().consumed, accepted as u64);
    for number in 0..DISKS {
        let limit = 1 + number as usize;
        assert!(inside[number as usize].most() <= limit, "more jobs than device slots at a time");
        assert!(
            slots.available(disk(number)).is_none_or(|free| free == limit),
            "the device slots were returned"
        );
    }
}

#[test]
fn jobs_on_two_disks() {
    check(2_000, || jobs_from_two_producers(false, false));
}

#[test]
fn jobs_on_two_disks_against_a_join() {
    check(2_000, || jobs_from_two_producers(false, true));
}

#[test]
fn jobs_that_panic_beside_others() {
    check(2_000, || jobs_from_two_producers(true, false));
}

#[test]
fn bites_a_slot_taken_before_the_look_at_the_queue() {
    must_fail(Plant::SlotBeforeQueue, 100, LIVELOCK, || jobs_from_two_producers(false, false));
}

#[test]
fn bites_a_permit_that_a_panic_leaks() {
    must_fail(Plant::PermitLeakedOnPanic, 1_000, DEADLOCK, || jobs_from_two_producers(true, false));
}

#[derive(Clone, Copy)]
enum Stop {
    ShutDown,
    Cancel,
    CancelWhileJoining,
    Drop,
}

/// Jobs wait for device slots that are never returned, producers keep submitting, and the pool is
/// stopped.
fn stop_while_jobs_wait(stop: Stop) {
    let cancel = CancelToken::new();
    let lanes = lanes(config(3).cancel(cancel.clone()));
    let held: Vec<_> =
        [disk(0), disk(1)].map(|id| lanes.slots.try_acquire(id).unwrap()).into_iter().collect();
    let producers = [lanes.submit(false), lanes.submit(false)];
    let Lanes { executor, lanes: all, slots, ran, ended, .. } = lanes;
    let canceller = spawn(move || {
        if matches!(stop, Stop::Cancel | Stop::CancelWhileJoining) {
            cancel.cancel();
        }
    });
    match stop {
        Stop::ShutDown => {
            executor.shutdown();
            executor.join();
        }
        Stop::CancelWhileJoining => drop(executor.join()),
        Stop::Cancel | Stop::Drop => drop(executor),
    }
    let accepted: usize = producers.into_iter().map(|p| p.join().unwrap()).sum();
    canceller.join().unwrap();
    assert_eq!(ended.get(), 8, "each job ends once: run, dropped or refused");
    let stats = all.stats();
    assert_eq!(stats.pushed, accepted as u64);
    assert_eq!((stats.consumed, stats.dropped), (ran.get() as u64, stats.pushed - stats.consumed));
    drop(held);
    assert_eq!((slots.available(disk(0)), slots.available(disk(1))), (Some(1), Some(2)));
}

#[test]
fn a_shutdown_while_jobs_wait() {
    check(2_000, || stop_while_jobs_wait(Stop::ShutDown));
}

#[test]
fn a_cancellation_while_jobs_wait() {
    check(2_000, || stop_while_jobs_wait(Stop::Cancel));
    check(2_000, || stop_while_jobs_wait(Stop::CancelWhileJoining));
}

#[test]
fn a_drop_while_jobs_wait() {
    check(2_000, || stop_while_jobs_wait(Stop::Drop));
}

#[test]
fn bites_a_stop_that_forgets_waiting_tasks() {
    must_fail(Plant::StopForgetsWaiters, 100, DEADLOCK, || stop_while_jobs_wait(Stop::Drop));
}

#[test]
fn bites_a_cancellation_that_skips_watchers() {
    must_fail(Plant::CancelSkipsWatchers, 1_000, DEADLOCK, || {
        stop_while_jobs_wait(Stop::CancelWhileJoining);
    });
}
