//! Proves that no future and no task waits forever beside endless work. Tasks and futures do not
//! starve each other, and a future that wakes itself does not starve the others. A stuck worker
//! delays only the work that it is running: other workers take the futures in its queue and its
//! LIFO slot.

use crate::support::event::Event;
use crate::support::sync::Mutex;
use crate::support::{wait_until, watched, workers};
use heist::{Executor, WorkerCtx};
use heist_runtime::Runtime;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// How much endless work may run before the other work runs: far more than the scheduling rules
/// allow, but finite.
const WORK_MAX: u64 = 10_000;

/// Counts endless work, and ends it.
#[derive(Clone, Default)]
struct Endless {
    stop: Arc<AtomicBool>,
    work: Arc<AtomicU64>,
}

impl Endless {
    /// Counts one unit of work. Returns `true` if the work should continue.
    fn should_continue(&self) -> bool {
        self.work.fetch_add(1, Ordering::Relaxed);
        !self.stop.load(Ordering::Acquire)
    }

    /// A future that is always ready to continue and ends only when the test ends it.
    fn future(&self) -> impl Future<Output = ()> + Send + 'static {
        let this = self.clone();
        poll_fn(move |cx| {
            if !this.should_continue() {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    }

    /// Waits until the endless work has begun, and returns how much of it was done.
    fn started(&self) -> u64 {
        wait_until("the endless work has begun", || self.work.load(Ordering::Relaxed) > 100);
        self.work.load(Ordering::Relaxed)
    }

    /// Ends the endless work. Called by the work that might starve.
    fn end(&self) -> u64 {
        let work = self.work.load(Ordering::Relaxed);
        self.stop.store(true, Ordering::Release);
        work
    }

    #[track_caller]
    fn check(before: u64, after: u64) {
        println!("{} units of other work in between", after - before);
        assert!(after - before < WORK_MAX, "starved for {} units of work", after - before);
    }
}

enum Task {
    /// Spawns another task of its kind, forever.
    Chain(Endless),
    /// Spawns a future from a worker.
    SpawnFuture(Endless, Arc<AtomicU64>),
    /// Ends the endless work.
    End(Endless, Arc<AtomicU64>),
}

fn start_tasks() -> Executor<Task> {
    let runner = |task, ctx: &mut WorkerCtx<'_, Task, ()>| match task {
        Task::Chain(endless) => {
            if endless.should_continue() {
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
        // A future that is spawned from outside.
        let (executor, endless) = (start_tasks(), Endless::default());
        executor.spawn(Task::Chain(endless.clone())).unwrap();
        let before = endless.started();
        let ends = endless.clone();
        let future = executor.handle().spawn_future(async move { ends.end() }).unwrap();
        Endless::check(before, heist_runtime::block_on(future).unwrap());
        check_no_panic(executor);
        // A future that is spawned on a worker and yields.
        let (executor, endless) = (start_tasks(), Endless::default());
        executor.spawn(Task::Chain(endless.clone())).unwrap();
        endless.started();
        executor.spawn(Task::SpawnFuture(endless, Arc::default())).unwrap();
        check_no_panic(executor);
    });
}

#[test]
fn a_future_that_is_always_ready_does_not_starve_a_task() {
    watched(|| {
        let (executor, endless) = (start_tasks(), Endless::default());
        executor.handle().spawn_future(endless.future()).unwrap().detach();
        let before = Arc::new(AtomicU64::new(endless.started()));
        executor.spawn(Task::End(endless, before)).unwrap();
        check_no_panic(executor);
    });
}

#[test]
fn a_future_that_wakes_itself_forever_does_not_starve_others() {
    watched(|| {
        for workers in [1, 2] {
            let runtime = Runtime::builder().threads(workers).build().unwrap();
            let endless = Endless::default();
            let restless: Vec<_> =
                (0..2 * workers).map(|_| runtime.spawn(endless.future())).collect();
            let before = endless.started();
            let began = Instant::now();
            let (inside, ends) = (runtime.handle(), endless.clone());
            // A future from outside, which spawns one on a worker.
            let future = runtime
                .spawn(async move { inside.spawn(async move { ends.end() }).await.unwrap() });
            let after = heist_runtime::block_on(future).unwrap();
            println!("{workers} workers: {:?}", began.elapsed());
            Endless::check(before, after);
            restless.into_iter().for_each(|future| heist_runtime::block_on(future).unwrap());
        }
    });
}

/// Two futures that wake each other use the LIFO slot, which comes before the queue.
#[test]
fn two_futures_that_wake_each_other_forever_do_not_starve_others() {
    watched(|| {
        for lifo_slot in [true, false] {
            let runtime = Runtime::builder().threads(1).lifo_slot(lifo_slot).build().unwrap();
            let endless = Endless::default();
            let wakers: Arc<Mutex<[Option<std::task::Waker>; 2]>> = Arc::default();
            let players: Vec<_> = (0..2)
                .map(|me| {
                    let (wakers, endless) = (Arc::clone(&wakers), endless.clone());
                    runtime.spawn(poll_fn(move |cx| {
                        let should_continue = endless.should_continue();
                        let other = {
                            let mut wakers = wakers.lock().unwrap();
                            wakers[me] = Some(cx.waker().clone());
                            wakers[1 - me].take()
                        };
                        if let Some(other) = other {
                            other.wake();
                        }
                        if should_continue { Poll::Pending } else { Poll::Ready(()) }
                    }))
                })
                .collect();
            let before = endless.started();
            let ends = endless.clone();
            let future = runtime.spawn(async move {
                heist::yield_now().await;
                ends.end()
            });
            Endless::check(before, heist_runtime::block_on(future).unwrap());
            players.into_iter().for_each(|player| heist_runtime::block_on(player).unwrap());
        }
    });
}

/// How long a poll is stuck.
const STUCK: Duration = Duration::from_millis(100);

/// Other work must run within this time. On an idle machine it takes about 50 µs.
const DELAY_MAX: Duration = Duration::from_millis(50);

/// A busy machine may delay one attempt. If the work really waits for the stuck worker, all
/// attempts fail.
const ATTEMPTS: usize = 10;

/// Requires that in at least one attempt even the longest delay is short enough.
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

/// A future that records the time from `began` to its poll.
fn noted(began: Instant, longest_ns: &Arc<AtomicU64>) -> impl Future<Output = ()> + Send + 'static {
    let longest_ns = Arc::clone(longest_ns);
    async move {
        longest_ns.fetch_max(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

#[test]
fn other_workers_poll_the_futures_queued_by_a_stuck_worker() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        check_delay("futures spawned by the stuck worker", || {
            let longest_ns = Arc::new(AtomicU64::new(0));
            let notes = Arc::clone(&longest_ns);
            let stuck = runtime.spawn(async move {
                let began = Instant::now();
                let spawned: Vec<_> =
                    (0..50).map(|_| heist_runtime::spawn(noted(began, &notes))).collect();
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
fn other_workers_poll_the_futures_woken_by_a_stuck_worker() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        // The future that was woken last is in the LIFO slot, the others are in the queue.
        for woken in [1, 5] {
            check_delay("futures woken by the stuck worker", || {
                let (longest_ns, event) = (Arc::new(AtomicU64::new(0)), Event::default());
                let began: Arc<Mutex<Option<Instant>>> = Arc::default();
                let waiting: Vec<_> = (0..woken)
                    .map(|_| {
                        let (event, began) = (event.clone(), Arc::clone(&began));
                        let longest_ns = Arc::clone(&longest_ns);
                        runtime.spawn(async move {
                            event.wait().await;
                            let began = began
                                .lock()
                                .unwrap()
                                .expect("the time was recorded before the wake-up");
                            noted(began, &longest_ns).await;
                        })
                    })
                    .collect();
                wait_until("all futures wait", || event.waiting() == woken);
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
fn futures_from_outside_do_not_wait_for_a_stuck_worker() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        check_delay("futures from outside", || {
            let entered = crate::support::Latch::default();
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

/// This is why blocking calls have their own threads.
#[test]
fn blocking_calls_do_not_block_workers() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
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
