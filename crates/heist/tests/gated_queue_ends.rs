//! Proves how a gated queue ends: closed, with its executor, by a panic of whichever part. Every item is consumed,
//! given back, or dropped once and counted; and no producer waits for room that nobody will make.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::trace::{TraceHooks, Tracer};
use heist::{
    CancelToken, Executor, ExecutorConfig, ExecutorHandle, GatedQueue, OnPanic, PushError,
    PushErrorKind, QueueConfig, QueueTurn, SpawnErrorKind,
};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::queued::{Log, Tracked, Wakes, check_finished_with_turns, consumed_by};
use support::{
    Gate, Job, Runs, check_all_run, job, join_rethrows, occupy_worker, silent, start_jobs,
    wait_until, watched, workers,
};

#[test]
fn a_closed_queue_is_drained_and_takes_nothing_more() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let log = Log::default();
        let seen = log.clone();
        let queue =
            GatedQueue::bounded(&executor.handle(), 8, consumed_by(move |item| seen.add(item)))
                .unwrap();
        let gate = occupy_worker(&executor);
        (0..5).for_each(|number| queue.push(number).unwrap());
        assert!(!queue.is_closed());
        queue.close();
        assert!(queue.is_closed());
        let wakes = Arc::new(Wakes::default());
        let mut refusals = vec![queue.try_push(5).unwrap_err(), queue.push(6).unwrap_err()];
        match wakes.poll(pin!(queue.push_async(7))) {
            Poll::Ready(Err(refused)) => refusals.push(refused),
            other => panic!("{other:?}"),
        }
        for (refused, item) in refusals.into_iter().zip(5..) {
            assert_eq!((refused.kind(), refused.into_inner()), (PushErrorKind::Closed, item));
        }
        gate.open();
        executor.join();
        assert_eq!(log.entries(), [0, 1, 2, 3, 4]);
        assert_eq!(queue.close_and_drop(), 0);
    });
}

#[test]
fn a_closed_unbounded_queue_gives_items_back_too() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let queue = GatedQueue::unbounded(&executor.handle(), consumed_by(|_: u32| {}));
        queue.close();
        let refused = queue.push(1).unwrap_err();
        assert_eq!((refused.kind(), refused.into_inner()), (PushErrorKind::Closed, 1));
        check_all_run(&executor.join(), 0);
    });
}

#[test]
fn closing_and_dropping_says_how_many() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let ends = Runs::of(6);
        let consume = consumed_by(|_item: Tracked| panic!("nothing is consumed"));
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        let gate = occupy_worker(&executor);
        (0..5).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        assert_eq!(queue.close_and_drop(), 5);
        assert_eq!(queue.close_and_drop(), 0);
        ends.check(|number| u32::from(number < 5));
        assert!(queue.push(Tracked::new(5, &ends)).is_err());
        gate.open();
        // The turn was on its way, and finds nothing.
        check_all_run(&executor.join(), 2);
        let stats = queue.stats();
        assert_eq!((stats.pushed, stats.consumed, stats.dropped, stats.turns), (5, 0, 5, 1));
    });
}

/// The items of a running turn are consumed; those behind them wait, wherever they are kept, and are dropped.
#[test]
fn closing_and_dropping_during_a_turn_leaves_the_turn_its_items() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let ends = Runs::of(8);
        let (entered, gate) = (Gate::default(), Gate::default());
        let held = (entered.clone(), gate.clone());
        let consume = consumed_by(move |_: Tracked| {
            held.0.open();
            held.1.wait();
        });
        let config = QueueConfig { capacity: Some(8), batch: 2 };
        let queue = GatedQueue::with_config(&executor.handle(), &config, consume).unwrap();
        let free = occupy_worker(&executor);
        (0..6).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        free.open();
        entered.wait();
        (6..8).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        assert_eq!(queue.len(), 6);
        assert_eq!(queue.close_and_drop(), 6);
        assert_eq!(queue.close_and_drop(), 0);
        gate.open();
        executor.join();
        ends.check_each_once();
        assert_eq!((queue.stats().consumed, queue.stats().dropped), (2, 6));
        assert!(queue.is_empty());
    });
}

