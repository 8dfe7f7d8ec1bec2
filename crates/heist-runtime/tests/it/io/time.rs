//! Proves that timers are never early, fire in order, are cancelled by dropping them, and do not
//! starve other tasks.

use crate::support::sync::Mutex;
use crate::support::{wait_until, watched};
use futures_lite::future;
use heist_runtime::Runtime;
use heist_runtime::time::{MissedTickBehavior, interval, sleep, sleep_until, timeout};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().threads(workers).build().expect("the runtime starts")
}

/// A waker that records the order in which the wakers of a test are woken.
struct InOrder {
    number: u32,
    order: Arc<Mutex<Vec<u32>>>,
}

impl Wake for InOrder {
    fn wake(self: Arc<Self>) {
        self.order.lock().unwrap().push(self.number);
    }
}

/// Compares the order of their wake-ups. The woken tasks may run in any order.
#[test]
fn sleeps_fire_in_the_order_of_their_times() {
    watched(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        // Late enough that all of them wait before the first one fires, even on a busy machine.
        let start = Instant::now() + Duration::from_millis(300);
        // In an order unrelated to their times: 7 and 20 have no common divisor.
        let sleeps: Vec<_> = (0..20)
            .map(|i| i * 7 % 20)
            .map(|number| {
                let mut sleep = sleep_until(start + number * Duration::from_millis(1));
                let waker = Waker::from(Arc::new(InOrder { number, order: Arc::clone(&order) }));
                let polled = pin!(&mut sleep).poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                sleep
            })
            .collect();
        wait_until("all timers have fired", || order.lock().unwrap().len() == 20);
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
        drop(sleeps);
    });
}

#[test]
fn ten_thousand_sleeps_all_end_and_none_is_early() {
    watched(|| {
        let runtime = runtime(2);
        let sleeps: Vec<_> = (0..10_000_u64)
            .map(|number| {
                runtime.spawn(async move {
                    let due = Instant::now() + Duration::from_micros(number * 7919 % 200_000);
                    sleep_until(due).await;
                    Instant::now() >= due
                })
            })
            .collect();
        runtime.block_on(async {
            for sleep in sleeps {
                assert!(sleep.await.expect("the task completes"), "early");
            }
        });
        assert_eq!(runtime.join().tasks_dropped, 0);
    });
}

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

#[test]
fn a_dropped_sleep_does_not_wake_its_task() {
    watched(|| {
        let (kept, dropped) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let poll = |sleep: &mut heist_runtime::time::Sleep, woken: &Arc<Woken>| {
            let waker = Waker::from(Arc::clone(woken));
            let polled = pin!(sleep).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        };
        let due = Instant::now() + Duration::from_millis(30);
        let mut one = sleep_until(due);
        poll(&mut one, &dropped);
        drop(one);
        let mut another = sleep_until(due);
        poll(&mut another, &kept);
        wait_until("the kept timer fires", || kept.0.load(Ordering::Acquire) == 1);
        assert_eq!(dropped.0.load(Ordering::Acquire), 0);
    });
}

#[test]
fn a_future_that_times_out_is_dropped_and_the_others_continue() {
    watched(|| {
        let runtime = runtime(2);
        let held = Arc::new(());
        let outcomes: Vec<_> = (0..100)
            .map(|number| {
                let held = Arc::clone(&held);
                // Every other future never completes.
                let (short, long) = (Duration::from_millis(10), HOUR);
                let (given, needed) = if number % 2 == 0 { (long, short) } else { (short, long) };
                runtime.spawn(timeout(given, async move {
                    let _held = held;
                    sleep(needed).await;
                    number
                }))
            })
            .collect();
        runtime.block_on(async {
            for (number, outcome) in outcomes.into_iter().enumerate() {
                let outcome = outcome.await.expect("the task completes");
                assert_eq!(outcome.ok(), (number % 2 == 0).then_some(number));
            }
        });
        assert_eq!(Arc::strong_count(&held), 1, "the futures that timed out are dropped");
    });
}

#[test]
fn a_runtime_waits_for_sleeping_tasks() {
    watched(|| {
        let runtime = runtime(2);
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let ended = Arc::clone(&ended);
            runtime
                .spawn(async move {
                    sleep(Duration::from_millis(30)).await;
                    ended.fetch_add(1, Ordering::Release);
                })
                .detach();
        }
        runtime.join();
        assert_eq!(ended.load(Ordering::Acquire), 50);
    });
}

