//! Proves how a gated queue ends: by being closed, with its executor, or by a panic in any part.
//! Every item is consumed, returned, or dropped once and counted; and no producer waits for room
//! that will never be there.

use crate::support::queued::{Log, Tracked, Wakes, check_finished_with_turns, consumed_by};
use crate::support::{
    Job, Latch, Runs, check_all_run, job, join_rethrows, occupy_worker, silent, start_jobs,
    wait_until, watched, workers,
};
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

#[test]
fn a_closed_queue_is_drained_and_accepts_nothing_more() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let log = Log::default();
        let seen = log.clone();
        let queue =
            GatedQueue::bounded(&executor.handle(), 8, consumed_by(move |item| seen.add(item)))
                .unwrap();
        let latch = occupy_worker(&executor);
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
        latch.open();
        executor.join();
        assert_eq!(log.entries(), [0, 1, 2, 3, 4]);
        assert_eq!(queue.close_and_drop(), 0);
    });
}

#[test]
fn a_closed_unbounded_queue_returns_refused_items() {
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
fn close_and_drop_returns_the_number_of_dropped_items() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let ends = Runs::of(6);
        let consume = consumed_by(|_item: Tracked| panic!("an item was consumed"));
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        let latch = occupy_worker(&executor);
        (0..5).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        assert_eq!(queue.close_and_drop(), 5);
        assert_eq!(queue.close_and_drop(), 0);
        ends.check(|number| u32::from(number < 5));
        assert!(queue.push(Tracked::new(5, &ends)).is_err());
        latch.open();
        // The turn was already spawned, and finds nothing.
        check_all_run(&executor.join(), 2);
        let stats = queue.stats();
        assert_eq!((stats.pushed, stats.consumed, stats.dropped, stats.turns), (5, 0, 5, 1));
    });
}

/// A running turn consumes its items; those behind them, wherever they are kept, are dropped.
#[test]
fn close_and_drop_during_a_turn_leaves_the_turn_its_items() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let ends = Runs::of(8);
        let (entered, latch) = (Latch::default(), Latch::default());
        let held = (entered.clone(), latch.clone());
        let consume = consumed_by(move |_: Tracked| {
            held.0.open();
            held.1.wait();
        });
        let config = QueueConfig::new().capacity(Some(8)).batch(2);
        let queue = GatedQueue::with_config(&executor.handle(), &config, consume).unwrap();
        let free = occupy_worker(&executor);
        (0..6).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        free.open();
        entered.wait();
        (6..8).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        assert_eq!(queue.len(), 6);
        assert_eq!(queue.close_and_drop(), 6);
        assert_eq!(queue.close_and_drop(), 0);
        latch.open();
        executor.join();
        ends.check_each_once();
        assert_eq!((queue.stats().consumed, queue.stats().dropped), (2, 6));
        assert!(queue.is_empty());
    });
}

/// Lets producers wait for room in each of the ways, calls `end`, and returns the error and the
/// item of each.
fn waiting_producers(end: fn(&Executor<Job>, &GatedQueue<u32>)) -> Vec<(PushErrorKind, u32)> {
    let executor = start_jobs(workers(1));
    let handle = executor.handle();
    let queue = GatedQueue::bounded(&handle, 1, consumed_by(|_: u32| {})).unwrap();
    let latch = occupy_worker(&executor);
    queue.push(0).unwrap();
    let errors = Log::default();
    let note = |log: &Log<_>, pushed: Result<(), heist::PushError<u32>>| {
        let refused = pushed.expect_err("nothing makes room");
        log.add((refused.kind(), refused.into_inner()));
    };
    let blocked = {
        let (queue, errors) = (queue.clone(), errors.clone());
        thread::spawn(move || note(&errors, queue.push(1)))
    };
    // Nothing shows that a thread waits. If it starts to wait later than this, it is refused as
    // well.
    thread::sleep(Duration::from_millis(20));
    let wakes = Arc::new(Wakes::default());
    let mut future = pin!(queue.push_async(2));
    assert!(wakes.poll(future.as_mut()).is_pending());
    let log = errors.clone();
    let then = move |pushed| {
        note(&log, pushed);
        job(|_| {})
    };
    assert!(queue.push_then(3, &handle, then).is_ok());
    assert_eq!(executor.metrics().tasks_waiting, 1);
    end(&executor, &queue);
    latch.open();
    blocked.join().unwrap();
    wait_until("the future is woken", || wakes.get() > 0);
    match wakes.poll(future) {
        Poll::Ready(pushed) => note(&errors, pushed),
        Poll::Pending => panic!("it was woken"),
    }
    executor.join();
    let mut errors = errors.entries();
    errors.sort_by_key(|(_, item)| *item);
    errors
}