/// Producers that wait for room, in each of the ways, when `end` is called; what each was told and given back.
fn waiting_producers(end: fn(&Executor<Job>, &GatedQueue<u32>)) -> Vec<(PushErrorKind, u32)> {
    let executor = start_jobs(workers(1));
    let handle = executor.handle();
    let queue = GatedQueue::bounded(&handle, 1, consumed_by(|_: u32| {})).unwrap();
    let gate = occupy_worker(&executor);
    queue.push(0).unwrap();
    let told = Log::default();
    let note = |log: &Log<_>, pushed: Result<(), heist::PushError<u32>>| {
        let refused = pushed.expect_err("nobody makes room");
        log.add((refused.kind(), refused.into_inner()));
    };
    let blocked = {
        let (queue, told) = (queue.clone(), told.clone());
        thread::spawn(move || note(&told, queue.push(1)))
    };
    // Nothing tells that a thread waits. If it comes later than this, it is refused all the same.
    thread::sleep(Duration::from_millis(20));
    let wakes = Arc::new(Wakes::default());
    let mut future = pin!(queue.push_async(2));
    assert!(wakes.poll(future.as_mut()).is_pending());
    let log = told.clone();
    let then = move |pushed| {
        note(&log, pushed);
        job(|_| {})
    };
    assert!(queue.push_then(3, &handle, then).is_ok());
    assert_eq!(executor.metrics().tasks_waiting, 1);
    end(&executor, &queue);
    gate.open();
    blocked.join().unwrap();
    wait_until("the future is woken", || wakes.get() > 0);
    match wakes.poll(future) {
        Poll::Ready(pushed) => note(&told, pushed),
        Poll::Pending => panic!("it was woken"),
    }
    executor.join();
    let mut told = told.entries();
    told.sort_by_key(|(_, item)| *item);
    told
}

#[test]
fn closing_releases_those_who_wait_for_room() {
    watched(|| {
        let told = waiting_producers(|_, queue| queue.close());
        assert_eq!(told, [1, 2, 3].map(|item| (PushErrorKind::Closed, item)));
    });
}

#[test]
fn a_shutdown_releases_those_who_wait_for_room() {
    watched(|| {
        let shut_down = PushErrorKind::Executor(SpawnErrorKind::ShutDown);
        let told = waiting_producers(|executor, _| executor.shutdown());
        assert_eq!(told, [(shut_down, 1), (shut_down, 2), (PushErrorKind::Stopped, 3)]);
    });
}

/// Against a join, every item is either consumed or comes back; none is taken in and lost.
#[test]
fn what_is_accepted_is_consumed_and_the_rest_comes_back() {
    watched(|| {
        for round in 0..200 {
            let executor = start_jobs(workers(1 + round % 3));
            let ends = Runs::of(400);
            let consumed = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&consumed);
            let config = QueueConfig { capacity: (round % 2 == 0).then_some(4), batch: 3 };
            let consume = consumed_by(move |_: Tracked| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            let queue = GatedQueue::with_config(&executor.handle(), &config, consume).unwrap();
            let producers: Vec<_> = (0..2)
                .map(|producer| {
                    let (queue, ends) = (queue.clone(), Arc::clone(&ends));
                    thread::spawn(move || {
                        let items = producer * 200..(producer + 1) * 200;
                        let push = |number| queue.push(Tracked::new(number, &ends));
                        items.filter(|number| push(*number).is_ok()).count()
                    })
                })
                .collect();
            if round % 4 > 1 {
                wait_until("some are in", || queue.stats().pushed > 20);
            }
            executor.join();
            let consumed = consumed.load(Ordering::Relaxed);
            let accepted: usize = producers.into_iter().map(|p| p.join().unwrap()).sum();
            assert_eq!(consumed, accepted, "round {round}: consumed when join returned");
            let stats = queue.stats();
            assert_eq!((stats.pushed, stats.consumed), (accepted as u64, accepted as u64));
            assert_eq!(stats.dropped, 0);
            ends.check_each_once();
        }
    });
}

