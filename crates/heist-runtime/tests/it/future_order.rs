//! Proves the order in which one worker polls futures: at most three in a row come from its LIFO
//! slot, a future that yields goes behind everything queued before, and a poll may do 128
//! operations. The order is the same in every run.

use crate::support::sync::Mutex;
use crate::support::{Latch, watched};
use heist::coop::{self, OPERATIONS_PER_POLL};
use heist::rng::XorShift64;
use heist_runtime::Runtime;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Poll, Waker};

/// A record of the polls, in order.
type Log<T> = Arc<Mutex<Vec<T>>>;

fn one_worker() -> Runtime {
    Runtime::builder().threads(1).build().unwrap()
}

/// Runs a future on a runtime with one worker, until everything that it spawned has ended.
fn run_alone(future: impl Future<Output = ()> + Send + 'static) {
    let runtime = one_worker();
    let handle = runtime.spawn(future);
    heist_runtime::block_on(handle).unwrap();
    let metrics = runtime.join();
    assert_eq!(metrics.panics, 0, "{metrics}");
}

/// The state of two futures that wake each other.
struct Players {
    wakers: Mutex<[Option<Waker>; 2]>,
    log: Log<char>,
    left: AtomicU32,
}

impl Players {
    fn player(self: Arc<Self>, me: usize) -> impl Future<Output = ()> + Send + 'static {
        poll_fn(move |cx| {
            let other = {
                let mut wakers = self.wakers.lock().unwrap();
                wakers[me] = Some(cx.waker().clone());
                wakers[1 - me].take()
            };
            if let Some(other) = other {
                self.log.lock().unwrap().push('s');
                other.wake();
            }
            // Both players stop, whichever is polled last.
            let left = self.left.load(Ordering::Relaxed);
            self.left.store(left.saturating_sub(1), Ordering::Relaxed);
            if left > 0 { Poll::Pending } else { Poll::Ready(()) }
        })
    }
}

#[test]
fn the_queue_gets_every_fourth_poll_beside_the_lifo_slot() {
    watched(|| {
        let log = Log::default();
        let written = Arc::clone(&log);
        run_alone(async move {
            let players = Arc::new(Players {
                wakers: Mutex::default(),
                log: Arc::clone(&written),
                left: AtomicU32::new(40),
            });
            for me in 0..2 {
                heist_runtime::spawn(Arc::clone(&players).player(me));
            }
            // The first player waits. The second one wakes it, and from then on there is always a
            // future in the LIFO slot.
            for _ in 0..10 {
                let log = Arc::clone(&written);
                heist_runtime::spawn(async move { log.lock().unwrap().push('q') });
            }
        });
        let log: String = log.lock().unwrap().iter().collect();
        // The second player's first poll came from the queue.
        assert!(log.starts_with("ssssq"), "{log}");
        let from_slot: Vec<_> = log[1..].split('q').map(str::len).collect();
        assert_eq!(&from_slot[..10], &[3; 10], "{log}");
    });
}

#[test]
fn yielding_futures_alternate() {
    watched(|| {
        let log = Log::default();
        let written = Arc::clone(&log);
        run_alone(async move {
            for number in 0..5 {
                let log = Arc::clone(&written);
                heist_runtime::spawn(async move {
                    for _ in 0..20 {
                        log.lock().unwrap().push(number);
                        heist::yield_now().await;
                    }
                });
            }
        });
        let expected: Vec<_> = (0..20).flat_map(|_| 0..5).collect();
        assert_eq!(*log.lock().unwrap(), expected);
    });
}

#[test]
fn a_yielding_future_goes_behind_futures_from_outside() {
    watched(|| {
        let (runtime, log) = (one_worker(), Log::default());
        let (entered, latch) = (Latch::default(), Latch::default());
        let held = (entered.clone(), latch.clone());
        let written = Arc::clone(&log);
        let yields = runtime.spawn(async move {
            let queued = Arc::clone(&written);
            heist_runtime::spawn(async move { queued.lock().unwrap().push("queued") });
            held.0.open();
            held.1.wait();
            heist::yield_now().await;
            written.lock().unwrap().push("yielded");
        });
        entered.wait();
        for _ in 0..5 {
            let log = Arc::clone(&log);
            runtime.spawn(async move { log.lock().unwrap().push("outside") });
        }
        latch.open();
        heist_runtime::block_on(yields).unwrap();
        runtime.join();
        let log = log.lock().unwrap();
        assert_eq!(log.last(), Some(&"yielded"), "{log:?}");
        assert_eq!(log.len(), 7);
    });
}

/// The worker polls the future that was woken last, then the spawned futures in order.
#[test]
fn a_woken_future_runs_before_spawned_futures_which_run_in_order() {
    watched(|| {
        let log = Log::default();
        let written = Arc::clone(&log);
        run_alone(async move {
            let event = crate::support::event::Event::default();
            let (waits, woken) = (event.clone(), Arc::clone(&written));
            heist_runtime::spawn(async move {
                waits.wait().await;
                woken.lock().unwrap().push(100);
            });
            heist::yield_now().await;
            for number in 0..5 {
                let log = Arc::clone(&written);
                heist_runtime::spawn(async move { log.lock().unwrap().push(number) });
            }
            event.set();
        });
        assert_eq!(*log.lock().unwrap(), [100, 0, 1, 2, 3, 4]);
    });
}