#[test]
fn a_runtime_that_is_dropped_does_not_wait_for_timers() {
    watched(|| {
        let runtime = runtime(2);
        let held = Arc::new(());
        let polled = Arc::new(AtomicUsize::new(0));
        for _ in 0..1_000 {
            let (held, polled) = (Arc::clone(&held), Arc::clone(&polled));
            runtime
                .spawn(async move {
                    let _held = held;
                    polled.fetch_add(1, Ordering::Release);
                    sleep(HOUR).await;
                })
                .detach();
        }
        wait_until("all sleep", || polled.load(Ordering::Acquire) == 1_000);
        drop(runtime);
        assert_eq!(Arc::strong_count(&held), 1, "every sleeping task is dropped");
    });
}

#[test]
fn a_sleeping_task_can_be_aborted() {
    watched(|| {
        let runtime = runtime(1);
        let sleeping = runtime.spawn(sleep(HOUR));
        runtime.block_on(async {
            sleep(Duration::from_millis(5)).await;
            sleeping.abort();
            assert!(sleeping.await.is_err());
        });
    });
}

#[test]
fn ticks_stay_on_schedule_while_work_is_short() {
    watched(|| {
        let runtime = runtime(2);
        let due = runtime.block_on(async {
            let mut ticks = interval(Duration::from_millis(5));
            let mut due = Vec::new();
            for _ in 0..10 {
                let tick = ticks.tick().await;
                assert!(Instant::now() >= tick, "early");
                due.push(tick);
            }
            due
        });
        for (number, tick) in (0..).zip(&due) {
            assert_eq!(*tick, due[0] + number * Duration::from_millis(5));
        }
    });
}

#[test]
fn missed_ticks_are_skipped_if_configured() {
    watched(|| {
        runtime(1).block_on(async {
            let period = Duration::from_millis(10);
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let first = ticks.tick().await;
            sleep(Duration::from_millis(45)).await;
            assert_eq!(ticks.tick().await, first + period, "the late tick");
            let next = ticks.tick().await;
            assert!(next >= first + 5 * period, "{:?} after the first", next - first);
            let periods = (next - first).as_nanos() / period.as_nanos();
            assert_eq!(
                next,
                first + u32::try_from(periods).unwrap() * period,
                "the tick is not on the old schedule"
            );
        });
    });
}

/// With one worker, a task that is always ready must let the others run.
#[test]
fn timers_that_are_always_ready_do_not_starve_others() {
    watched(|| {
        let runtime = runtime(1);
        let enough = Arc::new(AtomicBool::new(false));
        let until_enough = |enough: &Arc<AtomicBool>| {
            let enough = Arc::clone(enough);
            move || enough.load(Ordering::Acquire)
        };
        let (sleeps, ticks) = (until_enough(&enough), until_enough(&enough));
        let sleeper = runtime.spawn(async move {
            while !sleeps() {
                sleep(Duration::ZERO).await;
            }
        });
        let ticker = runtime.spawn(async move {
            let mut always = interval(Duration::ZERO);
            while !ticks() {
                always.tick().await;
            }
        });
        let stopper = runtime.spawn(async move {
            enough.store(true, Ordering::Release);
        });
        runtime.block_on(async {
            stopper.await.unwrap();
            sleeper.await.unwrap();
            ticker.await.unwrap();
        });
    });
}

#[test]
fn timers_work_without_a_runtime() {
    watched(|| {
        future::block_on(async {
            let began = Instant::now();
            sleep(Duration::from_millis(5)).await;
            assert!(timeout(Duration::from_millis(5), future::pending::<()>()).await.is_err());
            assert!(began.elapsed() >= Duration::from_millis(10));
        });
    });
}

/// The timeout expires although another future in its task uses up the budget of each poll first.
#[test]
fn a_timeout_fires_beside_a_future_that_uses_up_the_budget() {
    watched(|| {
        let runtime = heist_runtime::Runtime::builder().threads(1).build().unwrap();
        let raced = runtime.spawn(async {
            let mut limited = std::pin::pin!(heist_runtime::time::timeout(
                Duration::from_millis(5),
                std::future::pending::<()>()
            ));
            std::future::poll_fn(|cx| {
                while heist::coop::poll_proceed(cx).is_ready() {}
                limited.as_mut().poll(cx)
            })
            .await
        });
        assert!(runtime.block_on(raced).unwrap().is_err());
    });
}