fn isolating(workers_wanted: usize) -> ExecutorConfig {
    silent(ExecutorConfig { on_panic: OnPanic::Isolate, ..workers(workers_wanted) })
}

#[test]
fn a_consumer_that_panics_loses_its_item_alone() {
    watched(|| {
        let executor = start_jobs(isolating(2));
        let ends = Runs::of(100);
        let log = Log::default();
        let seen = log.clone();
        let consume = consumed_by(move |item: Tracked| {
            assert!(item.number % 10 != 3, "as planned");
            seen.add(item.number);
        });
        let queue = GatedQueue::bounded(&executor.handle(), 100, consume).unwrap();
        (0..100).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        let metrics = executor.join();
        let good: Vec<_> = (0..100).filter(|number| number % 10 != 3).collect();
        assert_eq!(log.entries(), good);
        ends.check_each_once();
        assert_eq!((queue.stats().consumed, queue.stats().dropped), (100, 0));
        assert_eq!(metrics.panics, 10);
        check_finished_with_turns(&metrics, 0, queue.stats().turns);
    });
}

#[test]
fn a_consumer_that_panics_stops_an_aborting_pool_and_the_rest_is_dropped() {
    watched(|| {
        // One worker: another could run the next turn before the panic has stopped the pool.
        let executor = start_jobs(silent(workers(1)));
        let ends = Runs::of(100);
        let consume = consumed_by(|item: Tracked| assert!(item.number < 5, "as planned"));
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        let go = occupy_worker(&executor);
        (0..100).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        go.open();
        assert_eq!(join_rethrows(executor), "as planned");
        ends.check_each_once();
        assert_eq!((queue.stats().consumed, queue.stats().dropped), (6, 94));
        let refused = queue.push(Tracked::new(0, &Runs::of(1))).unwrap_err();
        assert_eq!(refused.kind(), PushErrorKind::Executor(SpawnErrorKind::Panicked));
    });
}

/// A task that drops its turn, by a panic or without, loses one item for it; the others come with the next turn. So
/// nothing is stranded, and a task that always does so comes to an end.
#[test]
fn a_turn_that_is_dropped_costs_an_item_and_comes_again() {
    const ITEMS: usize = 20;
    watched(|| {
        for (panics, drops) in [(false, 3), (true, 3), (false, ITEMS), (true, ITEMS)] {
            let executor = start_jobs(isolating(2));
            let log = Log::default();
            let (seen, tries) = (log.clone(), Arc::new(AtomicUsize::new(0)));
            let queue = GatedQueue::unbounded(&executor.handle(), move |turn: QueueTurn<usize>| {
                let (seen, tries) = (seen.clone(), Arc::clone(&tries));
                job(move |_| {
                    let turn = turn;
                    if tries.fetch_add(1, Ordering::Relaxed) < drops {
                        assert!(!panics, "as planned");
                        return;
                    }
                    turn.run(|item| seen.add(item));
                })
            });
            (0..ITEMS).for_each(|item| queue.push(item).unwrap());
            let metrics = executor.join();
            assert_eq!(log.entries(), (drops..ITEMS).collect::<Vec<_>>());
            let stats = queue.stats();
            assert_eq!((stats.pushed, stats.dropped), (ITEMS as u64, drops as u64));
            assert_eq!(metrics.panics, if panics { drops as u64 } else { 0 });
        }
    });
}

