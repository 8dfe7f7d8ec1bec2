//! Proves that a group returns results in the order in which its members end, whenever they are
//! taken; that an error aborts the other members and waits for them; that no result and no panic is
//! lost; and that no member outlives its group.

use crate::support::event::{Event, Live};
use crate::support::{SILENT, silence_panics, wait_until, watched};
use heist::{JoinError, SpawnErrorKind};
use heist_runtime::{GroupError, Runtime, TaskGroup};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

fn start(workers: usize) -> Runtime {
    Runtime::builder().threads(workers).build().unwrap()
}

/// Creates a group whose members return their numbers when their events are set.
fn group_with_events(runtime: &Runtime, members: usize) -> (TaskGroup<usize>, Vec<Event>) {
    let mut group = runtime.handle().group();
    let events: Vec<_> = (0..members).map(|_| Event::default()).collect();
    for (number, member) in events.iter().cloned().enumerate() {
        group.spawn(async move {
            member.wait().await;
            number
        });
    }
    (group, events)
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn results_come_in_the_order_in_which_members_end() {
    watched(|| {
        let runtime = start(2);
        let (mut group, events) = group_with_events(&runtime, 5);
        assert_eq!((group.len(), group.is_empty()), (5, false));
        for number in [3, 0, 4, 1, 2] {
            assert!(poll_once(pin!(group.join_next())).is_pending());
            events[number].set();
            assert_eq!(runtime.block_on(group.join_next()).unwrap().unwrap(), number);
        }
        assert!(group.is_empty());
        assert!(runtime.block_on(group.join_next()).is_none());
        assert!(runtime.block_on(group.join_all()).is_empty());
    });
}

/// The group keeps the order of members that end while it is not awaited.
#[test]
fn results_that_are_taken_late_keep_their_order() {
    watched(|| {
        let runtime = start(1);
        let (mut group, events) = group_with_events(&runtime, 100);
        let order: Vec<usize> = (0..100).map(|number| (number * 37) % 100).collect();
        for (ended, &number) in (0_u64..).zip(&order) {
            events[number].set();
            wait_until("the member has ended", || runtime.metrics().futures_ended > ended);
        }
        let results: Vec<_> = (0..100).map(|_| runtime.block_on(group.join_next())).collect();
        let results: Vec<_> = results.into_iter().map(|next| next.unwrap().unwrap()).collect();
        assert_eq!(results, order);
    });
}

#[test]
fn join_all_returns_results_in_spawn_order() {
    watched(|| {
        let runtime = start(2);
        let (mut group, events) = group_with_events(&runtime, 10);
        events.iter().rev().for_each(Event::set);
        group.spawn_blocking(|| 10);
        let results = runtime.block_on(group.join_all());
        let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, (0..11).collect::<Vec<_>>());
    });
}

/// The group reuses the places of its members, and old wakers do no harm.
#[test]
fn a_group_may_grow_while_it_is_awaited() {
    watched(|| {
        let runtime = start(2);
        let handle = runtime.handle();
        let sum = runtime.block_on(async move {
            let mut group = handle.group();
            for _ in 0..10 {
                group.spawn(async { 10_u64 });
            }
            let mut sum = 0;
            while let Some(value) = group.join_next().await {
                let value = value.unwrap();
                sum += 1;
                if value > 0 {
                    group.spawn(async move {
                        heist::yield_now().await;
                        value - 1
                    });
                }
            }
            sum
        });
        assert_eq!(sum, 10 * 11);
    });
}

/// The group must not check every member to find the next result.
#[test]
fn a_result_is_found_in_constant_time() {
    watched(|| {
        let runtime = start(2);
        // Members that wait all the time, and one that ends repeatedly.
        let mut polls_us = [1_000, 100_000].map(|members| {
            let (mut group, _told) = group_with_events(&runtime, members);
            // The group has polled all of them before the clock starts.
            assert!(poll_once(pin!(group.join_next())).is_pending());
            let mut times: Vec<_> = (0..200)
                .map(|_| {
                    group.spawn(async { usize::MAX });
                    let began = Instant::now();
                    assert_eq!(runtime.block_on(group.join_next()).unwrap().unwrap(), usize::MAX);
                    began.elapsed().as_micros()
                })
                .collect();
            times.sort_unstable();
            times[times.len() / 2]
        });
        println!("median us with 1,000 and 100,000 members: {polls_us:?}");
        // A scan over 100,000 handles takes milliseconds.
        polls_us[0] = polls_us[0].max(1);
        assert!(polls_us[1] < 20 * polls_us[0] + 300, "{polls_us:?}");
    });
}