#[test]
fn closing_refuses_producers_that_wait_for_room() {
    watched(|| {
        let errors = waiting_producers(|_, queue| queue.close());
        assert_eq!(errors, [1, 2, 3].map(|item| (PushErrorKind::Closed, item)));
    });
}

#[test]
fn a_shutdown_refuses_producers_that_wait_for_room() {
    watched(|| {
        let shut_down = PushErrorKind::Executor(SpawnErrorKind::ShutDown);
        let errors = waiting_producers(|executor, _| executor.shutdown());
        assert_eq!(errors, [(shut_down, 1), (shut_down, 2), (PushErrorKind::Stopped, 3)]);
    });
}

/// During a join, every item is either consumed or returned; none is accepted and lost.
#[test]
fn accepted_items_are_consumed_and_refused_ones_are_returned() {
    watched(|| {
        for round in 0..200 {
            let executor = start_jobs(workers(1 + round % 3));
            let ends = Runs::of(400);
            let consumed = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&consumed);
            let config = QueueConfig::new().capacity((round % 2 == 0).then_some(4)).batch(3);
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
            assert_eq!(consumed, accepted, "round {round}: consumed when `join` returned");
            let stats = queue.stats();
            assert_eq!((stats.pushed, stats.consumed), (accepted as u64, accepted as u64));
            assert_eq!(stats.dropped, 0);
            ends.check_each_once();
        }
    });
}

fn isolating(workers_wanted: usize) -> ExecutorConfig {
    silent(workers(workers_wanted).on_panic(OnPanic::Isolate))
}