/// What makes the task is the caller's, too, and runs on the producer's thread. Without tasks there is no consumer: the
/// queue is closed.
#[test]
fn a_panic_in_the_making_of_the_task_closes_and_empties_the_queue() {
    watched(|| {
        let executor = start_jobs(isolating(1));
        let handle = executor.handle();
        let ends = Runs::of(2);
        let queue = GatedQueue::bounded(&handle, 1, move |turn: QueueTurn<Tracked>| {
            assert!(turn.queue().is_closed(), "as planned");
            job(|_| {})
        })
        .unwrap();
        let (pusher, first) = (queue.clone(), Tracked::new(0, &ends));
        let name = support::SILENT.to_owned();
        let producer = thread::Builder::new().name(name).spawn(move || pusher.push(first));
        producer.unwrap().join().expect("the panic is contained").expect("and the item was taken");
        ends.check(|number| u32::from(number == 0));
        assert_eq!((queue.stats().pushed, queue.stats().dropped), (1, 1));
        assert_eq!(handle.panics()[0].worker, None);
        assert_eq!(handle.panics()[0].message, "as planned");
        let refused = queue.try_push(Tracked::new(1, &ends)).unwrap_err();
        assert_eq!(refused.kind(), PushErrorKind::Closed);
        drop(refused);
        ends.check_each_once();
        let metrics = executor.join();
        assert_eq!((metrics.panics, metrics.tasks_dropped), (1, 1));
    });
}