#[test]
fn no_result_is_lost_when_many_members_end_at_once() {
    watched(|| {
        let runtime = start(4);
        for members in [1, 2, 17, 1_000, 20_000] {
            let mut group = runtime.handle().group();
            for number in 0..members {
                group.spawn(async move { number });
            }
            let mut seen = vec![false; members];
            let all = runtime.spawn(async move {
                while let Some(number) = group.join_next().await {
                    assert!(!std::mem::replace(&mut seen[number.unwrap()], true));
                }
                seen.iter().all(|seen| *seen)
            });
            assert!(runtime.block_on(all).unwrap());
        }
    });
}

fn endless_group<T: Send + 'static>(
    runtime: &Runtime,
    members: usize,
) -> (TaskGroup<T>, Arc<AtomicUsize>) {
    let live = Arc::new(AtomicUsize::new(0));
    let mut group = runtime.handle().group();
    for _ in 0..members {
        let guard = Live::new(&live);
        group.spawn(async move {
            let _guard = guard;
            std::future::pending().await
        });
    }
    (group, live)
}

#[test]
fn the_members_of_an_aborted_group_return_aborted() {
    watched(|| {
        let runtime = start(1);
        let (mut group, live) = endless_group::<()>(&runtime, 100);
        group.spawn(async {});
        // With one worker, all members that were spawned before were polled.
        runtime.block_on(runtime.spawn(async {})).unwrap();
        group.abort_all();
        let results = runtime.block_on(group.join_all());
        assert_eq!(results.len(), 101);
        let (last, aborted) = results.split_last().unwrap();
        assert!(aborted.iter().all(|result| matches!(result, Err(JoinError::Aborted))));
        assert!(last.is_ok(), "the member had ended before: {last:?}");
        assert_eq!(
            live.load(Ordering::Acquire),
            0,
            "the members were dropped before their results were returned"
        );
    });
}

/// Another thread aborts the member, and the thread that awaits the group is woken.
#[test]
fn an_abort_handle_ends_one_member_alone() {
    watched(|| {
        let runtime = start(2);
        for _ in 0..500 {
            let (mut group, live) = endless_group::<()>(&runtime, 3);
            let abort = group.spawn(std::future::pending()).abort_handle();
            let aborting = std::thread::spawn(move || abort.abort());
            let result = runtime.block_on(group.join_next()).unwrap();
            assert!(matches!(result, Err(JoinError::Aborted)));
            assert_eq!((group.len(), live.load(Ordering::Acquire)), (3, 3));
            aborting.join().unwrap();
        }
    });
}

#[test]
fn a_member_that_has_ended_is_not_aborted() {
    watched(|| {
        let runtime = start(1);
        let mut group = runtime.handle().group();
        let abort = group.spawn(async { 7 }).abort_handle();
        wait_until("the member has ended", || abort.is_finished());
        abort.abort();
        assert_eq!(runtime.block_on(group.join_next()).unwrap().unwrap(), 7);
        assert!(group.is_empty());
    });
}

#[test]
fn a_dropped_group_aborts_its_members() {
    watched(|| {
        let runtime = start(2);
        let (group, live) = endless_group::<()>(&runtime, 100);
        assert_eq!(live.load(Ordering::Acquire), 100);
        drop(group);
        wait_until("the members are dropped", || live.load(Ordering::Acquire) == 0);
        let (group, live) = endless_group::<()>(&runtime, 100);
        // Also if one group is inside another.
        let outer = runtime.spawn(async move {
            let mut group = group;
            group.join_next().await.map(|result| result.is_ok())
        });
        wait_until("the member waits", || runtime.metrics().polls >= 101);
        drop(runtime);
        assert!(matches!(heist_runtime::block_on(outer), Err(JoinError::Stopped)));
        assert_eq!(live.load(Ordering::Acquire), 0);
    });
}