#[test]
fn a_poll_may_do_exactly_128_operations() {
    watched(|| {
        assert_eq!(OPERATIONS_PER_POLL, 128);
        let (polls, other) = (Log::default(), Arc::new(AtomicU32::new(0)));
        let (counted, turns) = (Arc::clone(&polls), Arc::clone(&other));
        run_alone(async move {
            let others = Arc::clone(&turns);
            heist_runtime::spawn(async move {
                for _ in 0..10 {
                    others.fetch_add(1, Ordering::Relaxed);
                    heist::yield_now().await;
                }
            });
            // Each future has its own budget: the operations of the spawning future do not count.
            heist_runtime::spawn(poll_fn(move |cx| {
                let mut operations = 0;
                while coop::poll_proceed(cx).is_ready() {
                    operations += 1;
                }
                let mut polls = counted.lock().unwrap();
                polls.push((operations, turns.load(Ordering::Relaxed)));
                if polls.len() == 10 { Poll::Ready(()) } else { Poll::Pending }
            }));
        });
        let polls = polls.lock().unwrap();
        let expected: Vec<_> = (1..=10).map(|turn| (128, turn)).collect();
        assert_eq!(*polls, expected, "the other futures run after each poll");
    });
}

#[test]
fn awaiting_a_handle_counts_only_inside_a_poll() {
    watched(|| {
        let runtime = one_worker();
        let awaits = runtime.spawn(async {
            let mut handles: Vec<_> = (0..300).map(|_| heist_runtime::spawn(async {})).collect();
            // After this, all of them have ended.
            heist::yield_now().await;
            let mut awaited_per_poll = vec![0];
            poll_fn(|cx| {
                while let Some(handle) = handles.last_mut() {
                    if std::pin::Pin::new(handle).poll(cx).is_pending() {
                        awaited_per_poll.push(0);
                        return Poll::Pending;
                    }
                    handles.pop();
                    *awaited_per_poll.last_mut().unwrap() += 1;
                }
                Poll::Ready(())
            })
            .await;
            awaited_per_poll
        });
        assert_eq!(heist_runtime::block_on(awaits).unwrap(), [128, 128, 44]);
        runtime.block_on(async {
            for _ in 0..1_000 {
                coop::consume_budget().await;
            }
        });
        let mut cx = std::task::Context::from_waker(Waker::noop());
        assert!((0..1_000).all(|_| coop::poll_proceed(&mut cx).is_ready()));
    });
}

/// A future that blocks on another runtime inside a poll has an unlimited budget, because nothing
/// would refill it.
#[test]
fn block_on_inside_a_poll_ignores_the_used_up_budget() {
    watched(|| {
        let other = Runtime::builder().threads(1).build().unwrap();
        run_alone(poll_fn(move |cx| {
            while coop::poll_proceed(cx).is_ready() {}
            other.block_on(async {
                for _ in 0..1_000 {
                    coop::consume_budget().await;
                }
            });
            assert!(
                coop::poll_proceed(cx).is_pending(),
                "the future's own budget is still used up"
            );
            Poll::Ready(())
        }));
    });
}

/// A random tree of futures that spawn, yield, await each other and wake each other.
fn grow(number: u32, seed: u64, log: &Log<(u32, u32)>) -> impl Future<Output = u64> + Send + use<> {
    let log = Arc::clone(log);
    async move {
        let mut rng = XorShift64::new(seed);
        let mut children = Vec::new();
        for step in 0..2 + rng.below_usize(4) as u32 {
            log.lock().unwrap().push((number, step));
            match rng.next_u64() % 6 {
                0 => heist::yield_now().await,
                1 => coop::consume_budget().await,
                2 if !children.is_empty() => {
                    let child: heist::JoinHandle<u64> = children.pop().unwrap();
                    child.await.unwrap();
                }
                _ if number < 10_000 => {
                    let child: std::pin::Pin<Box<dyn Future<Output = u64> + Send>> =
                        Box::pin(grow(number * 5 + step + 1, rng.next_u64(), &log));
                    children.push(heist_runtime::spawn(child));
                }
                _ => {}
            }
        }
        rng.next_u64()
    }
}

#[test]
fn one_worker_polls_in_the_same_order_each_time() {
    watched(|| {
        let record = |seed| {
            let log = Log::default();
            let root = grow(1, seed, &log);
            run_alone(async move {
                root.await;
            });
            log.lock().unwrap().clone()
        };
        let seeds: Vec<u64> = (1..200).filter(|&seed| record(seed).len() > 100).take(5).collect();
        assert_eq!(seeds.len(), 5, "some trees are large");
        for seed in seeds {
            let first = record(seed);
            for _ in 0..10 {
                assert!(record(seed) == first, "seed {seed}");
            }
        }
    });
}