/// Those who wait for room get their items back then, one after the other: not each inside the one before it, which
/// would need a stack as deep as their number.
#[test]
fn a_panic_in_the_making_refuses_any_number_of_tasks_that_wait_for_room() {
    const WAITING: usize = 20_000;
    watched(|| {
        let executor = start_jobs(isolating(1));
        let handle = executor.handle();
        let (fails, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (consuming, go) = (Gate::default(), Gate::default());
        let consume = {
            let (consuming, go) = (consuming.clone(), go.clone());
            consumed_by(move |_: usize| {
                consuming.open();
                go.wait();
            })
        };
        let queue = {
            let fails = Arc::clone(&fails);
            GatedQueue::bounded(&handle, 1, move |turn| {
                if fails.load(Ordering::Relaxed) {
                    std::panic::resume_unwind(Box::new("as planned"));
                }
                consume(turn)
            })
            .unwrap()
        };
        queue.push(0).unwrap();
        consuming.wait();
        for item in 1..=WAITING {
            let refused = Arc::clone(&refused);
            let then = move |pushed: Result<(), PushError<usize>>| {
                refused.fetch_add(usize::from(pushed.is_err()), Ordering::Relaxed);
                job(|_| {})
            };
            queue.push_then(item, &handle, then).unwrap();
        }
        // Something else waits, so that the consumer's next turn needs a task.
        handle.spawn(job(|_| {})).unwrap();
        fails.store(true, Ordering::Relaxed);
        go.open();
        executor.join();
        let stats = queue.stats();
        assert_eq!(stats.pushed, stats.consumed + stats.dropped);
        assert_eq!(refused.load(Ordering::Relaxed) as u64 + stats.pushed, 1 + WAITING as u64);
    });
}

type PoolAndQueue = (ExecutorHandle<QueueTurn<u32>>, GatedQueue<u32>);

/// Pushes, once the pool is closed, whenever its worker is about to park.
#[derive(Clone, Default)]
struct PushWhenParking {
    queue: Arc<support::sync::Mutex<Option<PoolAndQueue>>>,
    accepted: Arc<AtomicUsize>,
}

impl Tracer for PushWhenParking {
    type Hooks = Self;

    fn worker(&self, _worker: usize) -> Self {
        self.clone()
    }
}

impl TraceHooks for PushWhenParking {
    fn park(&mut self) {
        if let Some((handle, queue)) = &*self.queue.lock().unwrap()
            && !handle.is_accepting()
        {
            self.accepted.fetch_add(usize::from(queue.push(7).is_ok()), Ordering::Relaxed);
        }
    }
}

/// A worker that is about to park runs no task: nothing keeps the pool from being found done while it pushes. So it is
/// refused like everybody outside.
#[test]
fn a_hook_of_a_quiet_worker_is_outside() {
    watched(|| {
        for _ in 0..200 {
            let hooks = PushWhenParking::default();
            let executor = Executor::builder()
                .workers(2)
                .trace(hooks.clone())
                .build(
                    |_worker| (),
                    |turn: QueueTurn<u32>, _ctx| {
                        turn.run(|_| {});
                    },
                )
                .unwrap();
            let queue = GatedQueue::unbounded(&executor.handle(), |turn| turn);
            *hooks.queue.lock().unwrap() = Some((executor.handle(), queue.clone()));
            executor.join();
            assert_eq!(hooks.accepted.load(Ordering::Relaxed), 0);
            assert_eq!(queue.stats().pushed, 0);
        }
    });
}

/// The last thing that the pool waits for ends on a thread that is none of its workers.
#[test]
fn a_join_ends_although_the_last_task_could_not_be_made() {
    watched(|| {
        for on_panic in [OnPanic::Isolate, OnPanic::StopPool] {
            let executor = start_jobs(silent(ExecutorConfig { on_panic, ..workers(2) }));
            let handle = executor.handle();
            let (making, go) = (Gate::default(), Gate::default());
            let held = (making.clone(), go.clone());
            let queue = GatedQueue::unbounded(&handle, move |turn: QueueTurn<()>| {
                held.0.open();
                held.1.wait();
                assert!(turn.queue().is_closed(), "as planned");
                job(|_| {})
            });
            let pusher = queue.clone();
            let name = support::SILENT.to_owned();
            let producer = thread::Builder::new().name(name).spawn(move || pusher.push(()));
            making.wait();
            let closer = thread::spawn(move || match on_panic {
                OnPanic::Isolate => {
                    executor.join();
                }
                _ => assert_eq!(join_rethrows(executor), "as planned"),
            });
            wait_until("the pool is closed", || !handle.is_accepting());
            go.open();
            producer.unwrap().join().unwrap().unwrap();
            closer.join().unwrap();
            assert_eq!((queue.stats().pushed, queue.stats().dropped), (1, 1));
            assert_eq!((handle.metrics().tasks_dropped, handle.metrics().panics), (1, 1));
        }
    });
}

#[derive(Clone, Copy, Debug)]
enum End {
    ShutDown,
    Cancel,
    Drop,
}

#[test]
fn a_stopped_pool_drops_the_queued_items_once_and_counts_them() {
    const ITEMS: usize = 1_000;
    watched(|| {
        for end in [End::ShutDown, End::Cancel, End::Drop] {
            let cancel = CancelToken::new();
            let executor = start_jobs(ExecutorConfig { cancel: cancel.clone(), ..workers(2) });
            let handle = executor.handle();
            let ends = Runs::of(ITEMS);
            let (entered, gate) = (Gate::default(), Gate::default());
            let held = (entered.clone(), gate.clone());
            let consume = consumed_by(move |_: Tracked| {
                held.0.open();
                held.1.wait();
            });
            let config = QueueConfig { batch: 10, ..QueueConfig::default() };
            let queue = GatedQueue::with_config(&handle, &config, consume).unwrap();
            (0..ITEMS).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
            entered.wait();
            let in_hand = ITEMS as u64 - queue.len() as u64;
            match end {
                End::ShutDown => executor.shutdown(),
                End::Cancel => cancel.cancel(),
                End::Drop => {}
            }
            let opener = thread::spawn(move || {
                wait_until("the pool is stopped", || !handle.is_accepting());
                gate.open();
            });
            drop(executor);
            opener.join().unwrap();
            ends.check_each_once();
            let stats = queue.stats();
            // A turn that has begun ends with its batch; what is behind it is dropped.
            assert_eq!((stats.consumed, stats.dropped), (in_hand, ITEMS as u64 - in_hand));
            assert!(queue.is_empty(), "{end:?}");
        }
    });
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("as planned");
    }
}

#[test]
fn an_item_whose_drop_panics_does_not_stop_the_end() {
    watched(|| {
        let executor = start_jobs(isolating(1));
        let consume = consumed_by(|item: PanicsWhenDropped| std::mem::forget(item));
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        let gate = occupy_worker(&executor);
        for _ in 0..3 {
            queue.push(PanicsWhenDropped).unwrap();
        }
        executor.shutdown();
        gate.open();
        executor.join();
        assert_eq!(queue.stats().dropped, 3);
    });
}
