//! Proves what a gated queue promises in normal operation: one consumer at a time, the order of
//! each producer, turns that let other work run, and room that producers wait for in each of the
//! four ways.

use crate::support::queued::{Log, Tracked, Wakes, check_all_run_with_turns, consumed_by};
use crate::support::{
    Job, Latch, Runs, check_all_run, job, occupy_worker, start_jobs, wait_until, watched, workers,
};
use heist::{GatedQueue, PushErrorKind, QueueConfig, QueueTurn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

fn batches_of(batch: usize) -> QueueConfig {
    QueueConfig::new().batch(batch)
}

/// Long enough for a thread to do something that it must not do.
const A_WHILE: Duration = Duration::from_millis(50);

#[test]
fn each_producer_keeps_its_order_and_only_one_consumer_runs_at_a_time() {
    const PRODUCERS: usize = 4;
    const ITEMS: usize = 5_000;
    watched(|| {
        let executor = start_jobs(workers(3));
        let consuming = AtomicBool::new(false);
        let next = crate::support::sync::Mutex::new([0; PRODUCERS]);
        let wrong = Log::default();
        let seen = wrong.clone();
        let consume = consumed_by(move |(producer, number): (usize, usize)| {
            if consuming.swap(true, Ordering::AcqRel) {
                seen.add("two consumers");
            }
            let mut next = next.lock().unwrap();
            if next[producer] != number {
                seen.add("out of order");
            }
            next[producer] += 1;
            drop(next);
            consuming.store(false, Ordering::Release);
        });
        let queue = GatedQueue::with_config(&executor.handle(), &batches_of(7), consume).unwrap();
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let queue = queue.clone();
                thread::spawn(move || {
                    for number in 0..ITEMS {
                        queue.push((producer, number)).unwrap();
                    }
                })
            })
            .collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        let metrics = executor.join();
        assert_eq!(wrong.entries(), Vec::<&str>::new());
        let stats = queue.stats();
        let all = (PRODUCERS * ITEMS) as u64;
        assert_eq!((stats.pushed, stats.consumed, stats.dropped), (all, all, 0));
        assert!(stats.turns > 0, "{stats:?}");
        check_all_run_with_turns(&metrics, 0, stats.turns);
    });
}

#[test]
fn a_turn_takes_one_batch_and_then_other_work_runs() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let order = Log::default();
        let queue = |name: char| {
            let log = order.clone();
            let consume = consumed_by(move |()| log.add(name));
            GatedQueue::with_config(&executor.handle(), &batches_of(3), consume).unwrap()
        };
        let (left, right) = (queue('l'), queue('r'));
        let latch = occupy_worker(&executor);
        for _ in 0..7 {
            left.push(()).unwrap();
            right.push(()).unwrap();
        }
        let log = order.clone();
        executor.spawn(job(move |_| log.add('j'))).unwrap();
        latch.open();
        let metrics = executor.join();
        let order: String = order.entries().into_iter().collect();
        assert_eq!(order, "lllrrrjlllrrrlr", "neither queue delays the other or the job");
        assert_eq!((left.stats().turns, right.stats().turns), (3, 3));
        check_all_run(&metrics, 2 + 6);
    });
}

#[test]
fn a_turn_takes_the_items_that_were_there_when_it_began() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        let log = Log::default();
        let queue = {
            let log = log.clone();
            GatedQueue::with_config(&handle, &batches_of(2), move |turn: QueueTurn<u32>| {
                let log = log.clone();
                job(move |_| {
                    let queue = turn.queue();
                    let mut consumer = turn.begin();
                    let before = consumer.len();
                    if before == 3 {
                        queue.push(4).unwrap();
                    }
                    let first = consumer.try_pop();
                    log.add((before, consumer.len(), consumer.is_empty(), first));
                    while consumer.try_pop().is_some() {}
                })
            })
            .unwrap()
        };
        let gates = [occupy_worker(&executor), occupy_worker(&executor)];
        for number in 1..=3 {
            queue.push(number).unwrap();
        }
        assert_eq!((queue.len(), queue.is_empty(), queue.capacity()), (3, false, None));
        gates.iter().for_each(Latch::open);
        check_all_run(&executor.join(), 2 + queue.stats().turns);
        assert!(queue.is_empty());
        // The first turn takes 1 and 2, while 3 and 4 wait behind them; later turns take the
        // others.
        let log = log.entries();
        assert_eq!(log[..2], [(3, 3, false, Some(1)), (2, 1, false, Some(3))]);
        assert!(log.len() <= 3, "{log:?}");
    });
}

