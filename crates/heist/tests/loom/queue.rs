//! Gated queues under loom: the real queue, gate and pool. One worker, and one or two threads that
//! push, close or wait beside it.
//!
//! `Size` says how far each model is explored, and when.

use crate::support::{DEADLOCK, Size, Tally, check, config, must_fail, start_prepared};
use heist::__internal::sync::plant::Plant;
use heist::{
    ExecutorConfig, ExecutorHandle, GatedQueue, OnPanic, PushErrorKind, QueueConfig, QueueTurn,
};

/// The failure of a model that accepted an item and lost it.
const ALL: &str = "every item that was accepted is consumed";

fn batches_of(batch: usize) -> QueueConfig {
    QueueConfig::new().batch(batch)
}

/// A queue of a pool whose tasks are the queue's turns.
fn queue_of_turns(
    handle: &ExecutorHandle<QueueTurn<u32>>,
    config: &QueueConfig,
    items: u32,
) -> GatedQueue<u32> {
    let queue = GatedQueue::with_config(handle, config, |turn| turn).unwrap();
    (0..items).for_each(|item| queue.push(item).unwrap());
    queue
}

/// Two producers. The second pushes while the worker may be about to park, or in the middle of a
/// turn.
fn two_producers() {
    let consumed = Tally::default();
    let count = consumed.clone();
    let (shared, queue, threads) = start_prepared(
        &config(1),
        |handle| queue_of_turns(handle, &batches_of(64), 0),
        move |turn: QueueTurn<u32>| {
            turn.run(|_item| count.add());
        },
    );
    let producer = {
        let queue = queue.clone();
        loom::thread::spawn(move || queue.push(1).unwrap())
    };
    queue.push(2).unwrap();
    producer.join().unwrap();
    shared.close();
    threads.join();
    assert_eq!(consumed.get(), 2, "{ALL}");
}

#[test]
fn two_producers_against_a_consumer() {
    check(Size::Large, two_producers);
}

/// A push while a turn for an earlier item begins, runs or ends.
fn push_against_a_turn() {
    let consumed = Tally::default();
    let count = consumed.clone();
    let (shared, queue, threads) = start_prepared(
        &config(1),
        |handle| queue_of_turns(handle, &batches_of(64), 1),
        move |turn: QueueTurn<u32>| {
            turn.run(|_item| count.add());
        },
    );
    queue.push(1).unwrap();
    shared.close();
    threads.join();
    assert_eq!(consumed.get(), 2, "{ALL}");
}

#[test]
fn a_push_against_the_end_of_a_turn() {
    check(Size::Medium, push_against_a_turn);
}

#[test]
fn bites_a_consumer_that_does_not_look_whether_it_is_due_again() {
    must_fail(Plant::FinishIgnoresSchedule, 2, ALL, push_against_a_turn);
}

/// A consumer takes one of several items in each turn: each turn schedules the next.
fn turns_of_one_item() {
    let consumed = Tally::default();
    let count = consumed.clone();
    let (shared, queue, threads) = start_prepared(
        &config(1),
        |handle| queue_of_turns(handle, &batches_of(1), 2),
        move |turn: QueueTurn<u32>| {
            // Not `run`, which continues with the next turn if nothing else waits.
            let mut consumer = turn.begin();
            if consumer.try_pop().is_some() {
                count.add();
            }
        },
    );
    shared.close();
    threads.join();
    assert_eq!(consumed.get(), 2, "{ALL}");
    assert_eq!(queue.stats().turns, 2);
}

#[test]
fn turns_against_a_join() {
    check(Size::Small, turns_of_one_item);
}

#[test]
fn bites_a_batch_left_behind() {
    must_fail(Plant::BatchLeftBehind, 2, ALL, turns_of_one_item);
}

#[test]
fn bites_a_turn_that_is_not_counted() {
    // No worker has left early yet, but the sums show that one could have.
    must_fail(Plant::TurnUncounted, 2, "2 tasks consumed, but only 1", turns_of_one_item);
}

