//! Proves that a loop over one of heist's operations that is always ready yields to other futures,
//! and ends when its runtime is dropped; and that a postponed operation loses nothing.

use crate::support::fairness::{check_fair, count_operation};
use crate::support::lanes::run_by;
use crate::support::queued::{Log, consumed_by};
use crate::support::{Job, start_jobs, wait_until, watched, workers};
use heist::coop::{OPERATIONS_PER_POLL, poll_proceed};
use heist::signal::SignalWaker;
use heist::{ByteBudget, CountBudget, Executor, GatedQueue, ReadTokens};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots};
use heist_runtime::Runtime;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Poll};

const OPERATIONS: u64 = 10_000;

/// Runs a loop over an operation on a runtime with one worker, until the runtime is dropped.
/// Another future must be polled meanwhile.
#[track_caller]
fn check_gives_way<O>(operation: impl Fn() -> O + Clone + Send + 'static)
where
    O: Future<Output = ()> + Send,
{
    let counted = operation.clone();
    check_fair(OPERATIONS, async move {
        for _ in 0..OPERATIONS {
            counted().await;
            count_operation();
        }
        Ok(())
    });
    let runtime = Runtime::builder().threads(1).build().unwrap();
    let (begun, has_begun) = channel();
    runtime.spawn(async move {
        loop {
            operation().await;
            // The test listens only for the first message.
            let _ = begun.send(());
        }
    });
    has_begun.recv().expect("the loop has begun");
    drop(runtime);
}

/// Creates the executor that consumes the items that a runtime's futures push.
fn consumers() -> Executor<Job> {
    start_jobs(workers(1))
}

#[test]
fn acquiring_from_a_budget() {
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        check_gives_way(move || {
            let budget = budget.clone();
            async move { drop(budget.acquire_async(1).await.unwrap()) }
        });
        let bytes = ByteBudget::new(1_000).unwrap();
        check_gives_way(move || {
            let bytes = bytes.clone();
            async move { drop(bytes.acquire_async(10).await.unwrap()) }
        });
        let tokens = ReadTokens::new(2, 1_000).unwrap();
        check_gives_way(move || {
            let tokens = tokens.clone();
            async move { drop(tokens.acquire_async(10).await.unwrap()) }
        });
    });
}

#[test]
fn failing_to_acquire_from_a_budget() {
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        let too_small = budget.clone();
        check_gives_way(move || {
            let budget = too_small.clone();
            async move { assert!(budget.acquire_async(2).await.is_err()) }
        });
        budget.close();
        check_gives_way(move || {
            let budget = budget.clone();
            async move { assert!(budget.acquire_async(1).await.is_err()) }
        });
    });
}

#[test]
fn acquiring_a_devices_slot() {
    watched(|| {
        let slots = DeviceSlots::uniform(1).unwrap();
        check_gives_way(move || {
            let slots = slots.clone();
            async move { drop(slots.acquire_async(DeviceId::from_raw(1)).await.unwrap()) }
        });
    });
}

#[test]
fn acquiring_a_signals_permit() {
    watched(|| {
        let waker = SignalWaker::new();
        waker.release(1);
        check_gives_way(move || {
            let waker = waker.clone();
            async move { drop(waker.acquire_async().await.unwrap()) }
        });
    });
}

#[test]
fn pushing_into_a_queue_with_room() {
    watched(|| {
        let executor = consumers();
        let unbounded = GatedQueue::unbounded(&executor.handle(), consumed_by(|_item: u8| {}));
        check_gives_way(move || {
            let queue = unbounded.clone();
            async move { queue.push_async(0).await.unwrap() }
        });
        let bounded =
            GatedQueue::bounded(&executor.handle(), 1 << 40, consumed_by(|_item: u8| {})).unwrap();
        let closed = bounded.clone();
        check_gives_way(move || {
            let queue = bounded.clone();
            async move { queue.push_async(0).await.unwrap() }
        });
        closed.close();
        check_gives_way(move || {
            let queue = closed.clone();
            async move { assert!(queue.push_async(0).await.is_err()) }
        });
        executor.join();
    });
}

#[test]
fn submitting_to_a_lane_with_room() {
    watched(|| {
        let executor = consumers();
        let slots = DeviceSlots::uniform(1).unwrap();
        let lanes = DeviceLanes::new(&executor.handle(), slots, run_by(|_job: u8, _slot| {}));
        let closed = lanes.clone();
        check_gives_way(move || {
            let lanes = lanes.clone();
            async move { lanes.submit_async(DeviceId::from_raw(1), 0).await.unwrap() }
        });
        closed.close();
        check_gives_way(move || {
            let lanes = closed.clone();
            async move { assert!(lanes.submit_async(DeviceId::from_raw(1), 0).await.is_err()) }
        });
        executor.join();
    });
}