#[test]
fn a_consumer_that_panics_loses_only_its_current_item() {
    watched(|| {
        let executor = start_jobs(isolating(2));
        let ends = Runs::of(100);
        let log = Log::default();
        let seen = log.clone();
        let consume = consumed_by(move |item: Tracked| {
            assert!(item.number % 10 != 3, "deliberate panic");
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
        // One worker, because another could run the next turn before the panic has stopped the
        // pool.
        let executor = start_jobs(silent(workers(1)));
        let ends = Runs::of(100);
        let consume = consumed_by(|item: Tracked| assert!(item.number < 5, "deliberate panic"));
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        let go = occupy_worker(&executor);
        (0..100).for_each(|number| queue.push(Tracked::new(number, &ends)).unwrap());
        go.open();
        assert_eq!(join_rethrows(executor), "deliberate panic");
        ends.check_each_once();
        assert_eq!((queue.stats().consumed, queue.stats().dropped), (6, 94));
        let refused = queue.push(Tracked::new(0, &Runs::of(1))).unwrap_err();
        assert_eq!(refused.kind(), PushErrorKind::Executor(SpawnErrorKind::Panicked));
    });
}

/// A task that drops its turn, with or without a panic, loses one item; the others come with the
/// next turn. So nothing is stranded, and a task that always drops its turn comes to an end.
#[test]
fn a_dropped_turn_drops_one_item_and_comes_again() {
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
                        assert!(!panics, "deliberate panic");
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

/// The closure that makes the task is the caller's code and runs on the producer's thread. Without
/// a task there is no consumer, so the queue is closed.
#[test]
fn a_panic_while_making_the_task_closes_and_empties_the_queue() {
    watched(|| {
        let executor = start_jobs(isolating(1));
        let handle = executor.handle();
        let ends = Runs::of(2);
        let queue = GatedQueue::bounded(&handle, 1, move |turn: QueueTurn<Tracked>| {
            assert!(turn.queue().is_closed(), "deliberate panic");
            job(|_| {})
        })
        .unwrap();
        let (pusher, first) = (queue.clone(), Tracked::new(0, &ends));
        let name = crate::support::SILENT.to_owned();
        let producer = thread::Builder::new().name(name).spawn(move || pusher.push(first));
        producer.unwrap().join().expect("the panic is contained").expect("the item was accepted");
        ends.check(|number| u32::from(number == 0));
        assert_eq!((queue.stats().pushed, queue.stats().dropped), (1, 1));
        assert_eq!(handle.panics()[0].worker, None);
        assert_eq!(handle.panics()[0].message, "deliberate panic");
        let refused = queue.try_push(Tracked::new(1, &ends)).unwrap_err();
        assert_eq!(refused.kind(), PushErrorKind::Closed);
        drop(refused);
        ends.check_each_once();
        let metrics = executor.join();
        assert_eq!((metrics.panics, metrics.tasks_dropped), (1, 1));
    });
}

/// The tasks that wait for room then get their items back one after the other, and not each inside
/// the previous one, which would need a stack as deep as their number.
#[test]
fn a_panic_while_making_the_task_refuses_any_number_of_waiting_tasks() {
    const WAITING: usize = 20_000;
    watched(|| {
        let executor = start_jobs(isolating(1));
        let handle = executor.handle();
        let (fails, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (consuming, go) = (Latch::default(), Latch::default());
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
                    std::panic::resume_unwind(Box::new("deliberate panic"));
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
        // Other work waits, so the consumer's next turn needs a task.
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

/// Pushes whenever its worker is about to park, once the pool is closed.
#[derive(Clone, Default)]
struct PushWhenParking {
    queue: Arc<crate::support::sync::Mutex<Option<PoolAndQueue>>>,
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

/// A worker that is about to park runs no task, so nothing keeps the pool from being found done
/// while it pushes. So its push is refused, like one from outside.
#[test]
fn a_push_from_the_hook_of_a_quiet_worker_counts_as_from_outside() {
    watched(|| {
        for _ in 0..200 {
            let hooks = PushWhenParking::default();
            let executor = Executor::builder()
                .threads(2)
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

/// The last thing that the pool waits for ends on a thread that is not one of its workers.
#[test]
fn a_join_ends_although_the_last_task_could_not_be_made() {
    watched(|| {
        for on_panic in [OnPanic::Isolate, OnPanic::StopPool] {
            let executor = start_jobs(silent(workers(2).on_panic(on_panic)));
            let handle = executor.handle();
            let (making, go) = (Latch::default(), Latch::default());
            let held = (making.clone(), go.clone());
            let queue = GatedQueue::unbounded(&handle, move |turn: QueueTurn<()>| {
                held.0.open();
                held.1.wait();
                assert!(turn.queue().is_closed(), "deliberate panic");
                job(|_| {})
            });
            let pusher = queue.clone();
            let name = crate::support::SILENT.to_owned();
            let producer = thread::Builder::new().name(name).spawn(move || pusher.push(()));
            making.wait();
            let closer = thread::spawn(move || match on_panic {
                OnPanic::Isolate => {
                    executor.join();
                }
                _ => assert_eq!(join_rethrows(executor), "deliberate panic"),
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
            let executor = start_jobs(workers(2).cancel(cancel.clone()));
            let handle = executor.handle();
            let ends = Runs::of(ITEMS);
            let (entered, latch) = (Latch::default(), Latch::default());
            let held = (entered.clone(), latch.clone());
            let consume = consumed_by(move |_: Tracked| {
                held.0.open();
                held.1.wait();
            });
            let config = QueueConfig::new().batch(10);
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
                latch.open();
            });
            drop(executor);
            opener.join().unwrap();
            ends.check_each_once();
            let stats = queue.stats();
            // A turn that has begun ends with its batch; the items behind it are dropped.
            assert_eq!((stats.consumed, stats.dropped), (in_hand, ITEMS as u64 - in_hand));
            assert!(queue.is_empty(), "{end:?}");
        }
    });
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("deliberate panic");
    }
}

#[test]
fn an_item_whose_drop_panics_does_not_keep_the_pool_from_ending() {
    watched(|| {
        let executor = start_jobs(isolating(1));
        let consume = consumed_by(|item: PanicsWhenDropped| std::mem::forget(item));
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        let latch = occupy_worker(&executor);
        for _ in 0..3 {
            queue.push(PanicsWhenDropped).unwrap();
        }
        executor.shutdown();
        latch.open();
        executor.join();
        assert_eq!(queue.stats().dropped, 3);
    });
}