/// An item is consumed before the pool is done, or comes back.
fn push_against_close(items_before: u32) {
    let consumed = Tally::default();
    let count = consumed.clone();
    let (shared, queue, threads) = start_prepared(
        &config(1),
        |handle| queue_of_turns(handle, &batches_of(64), items_before),
        move |turn: QueueTurn<u32>| {
            turn.run(|_item| count.add());
        },
    );
    let producer = {
        let queue = queue.clone();
        loom::thread::spawn(move || queue.push(7))
    };
    shared.close();
    threads.join();
    let consumed_by_then = consumed.get();
    let accepted = match producer.join().unwrap() {
        Ok(()) => 1,
        Err(refused) => {
            let closed = PushErrorKind::Executor(heist::SpawnErrorKind::Closed);
            assert_eq!((refused.kind(), refused.into_inner()), (closed, 7));
            0
        }
    };
    assert_eq!(consumed_by_then, items_before as usize + accepted, "{ALL}");
    assert_eq!(queue.stats().consumed, consumed_by_then as u64);
}

#[test]
fn a_push_against_a_join() {
    check(Size::Medium, || push_against_close(0));
}

#[test]
fn a_push_and_a_turn_against_a_join() {
    check(Size::Medium, || push_against_close(1));
}

/// A stopped pool drops each queued item once, and counts it.
#[test]
fn a_push_against_a_shutdown() {
    check(Size::Medium, || {
        let consumed = Tally::default();
        let count = consumed.clone();
        let (shared, queue, threads) = start_prepared(
            &config(1),
            |handle| queue_of_turns(handle, &batches_of(64), 1),
            move |turn: QueueTurn<u32>| {
                turn.run(|_item| count.add());
            },
        );
        let producer = {
            let queue = queue.clone();
            loom::thread::spawn(move || queue.push(7).is_ok())
        };
        shared.shut_down();
        threads.join();
        let accepted = 1 + u64::from(producer.join().unwrap());
        let stats = queue.stats();
        assert_eq!((stats.pushed, stats.consumed + stats.dropped), (accepted, accepted));
        assert_eq!((stats.consumed, queue.len()), (consumed.get() as u64, 0));
    });
}

fn isolating() -> ExecutorConfig {
    config(1).on_panic(OnPanic::Isolate)
}

/// The consumer panics with another item queued and a third about to be pushed.
#[test]
fn a_consumer_that_panics_against_a_push() {
    check(Size::Medium, || {
        let consumed = Tally::default();
        let count = consumed.clone();
        let (shared, queue, threads) = start_prepared(
            &isolating(),
            |handle| queue_of_turns(handle, &batches_of(64), 2),
            move |turn: QueueTurn<u32>| {
                turn.run(|item| {
                    if item == 0 {
                        // Not `panic!`, which would call the panic hook thousands of times.
                        std::panic::resume_unwind(Box::new("as planned"));
                    }
                    count.add();
                });
            },
        );
        queue.push(2).unwrap();
        shared.close();
        threads.join();
        assert_eq!(consumed.get(), 2, "{ALL}");
        assert_eq!((queue.stats().consumed, shared.metrics_snapshot().panics), (3, 1));
    });
}

enum Task {
    Turn(QueueTurn<u32>),
    Pushed(bool),
}

/// A task waits for room while the consumer makes it.
#[test]
fn a_task_that_waits_for_room_against_the_consumer() {
    check(Size::Medium, || {
        let (consumed, pushed) = (Tally::default(), Tally::default());
        let tallies = (consumed.clone(), pushed.clone());
        let prepare = |handle: &ExecutorHandle<Task>| {
            let queue = GatedQueue::bounded(handle, 1, Task::Turn).unwrap();
            queue.push(0).unwrap();
            (queue, handle.clone())
        };
        let run = move |task| match task {
            Task::Turn(turn) => {
                turn.run(|_item| tallies.0.add());
            }
            Task::Pushed(true) => tallies.1.add(),
            Task::Pushed(false) => panic!("the queue stays open"),
        };
        let (shared, (queue, handle), threads) = start_prepared(&config(1), prepare, run);
        let waits = queue.push_then(1, &handle, |pushed| Task::Pushed(pushed.is_ok()));
        assert!(waits.is_ok(), "the pool is open");
        shared.close();
        threads.join();
        assert_eq!((consumed.get(), pushed.get()), (2, 1), "{ALL}");
    });
}