#[test]
fn awaiting_futures_that_were_refused() {
    watched(|| {
        let stopped = Runtime::builder().threads(1).build().unwrap().handle();
        stopped.shutdown();
        let futures = stopped.clone();
        check_gives_way(move || {
            let stopped = futures.clone();
            async move { assert!(stopped.spawn(async {}).await.is_err()) }
        });
        check_gives_way(move || {
            let stopped = stopped.clone();
            async move { assert!(stopped.spawn_blocking(|| ()).await.is_err()) }
        });
    });
}

#[test]
fn awaiting_futures_that_have_ended() {
    watched(|| {
        let others = Runtime::builder().threads(1).build().unwrap();
        let ended: Vec<_> = (0..OPERATIONS).map(|_| others.spawn(async {})).collect();
        wait_until("all of them have ended", || ended.iter().all(heist::JoinHandle::is_finished));
        check_fair(OPERATIONS, async move {
            for ended in ended {
                ended.await.unwrap();
                count_operation();
            }
            Ok(())
        });
        let calls = others.spawn_blocking_batch((0..OPERATIONS).map(|_| || ()));
        wait_until("all of them have ended", || calls.iter().all(heist::JoinHandle::is_finished));
        check_fair(OPERATIONS, async move {
            for call in calls {
                call.await.unwrap();
                count_operation();
            }
            Ok(())
        });
    });
}

#[test]
fn asking_an_empty_group() {
    watched(|| {
        let others = Runtime::builder().threads(1).build().unwrap().handle();
        check_gives_way(move || {
            let mut group = others.group::<()>();
            async move { assert!(group.join_next().await.is_none()) }
        });
    });
}

#[cfg(all(feature = "io", not(heist_tsan)))]
mod io {
    use super::*;
    use heist_runtime::net::{TcpListener, UdpSocket, resolve};
    use heist_runtime::time::{interval, sleep, timeout};
    use std::future::pending;
    use std::time::Duration;

    #[test]
    fn sleeping_until_a_past_time() {
        watched(|| {
            check_gives_way(|| sleep(Duration::ZERO));
            check_gives_way(|| async {
                let _now = interval(Duration::ZERO).tick().await;
            });
            check_gives_way(|| async {
                assert!(timeout(Duration::ZERO, pending::<()>()).await.is_err());
            });
        });
    }

    /// The timeout must not depend on how many operations the limited future has left.
    #[test]
    fn a_timeout_ends_a_future_that_uses_up_the_budget_of_every_poll() {
        watched(|| {
            let runtime = Runtime::builder().threads(1).build().unwrap();
            let busy = runtime.spawn(timeout(Duration::from_millis(20), async {
                loop {
                    heist::coop::consume_budget().await;
                }
            }));
            assert!(runtime.block_on(busy).unwrap().is_err());
        });
    }

    #[test]
    fn creating_sockets() {
        watched(|| {
            check_gives_way(|| async {
                drop(UdpSocket::bind("127.0.0.1:0").await.unwrap());
            });
            check_gives_way(|| async {
                drop(TcpListener::bind("127.0.0.1:0").await.unwrap());
            });
            check_gives_way(|| async {
                assert_eq!(resolve("127.0.0.1:80").await.unwrap().len(), 1);
            });
        });
    }
}

/// Uses up the rest of the current poll's budget.
fn use_up_budget(cx: &mut Context<'_>) {
    while poll_proceed(cx).is_ready() {}
}

#[test]
fn a_granted_permit_is_not_lost_when_its_future_yields() {
    watched(|| {
        for taken in [true, false] {
            let runtime = Runtime::builder().threads(1).build().unwrap();
            let budget = CountBudget::new(1).unwrap();
            let held = budget.try_acquire(1).unwrap();
            let asked = budget.clone();
            let future = runtime.spawn(async move {
                let mut permit = pin!(asked.acquire_async(1));
                let mut polls = 0;
                poll_fn(|cx| {
                    polls += 1;
                    match polls {
                        1 => assert!(permit.as_mut().poll(cx).is_pending(), "the permit is taken"),
                        2 => {
                            assert_eq!((asked.waiting(), asked.available()), (0, 0), "granted");
                            use_up_budget(cx);
                            assert!(permit.as_mut().poll(cx).is_pending(), "the future yields");
                            if !taken {
                                return Poll::Ready(None);
                            }
                        }
                        _ => return permit.as_mut().poll(cx).map(Some),
                    }
                    Poll::Pending
                })
                .await
                .transpose()
                .unwrap()
                .is_some()
            });
            wait_until("the future waits", || budget.waiting() == 1);
            drop(held);
            assert_eq!(runtime.block_on(future).unwrap(), taken);
            assert_eq!((budget.available(), budget.waiting()), (1, 0), "the permit was returned");
        }
    });
}

