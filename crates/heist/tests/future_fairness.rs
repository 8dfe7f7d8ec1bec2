//! Proves that no future and no task waits for ever beside others that never rest, and that one stuck worker holds up
//! nobody but itself: neither kind starves the other, a future that wakes itself starves nobody, and what is in the
//! queue and the slot of a worker that is stuck is taken by others.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::{Executor, Runtime, WorkerCtx};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use support::event::Event;
use support::sync::Mutex;
use support::{wait_until, watched, workers};

/// How much of the endless work may pass before the other one has its turn: far more than the rules say, far less than
/// for ever.
const WORK_MAX: u64 = 10_000;

/// Ends what would never end, and counts how long that took.
#[derive(Clone, Default)]
struct Endless {
    stop: Arc<AtomicBool>,
    work: Arc<AtomicU64>,
}

impl Endless {
    /// Counts one piece of work; says whether to go on.
    fn goes_on(&self) -> bool {
        self.work.fetch_add(1, Ordering::Relaxed);
        !self.stop.load(Ordering::Acquire)
    }

    /// A future that is never done of itself, but is always ready to go on.
    fn future(&self) -> impl Future<Output = ()> + Send + 'static {
        let this = self.clone();
        poll_fn(move |cx| {
            if !this.goes_on() {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    }

    /// Waits until the endless work is under way; returns how much there was.
    fn started(&self) -> u64 {
        wait_until("it is under way", || self.work.load(Ordering::Relaxed) > 100);
        self.work.load(Ordering::Relaxed)
    }

    /// The turn of whoever was to be starved has come.
    fn end(&self) -> u64 {
        let work = self.work.load(Ordering::Relaxed);
        self.stop.store(true, Ordering::Release);
        work
    }

    #[track_caller]
    fn check(before: u64, after: u64) {
        println!("{} pieces of other work in between", after - before);
        assert!(after - before < WORK_MAX, "starved for {} pieces of work", after - before);
    }
}

enum Task {
    /// Spawns its like for ever.
    Chain(Endless),
    /// Spawns a future from inside.
    SpawnFuture(Endless, Arc<AtomicU64>),
    /// Ends the endless work.
    End(Endless, Arc<AtomicU64>),
}

fn start_tasks() -> Executor<Task> {
    let runner = |task, ctx: &mut WorkerCtx<'_, Task, ()>| match task {
        Task::Chain(endless) => {
            if endless.goes_on() {
                ctx.spawn_local(Task::Chain(endless));
            }
        }
        Task::SpawnFuture(endless, before) => {
            before.store(endless.work.load(Ordering::Relaxed), Ordering::Relaxed);
            ctx.spawn_future(async move {
                heist::yield_now().await;
                Endless::check(before.load(Ordering::Relaxed), endless.end());
            });
        }
        Task::End(endless, before) => {
            Endless::check(before.load(Ordering::Relaxed), endless.end());
        }
    };
    Executor::new(workers(1), |_| (), runner).unwrap()
}

#[track_caller]
fn check_no_panic(executor: Executor<Task>) {
    let metrics = executor.join();
    assert_eq!(metrics.panics, 0, "{metrics}");
}

#[test]
fn an_endless_chain_of_tasks_does_not_starve_a_future() {
    watched(|| {
        // One from outside.
        let (executor, endless) = (start_tasks(), Endless::default());
        executor.spawn(Task::Chain(endless.clone())).unwrap();
        let before = endless.started();
        let ends = endless.clone();
        let future = executor.handle().spawn_future(async move { ends.end() }).unwrap();
        Endless::check(before, heist::block_on(future).unwrap());
        check_no_panic(executor);
        // One from inside, which yields in between.
        let (executor, endless) = (start_tasks(), Endless::default());
        executor.spawn(Task::Chain(endless.clone())).unwrap();
        endless.started();
        executor.spawn(Task::SpawnFuture(endless, Arc::default())).unwrap();
        check_no_panic(executor);
    });
}

#[test]
fn a_future_that_never_rests_does_not_starve_a_task() {
    watched(|| {
        let (executor, endless) = (start_tasks(), Endless::default());
        executor.handle().spawn_future(endless.future()).unwrap().detach();
        let before = Arc::new(AtomicU64::new(endless.started()));
        executor.spawn(Task::End(endless, before)).unwrap();
        check_no_panic(executor);
    });
}

#[test]
fn a_future_that_wakes_itself_for_ever_starves_no_other() {
    watched(|| {
        for workers in [1, 2] {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let endless = Endless::default();
            let restless: Vec<_> =
                (0..2 * workers).map(|_| runtime.spawn(endless.future())).collect();
            let before = endless.started();
            let began = Instant::now();
            let (inside, ends) = (runtime.handle(), endless.clone());
            // One from outside, and in it one from inside.
            let future = runtime
                .spawn(async move { inside.spawn(async move { ends.end() }).await.unwrap() });
            let after = heist::block_on(future).unwrap();
            println!("{workers} workers: {:?}", began.elapsed());
            Endless::check(before, after);
            restless.into_iter().for_each(|future| heist::block_on(future).unwrap());
        }
    });
}

/// Two futures that wake each other pass through the slot, before all that is queued.
#[test]
fn two_futures_that_wake_each_other_for_ever_starve_no_other() {
    watched(|| {
        for lifo_slot in [true, false] {
            let runtime = Runtime::builder().workers(1).lifo_slot(lifo_slot).build().unwrap();
            let endless = Endless::default();
            let wakers: Arc<Mutex<[Option<std::task::Waker>; 2]>> = Arc::default();
            let players: Vec<_> = (0..2)
                .map(|me| {
                    let (wakers, endless) = (Arc::clone(&wakers), endless.clone());
                    runtime.spawn(poll_fn(move |cx| {
                        let goes_on = endless.goes_on();
                        let other = {
                            let mut wakers = wakers.lock().unwrap();
                            wakers[me] = Some(cx.waker().clone());
                            wakers[1 - me].take()
                        };
                        if let Some(other) = other {
                            other.wake();
                        }
                        if goes_on { Poll::Pending } else { Poll::Ready(()) }
                    }))
                })
                .collect();
            let before = endless.started();
            let ends = endless.clone();
            let future = runtime.spawn(async move {
                heist::yield_now().await;
                ends.end()
            });
            Endless::check(before, heist::block_on(future).unwrap());
            players.into_iter().for_each(|player| heist::block_on(player).unwrap());
        }
    });
}

/// How long a poll is stuck.
const STUCK: Duration = Duration::from_millis(100);

/// What is not stuck with it must come before this; it takes some 50 µs on a machine that has nothing else to do.
const DELAY_MAX: Duration = Duration::from_millis(50);

/// On a machine that is busy with other programs one attempt may fail. If something waits for the stuck worker, all do.
const ATTEMPTS: usize = 10;

/// Takes the longest delay of each attempt, and requires that it was short enough in one of them.
#[track_caller]
fn check_delay(what: &str, attempt: impl Fn() -> Duration) {
    let mut delays = Vec::new();
    for _ in 0..ATTEMPTS {
        delays.push(attempt());
        if delays[delays.len() - 1] < DELAY_MAX {
            println!("{what}: {delays:?}");
            return;
        }
    }
    panic!("{what} always waited: {delays:?}");
}

/// A future that notes how long it took from `began` to its poll.
fn noted(began: Instant, longest_ns: &Arc<AtomicU64>) -> impl Future<Output = ()> + Send + 'static {
    let longest_ns = Arc::clone(longest_ns);
    async move {
        longest_ns.fetch_max(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

#[test]
fn what_is_queued_by_a_stuck_worker_is_polled_by_others() {
    watched(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        check_delay("what the stuck worker has spawned", || {
            let longest_ns = Arc::new(AtomicU64::new(0));
            let notes = Arc::clone(&longest_ns);
            let stuck = runtime.spawn(async move {
                let began = Instant::now();
                let spawned: Vec<_> = (0..50).map(|_| heist::spawn(noted(began, &notes))).collect();
                thread::sleep(STUCK);
                spawned
            });
            for future in runtime.block_on(stuck).unwrap() {
                runtime.block_on(future).unwrap();
            }
            Duration::from_nanos(longest_ns.load(Ordering::Relaxed))
        });
    });
}

#[test]
fn what_a_stuck_worker_has_woken_is_polled_by_others() {
    watched(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        // The last one woken is in the slot, the others are in the queue.
        for woken in [1, 5] {
            check_delay("what the stuck worker has woken", || {
                let (longest_ns, event) = (Arc::new(AtomicU64::new(0)), Event::default());
                let began: Arc<Mutex<Option<Instant>>> = Arc::default();
                let waiting: Vec<_> = (0..woken)
                    .map(|_| {
                        let (event, began) = (event.clone(), Arc::clone(&began));
                        let longest_ns = Arc::clone(&longest_ns);
                        runtime.spawn(async move {
                            event.wait().await;
                            let began = began.lock().unwrap().expect("it was noted before");
                            noted(began, &longest_ns).await;
                        })
                    })
                    .collect();
                wait_until("they wait", || event.waiting() == woken);
                let (wakes, notes) = (event.clone(), Arc::clone(&began));
                let stuck = runtime.spawn(async move {
                    *notes.lock().unwrap() = Some(Instant::now());
                    wakes.set();
                    thread::sleep(STUCK);
                });
                waiting.into_iter().for_each(|future| runtime.block_on(future).unwrap());
                runtime.block_on(stuck).unwrap();
                Duration::from_nanos(longest_ns.load(Ordering::Relaxed))
            });
        }
    });
}

#[test]
fn what_comes_from_outside_does_not_wait_for_a_stuck_worker() {
    watched(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        check_delay("what comes from outside", || {
            let entered = support::Gate::default();
            let enters = entered.clone();
            let stuck = runtime.spawn(async move {
                enters.open();
                thread::sleep(STUCK);
            });
            entered.wait();
            let (longest_ns, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
            let futures: Vec<_> =
                (0..50).map(|_| runtime.spawn(noted(began, &longest_ns))).collect();
            futures.into_iter().for_each(|future| runtime.block_on(future).unwrap());
            runtime.block_on(stuck).unwrap();
            Duration::from_nanos(longest_ns.load(Ordering::Relaxed))
        });
    });
}

/// Threads for blocking calls are there so that this does not happen.
#[test]
fn blocking_calls_hold_up_no_worker() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        check_delay("futures beside blocking calls", || {
            let calls: Vec<_> =
                (0..20).map(|_| runtime.spawn_blocking(|| thread::sleep(STUCK))).collect();
            let (longest_ns, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
            runtime.block_on(runtime.spawn(noted(began, &longest_ns))).unwrap();
            calls.into_iter().for_each(|call| runtime.block_on(call).unwrap());
            Duration::from_nanos(longest_ns.load(Ordering::Relaxed))
        });
    });
}