/// A queue accepts what a running task pushes, even if the pool is closed meanwhile.
#[test]
fn a_push_by_a_task_against_a_join() {
    check(Size::Medium, || {
        enum Task {
            Push(GatedQueue<u32>),
            Turn(QueueTurn<u32>),
        }
        let consumed = Tally::default();
        let count = consumed.clone();
        let prepare = |handle: &ExecutorHandle<Task>| {
            let queue = GatedQueue::unbounded(handle, Task::Turn);
            handle.spawn(Task::Push(queue.clone())).unwrap();
            queue
        };
        let run = move |task| match task {
            Task::Push(queue) => queue.push(1).unwrap(),
            Task::Turn(turn) => {
                turn.run(|_item| count.add());
            }
        };
        let (shared, queue, threads) = start_prepared(&config(1), prepare, run);
        let outside = queue.push(2);
        shared.close();
        threads.join();
        assert!(outside.is_ok());
        assert_eq!(consumed.get(), 2, "{ALL}");
    });
}

/// A queue is closed and emptied while a turn begins, runs or ends: each item ends in one way.
#[test]
fn an_emptied_queue_against_its_consumer() {
    check(Size::Medium, || {
        let consumed = Tally::default();
        let count = consumed.clone();
        let (shared, queue, threads) = start_prepared(
            &config(1),
            |handle| queue_of_turns(handle, &QueueConfig::new().capacity(Some(4)).batch(1), 3),
            move |turn: QueueTurn<u32>| {
                turn.run(|_item| count.add());
            },
        );
        let dropped = queue.close_and_drop();
        assert_eq!(queue.push(3).unwrap_err().kind(), PushErrorKind::Closed);
        shared.close();
        threads.join();
        assert_eq!(consumed.get() + dropped, 3, "each item is consumed or dropped, and counted");
        let stats = queue.stats();
        assert_eq!((stats.consumed, stats.dropped), (consumed.get() as u64, dropped as u64));
    });
}

/// A thread waits for room while the consumer makes it.
#[test]
fn a_thread_that_waits_for_room_against_the_consumer() {
    check(Size::Medium, || {
        let consumed = Tally::default();
        let count = consumed.clone();
        let (shared, queue, threads) = start_prepared(
            &config(1),
            |handle| queue_of_turns(handle, &QueueConfig::new().capacity(Some(1)).batch(64), 1),
            move |turn: QueueTurn<u32>| {
                turn.run(|_item| count.add());
            },
        );
        queue.push(1).unwrap();
        shared.close();
        threads.join();
        assert_eq!(consumed.get(), 2, "{ALL}");
    });
}

/// Making the task panics: the counted task ends on the producer's thread, perhaps as the last of
/// all.
fn an_end_outside() {
    let (shared, queue, threads) = start_prepared(
        &isolating(),
        |handle| {
            GatedQueue::unbounded(handle, |_turn: QueueTurn<u32>| -> QueueTurn<u32> {
                std::panic::resume_unwind(Box::new("as planned"))
            })
        },
        |_turn| panic!("there is no task"),
    );
    let producer = {
        let queue = queue.clone();
        loom::thread::spawn(move || queue.push(1).is_ok())
    };
    shared.close();
    threads.join();
    let accepted = u64::from(producer.join().unwrap());
    assert_eq!((queue.stats().pushed, queue.stats().dropped), (accepted, accepted));
    assert_eq!(shared.metrics_snapshot().tasks_dropped, accepted);
}

#[test]
fn an_end_outside_against_the_last_quiet_worker() {
    check(Size::Medium, an_end_outside);
}

#[test]
fn bites_an_end_outside_that_is_not_checked() {
    must_fail(Plant::EndOutsideUnchecked, 2, DEADLOCK, an_end_outside);
}