#[test]
fn a_yielding_future_keeps_its_place_in_the_queue() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let budget = CountBudget::new(1).unwrap();
        let held = budget.try_acquire(1).unwrap();
        let log = Log::default();
        let (gave_way, has_given_way) = channel();
        let (asked, note) = (budget.clone(), log.clone());
        let first = runtime.spawn(async move {
            let mut permit = pin!(asked.acquire_async(1));
            let mut polls = 0;
            let _permit = poll_fn(|cx| {
                polls += 1;
                if polls == 1 {
                    assert!(permit.as_mut().poll(cx).is_pending(), "the permit is taken");
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                if polls == 2 {
                    use_up_budget(cx);
                }
                let polled = permit.as_mut().poll(cx);
                if polls == 2 {
                    assert!(polled.is_pending());
                    gave_way.send(asked.waiting()).unwrap();
                }
                polled
            })
            .await
            .unwrap();
            note.add("first");
        });
        assert_eq!(has_given_way.recv().unwrap(), 1, "the future is still in the queue");
        let (asked, note) = (budget.clone(), log.clone());
        let second = runtime.spawn(async move {
            let _permit = asked.acquire_async(1).await.unwrap();
            note.add("second");
        });
        wait_until("both futures wait", || budget.waiting() == 2);
        drop(held);
        runtime.block_on(first).unwrap();
        runtime.block_on(second).unwrap();
        assert_eq!(log.entries(), ["first", "second"]);
    });
}

/// A task that waits for several things at once must not spend its budget on those that are not
/// ready.
#[test]
fn an_operation_that_has_to_wait_is_not_counted() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let budget = CountBudget::new(1).unwrap();
        let held = budget.try_acquire(1).unwrap();
        let future = runtime.spawn(async move {
            let many = 2 * OPERATIONS_PER_POLL;
            let mut waiting: Vec<_> =
                (0..many).map(|_| Box::pin(budget.acquire_async(1))).collect();
            let mut endless = heist_runtime::spawn(std::future::pending::<()>());
            poll_fn(|cx| {
                for permit in &mut waiting {
                    assert!(permit.as_mut().poll(cx).is_pending());
                    assert!(pin!(&mut endless).poll(cx).is_pending());
                }
                let left = (0..many).take_while(|_| poll_proceed(cx).is_ready()).count();
                Poll::Ready((budget.waiting(), left))
            })
            .await
        });
        let expected = (2 * OPERATIONS_PER_POLL as usize, OPERATIONS_PER_POLL as usize);
        assert_eq!(runtime.block_on(future).unwrap(), expected);
        drop(held);
    });
}

/// If no operation is left in its first poll, a future takes neither a permit nor a place in the
/// queue.
#[test]
fn a_future_without_an_operation_left_acquires_in_its_next_poll() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let budget = CountBudget::new(1).unwrap();
        let asked = budget.clone();
        let future = runtime.spawn(async move {
            let mut permit = pin!(asked.acquire_async(1));
            let mut polls = 0;
            let _permit = poll_fn(|cx| {
                polls += 1;
                if polls == 1 {
                    use_up_budget(cx);
                    assert!(permit.as_mut().poll(cx).is_pending());
                    assert_eq!((asked.available(), asked.waiting()), (1, 0));
                    return Poll::Pending;
                }
                permit.as_mut().poll(cx)
            })
            .await
            .unwrap();
            polls
        });
        assert_eq!(runtime.block_on(future).unwrap(), 2);
        assert_eq!(budget.available(), 1);
    });
}

/// Outside of heist's workers, operations are not counted.
#[test]
fn outside_of_heist_no_operation_is_postponed() {
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for _ in 0..OPERATIONS {
            assert!(pin!(budget.acquire_async(1)).poll(&mut cx).is_ready());
        }
    });
}