#[test]
fn an_unfinished_batch_stays_in_front() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let order = Log::default();
        let log = order.clone();
        let queue = GatedQueue::unbounded(&executor.handle(), move |turn: QueueTurn<usize>| {
            let log = log.clone();
            job(move |_| {
                let mut consumer = turn.begin();
                log.add(consumer.try_pop());
            })
        });
        let latch = occupy_worker(&executor);
        (0..5).for_each(|number| queue.push(number).unwrap());
        latch.open();
        check_all_run(&executor.join(), 1 + 5);
        assert_eq!(order.entries(), (0..5).map(Some).collect::<Vec<_>>());
        assert_eq!((queue.stats().consumed, queue.stats().turns), (5, 5));
    });
}

#[test]
fn a_queue_that_ran_empty_wakes_its_consumer_again() {
    const ROUNDS: usize = 2_000;
    watched(|| {
        let executor = start_jobs(workers(2));
        let consumed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&consumed);
        let consume = consumed_by(move |()| {
            count.fetch_add(1, Ordering::Release);
        });
        let queue = GatedQueue::unbounded(&executor.handle(), consume);
        for round in 1..=ROUNDS {
            queue.push(()).unwrap();
            while consumed.load(Ordering::Acquire) < round {
                thread::yield_now();
            }
        }
        let metrics = executor.join();
        check_all_run_with_turns(&metrics, 0, queue.stats().turns);
        assert_eq!(queue.stats().consumed, ROUNDS as u64);
    });
}

#[test]
fn errors_name_the_impossible_value() {
    let executor = start_jobs(workers(1));
    let handle = executor.handle();
    let no_room = GatedQueue::bounded(&handle, 0, consumed_by(|()| {})).unwrap_err();
    assert_eq!(no_room.field(), "capacity");
    assert!(no_room.to_string().starts_with("queue configuration"), "{no_room}");
    let too_much = GatedQueue::bounded(&handle, u64::MAX, consumed_by(|()| {})).unwrap_err();
    assert_eq!(
        too_much.to_string(),
        "queue configuration: `capacity` must be at most 4611686018427387903, but is 18446744073709551615"
    );
    let no_batch = GatedQueue::with_config(&handle, &batches_of(0), consumed_by(|()| {}));
    assert_eq!(no_batch.unwrap_err().field(), "batch");
}

#[test]
fn a_full_queue_gives_the_item_back() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let queue = GatedQueue::bounded(&executor.handle(), 2, consumed_by(|_: u32| {})).unwrap();
        assert_eq!(queue.capacity(), Some(2));
        let latch = occupy_worker(&executor);
        queue.try_push(1).unwrap();
        queue.try_push(2).unwrap();
        let refused = queue.try_push(3).unwrap_err();
        assert_eq!(refused.kind(), PushErrorKind::Full);
        assert_eq!(refused.to_string(), "the item was not pushed: the queue is full");
        assert_eq!(refused.into_inner(), 3);
        latch.open();
        wait_until("both are consumed", || queue.stats().consumed == 2);
        wait_until("there is room again", || queue.try_push(4).is_ok());
        executor.join();
        assert_eq!(queue.stats().pushed, 3);
    });
}

/// Items that a consumer has taken occupy room until their turn ends.
#[test]
fn a_producer_waits_for_room_and_continues() {
    const ITEMS: usize = 500;
    watched(|| {
        let executor = start_jobs(workers(1));
        let most = Arc::new(AtomicUsize::new(0));
        let log = Log::default();
        let seen = log.clone();
        let queue =
            GatedQueue::bounded(&executor.handle(), 3, consumed_by(move |item| seen.add(item)))
                .unwrap();
        let latch = occupy_worker(&executor);
        let producer = {
            let (queue, most) = (queue.clone(), Arc::clone(&most));
            thread::spawn(move || {
                for number in 0..ITEMS {
                    queue.push(number).unwrap();
                    most.fetch_max(queue.len(), Ordering::Relaxed);
                }
            })
        };
        wait_until("the queue is full", || queue.len() == 3);
        thread::sleep(A_WHILE);
        assert_eq!(queue.stats().pushed, 3, "the producer waits");
        latch.open();
        producer.join().unwrap();
        executor.join();
        assert_eq!(log.entries(), (0..ITEMS).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_worker_must_not_wait_for_room() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        let queue = GatedQueue::bounded(&handle, 1, consumed_by(|_: u32| {})).unwrap();
        let latch = occupy_worker(&executor);
        let seen = Log::default();
        let (log, pusher) = (seen.clone(), queue.clone());
        let (entered, go) = (Latch::default(), latch.clone());
        let held = entered.clone();
        executor
            .spawn(job(move |_| {
                // Both workers are busy, so nothing makes room.
                pusher.push(1).unwrap();
                let refused = pusher.push(2).unwrap_err();
                log.add((refused.kind(), refused.into_inner()));
                held.open();
                go.wait();
            }))
            .unwrap();
        entered.wait();
        assert_eq!(seen.entries(), [(PushErrorKind::OnWorker, 2)]);
        latch.open();
        executor.join();
        assert_eq!(queue.stats().consumed, 1);
    });
}

#[test]
fn a_future_waits_for_room() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let log = Log::default();
        let seen = log.clone();
        let queue =
            GatedQueue::bounded(&executor.handle(), 1, consumed_by(move |item| seen.add(item)))
                .unwrap();
        let latch = occupy_worker(&executor);
        let wakes = Arc::new(Wakes::default());
        let pushed = wakes.poll(pin!(queue.push_async(1)));
        assert!(matches!(pushed, Poll::Ready(Ok(()))), "there was room");
        let mut waiting = pin!(queue.push_async(2));
        assert!(wakes.poll(waiting.as_mut()).is_pending());
        assert_eq!((wakes.get(), queue.len()), (0, 1));
        latch.open();
        wait_until("it is woken", || wakes.get() == 1);
        assert!(matches!(wakes.poll(waiting), Poll::Ready(Ok(()))));
        executor.join();
        assert_eq!(log.entries(), [1, 2]);
    });
}