#[test]
fn the_first_error_aborts_the_others_and_waits_for_them() {
    watched(|| {
        let runtime = start(2);
        let (mut group, live) = endless_group::<Result<u32, &str>>(&runtime, 50);
        group.spawn(async { Ok(1) });
        group.spawn(async { Err("broken") });
        let guard = Live::new(&live);
        group.spawn_blocking(move || {
            let _guard = guard;
            std::thread::sleep(Duration::from_millis(30));
            Ok(2)
        });
        match runtime.block_on(group.try_join_all()) {
            Err(error @ GroupError::Failed("broken")) => {
                assert_eq!(error.to_string(), "a member of the group failed: broken");
            }
            other => panic!("{other:?}"),
        }
        assert!(group.is_empty());
        assert_eq!(
            live.load(Ordering::Acquire),
            0,
            "the group waited for all members, including the blocking call"
        );
        assert_eq!(runtime.metrics().futures_live(), 0);
    });
}

#[test]
fn try_join_all_returns_values_in_spawn_order() {
    watched(|| {
        let runtime = start(2);
        let mut group = runtime.handle().group();
        for number in 0..100_u32 {
            group.spawn(async move {
                for _ in 0..(number * 7) % 5 {
                    heist::yield_now().await;
                }
                Ok::<_, ()>(number)
            });
        }
        let values = runtime.block_on(group.try_join_all()).unwrap();
        assert_eq!(values, (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn a_members_panic_is_its_result() {
    watched(|| {
        silence_panics();
        let runtime = Runtime::builder().threads(2).thread_name(SILENT).build().unwrap();
        let mut group = runtime.handle().group();
        group.spawn(async { 1 });
        group.spawn(async { panic!("member failed") });
        group.spawn_blocking(|| panic!("call failed"));
        let mut results = runtime.block_on(group.join_all()).into_iter();
        assert_eq!(results.next().unwrap().unwrap(), 1);
        for expected in ["member failed", "call failed"] {
            match results.next().unwrap() {
                Err(JoinError::Panicked(payload)) => assert_eq!(payload.message(), expected),
                other => panic!("{other:?}"),
            }
        }
        let (mut group, live) = endless_group::<Result<(), ()>>(&runtime, 10);
        group.spawn(async { panic!("first") });
        match runtime.block_on(group.try_join_all()) {
            Err(GroupError::Ended(JoinError::Panicked(payload))) => {
                assert_eq!(payload.message(), "first");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(live.load(Ordering::Acquire), 0);
        assert_eq!(runtime.metrics().panics, 3);
    });
}

#[test]
fn a_group_returns_results_after_its_runtime_has_stopped() {
    watched(|| {
        let runtime = start(1);
        let (mut group, _live) = endless_group::<()>(&runtime, 3);
        runtime.handle().shutdown();
        group.spawn(async {});
        let results = heist_runtime::block_on(group.join_all());
        assert!(results[..3].iter().all(|result| matches!(result, Err(JoinError::Stopped))));
        assert!(matches!(results[3], Err(JoinError::Refused(SpawnErrorKind::ShutDown))));
    });
}

/// A loop over results that are all ready yields, like other leaf futures.
#[test]
fn taking_results_counts_against_the_budget() {
    watched(|| {
        let runtime = start(1);
        let mut group = runtime.handle().group();
        for number in 0..1_000 {
            group.spawn(async move { number });
        }
        wait_until("all members have ended", || runtime.metrics().futures_ended == 1_000);
        let polls = runtime.metrics().polls;
        let taken = runtime.spawn(async move {
            let mut taken = 0;
            while group.join_next().await.is_some() {
                taken += 1;
            }
            taken
        });
        assert_eq!(runtime.block_on(taken).unwrap(), 1_000);
        // 128 per poll.
        wait_until("the polls are counted", || runtime.metrics().polls - polls == 8);
    });
}

#[test]
fn outputs_that_panic_when_a_group_drops_them_are_contained() {
    struct Fragile;
    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    watched(|| {
        silence_panics();
        let runtime = Runtime::builder().threads(2).thread_name(SILENT).build().unwrap();
        let handle = runtime.handle();
        // Some of them end before the group can listen to them, others while the group is dropped.
        let drop_groups = move || {
            for _ in 0..100 {
                let mut group = handle.group();
                for _ in 0..10 {
                    group.spawn(async { Fragile });
                }
                drop(group);
            }
        };
        let thread = std::thread::Builder::new().name(SILENT.to_owned()).spawn(drop_groups);
        thread.unwrap().join().unwrap();
        runtime.join();
    });
}