#[test]
fn a_dropped_future_has_pushed_nothing_and_gives_up_its_place() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let ends = Runs::of(3);
        let log = Log::default();
        let seen = log.clone();
        let consume = consumed_by(move |item: Tracked| seen.add(item.number));
        let queue = GatedQueue::bounded(&executor.handle(), 1, consume).unwrap();
        let latch = occupy_worker(&executor);
        let wakes = Arc::new(Wakes::default());
        queue.try_push(Tracked::new(0, &ends)).unwrap();
        let mut first = Box::pin(queue.push_async(Tracked::new(1, &ends)));
        let mut second = Box::pin(queue.push_async(Tracked::new(2, &ends)));
        assert!(wakes.poll(first.as_mut()).is_pending());
        assert!(wakes.poll(second.as_mut()).is_pending());
        drop(first);
        latch.open();
        wait_until("the one behind is woken", || wakes.get() == 1);
        assert!(matches!(wakes.poll(second.as_mut()), Poll::Ready(Ok(()))));
        executor.join();
        assert_eq!(log.entries(), [0, 2]);
        ends.check_each_once();
    });
}

/// Returns a task that pushes more items than the queue holds, one after the other, and never
/// blocks its worker.
fn push_all(queue: &GatedQueue<usize>, next: usize, all: usize, done: Latch) -> Job {
    let queue = queue.clone();
    job(move |ctx| {
        if next == all {
            return done.open();
        }
        let handle = ctx.handle();
        let then = {
            let queue = queue.clone();
            move |pushed: Result<(), heist::PushError<usize>>| {
                assert!(pushed.is_ok());
                push_all(&queue, next + 1, all, done)
            }
        };
        assert!(queue.push_then(next, &handle, then).is_ok());
    })
}

#[test]
fn a_task_continues_once_its_item_is_in() {
    const ITEMS: usize = 300;
    watched(|| {
        for capacity in [Some(1), Some(4), None] {
            let executor = start_jobs(workers(1));
            let log = Log::default();
            let seen = log.clone();
            let config = QueueConfig::new().capacity(capacity).batch(2);
            let consume = consumed_by(move |item| seen.add(item));
            let queue = GatedQueue::with_config(&executor.handle(), &config, consume).unwrap();
            let done = Latch::default();
            executor.spawn(push_all(&queue, 0, ITEMS, done.clone())).unwrap();
            // Joined at once: the join waits for the tasks that wait for room, and for what they
            // push.
            let metrics = executor.join();
            done.wait();
            assert_eq!(log.entries(), (0..ITEMS).collect::<Vec<_>>());
            check_all_run_with_turns(&metrics, 1 + ITEMS as u64, queue.stats().turns);
        }
    });
}

#[test]
fn items_that_tasks_push_during_a_join_are_consumed() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        let queue = GatedQueue::unbounded(&handle, consumed_by(|_: u32| {}));
        let latch = occupy_worker(&executor);
        let (inside, checked) = (queue.clone(), handle.clone());
        executor
            .spawn(job(move |_| {
                wait_until("the pool is closed", || !checked.is_accepting());
                for number in 0..100 {
                    inside.push(number).unwrap();
                }
            }))
            .unwrap();
        let outside = queue.clone();
        let observer = thread::spawn(move || {
            wait_until("the pool is closed", || !handle.is_accepting());
            let refused = outside.push(1_000).unwrap_err();
            latch.open();
            (refused.kind(), refused.into_inner())
        });
        let metrics = executor.join();
        let closed = PushErrorKind::Executor(heist::SpawnErrorKind::Closed);
        assert_eq!(observer.join().unwrap(), (closed, 1_000));
        assert_eq!((queue.stats().pushed, queue.stats().consumed), (100, 100));
        check_all_run_with_turns(&metrics, 2, queue.stats().turns);
    });
}
