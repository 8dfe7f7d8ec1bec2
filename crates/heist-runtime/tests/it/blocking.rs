//! Proves that blocking calls run on separate threads; that these threads start when they are
//! needed, up to the limit, and end when they are idle; and that a blocking call can be awaited,
//! aborted and counted like a future, and its handle returns its panic.

use crate::support::{Latch, SILENT, silence_panics, wait_until, watched};
use heist::{JoinError, JoinHandle};
use heist_runtime::{Runtime, RuntimeBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn start(build: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder) -> Runtime {
    build(Runtime::builder().threads(2)).build().unwrap()
}

/// Calls that have begun and wait to be released.
struct Held {
    calls: Vec<JoinHandle<()>>,
    latch: Latch,
}

/// Begins this many calls at the same time.
fn hold(runtime: &Runtime, calls: usize) -> Held {
    let latch = Latch::default();
    let begun = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..calls)
        .map(|_| {
            let (latch, begun) = (latch.clone(), Arc::clone(&begun));
            runtime.spawn_blocking(move || {
                begun.fetch_add(1, Ordering::Release);
                latch.wait();
            })
        })
        .collect();
    wait_until("all calls have begun", || begun.load(Ordering::Acquire) == calls.len());
    Held { calls, latch }
}

impl Held {
    fn release(self) {
        self.latch.open();
        for call in self.calls {
            heist_runtime::block_on(call).unwrap();
        }
    }
}

#[test]
fn a_call_runs_on_another_thread_and_returns_its_result() {
    watched(|| {
        let runtime = start(|builder| builder.thread_name("called"));
        let name = runtime.spawn_blocking(|| thread::current().name().map(str::to_owned));
        let name = runtime.block_on(name).unwrap().unwrap();
        assert_eq!(name, "called-blocking-0");
        let from_future = runtime.spawn(async {
            let worker = heist::current_worker_id();
            (worker, heist_runtime::spawn_blocking(heist::current_worker_id).await.unwrap())
        });
        let (on_worker, in_call) = runtime.block_on(from_future).unwrap();
        assert!(on_worker.is_some());
        assert_eq!(in_call, None, "a thread for calls is not a worker");
        let metrics = runtime.join();
        assert_eq!((metrics.futures_spawned, metrics.futures_ended, metrics.panics), (3, 3, 0));
        assert_eq!(metrics.blocking_threads, 0, "no thread is left after the end");
    });
}

#[test]
fn a_call_may_spawn_await_and_call_again() {
    watched(|| {
        let runtime = start(|builder| builder);
        let sum = runtime.spawn_blocking(|| {
            let future = heist_runtime::spawn(async { 1 });
            let call = heist_runtime::spawn_blocking(|| 2);
            heist_runtime::block_on(async { future.await.unwrap() + call.await.unwrap() })
        });
        assert_eq!(runtime.block_on(sum).unwrap(), 3);
    });
}

#[test]
fn threads_start_for_calls_and_are_reused() {
    watched(|| {
        let runtime = start(|builder| builder);
        assert_eq!(runtime.metrics().blocking_threads, 0, "no thread before the first call");
        let held = hold(&runtime, 3);
        let metrics = runtime.metrics();
        assert_eq!((metrics.blocking_threads, metrics.blocking_threads_idle), (3, 0));
        held.release();
        wait_until("the threads are idle", || runtime.metrics().blocking_threads_idle == 3);
        for _ in 0..1_000 {
            runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
            wait_until("the thread is idle again", || runtime.metrics().blocking_threads_idle == 3);
        }
        assert_eq!(runtime.metrics().blocking_threads, 3);
        hold(&runtime, 4).release();
        assert_eq!(runtime.metrics().blocking_threads, 4, "one more is started when none is idle");
    });
}

#[test]
fn calls_beyond_the_thread_limit_wait() {
    watched(|| {
        let runtime = start(|builder| builder.max_blocking_threads(3));
        let held = hold(&runtime, 3);
        let order = Arc::new(crate::support::sync::Mutex::new(Vec::new()));
        let waiting: Vec<_> = (0..10)
            .map(|number| {
                let order = Arc::clone(&order);
                runtime.spawn_blocking(move || order.lock().unwrap().push(number))
            })
            .collect();
        let metrics = runtime.metrics();
        assert_eq!((metrics.blocking_threads, metrics.blocking_queue_depth), (3, 10));
        assert!(waiting.iter().all(|call| !call.is_finished()));
        held.release();
        for call in waiting {
            runtime.block_on(call).unwrap();
        }
        let metrics = runtime.metrics();
        assert_eq!((metrics.blocking_threads, metrics.blocking_queue_depth), (3, 0));
        let mut order = order.lock().unwrap().clone();
        order.sort_unstable();
        assert_eq!(order, (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn with_one_thread_calls_are_made_in_order() {
    watched(|| {
        let runtime = start(|builder| builder.max_blocking_threads(1));
        let held = hold(&runtime, 1);
        let (made, order) = std::sync::mpsc::channel();
        for number in 0..100 {
            let made = made.clone();
            runtime.spawn_blocking(move || made.send(number).unwrap());
        }
        held.release();
        drop(made);
        assert_eq!(order.iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn idle_threads_end_after_the_keep_alive_time() {
    watched(|| {
        let keep_alive = Duration::from_millis(100);
        let runtime =
            start(|builder| builder.blocking_keep_alive(keep_alive).thread_name("leaving"));
        hold(&runtime, 5).release();
        wait_until("all threads have ended", || runtime.metrics().blocking_threads == 0);
        // The next call gets a new thread.
        assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 7)).unwrap(), 7);
        #[cfg(target_os = "linux")]
        wait_until("the system has removed the threads", || {
            crate::support::threads_named("leaving-blockin").is_empty()
        });
    });
}

/// Threads that retire at once race with calls that arrive at that moment.
#[test]
fn no_call_is_lost_when_a_thread_retires() {
    watched(|| {
        for keep_alive_us in [0, 1, 20, 60, 100] {
            let runtime = start(|builder| {
                let keep_alive = Duration::from_micros(keep_alive_us);
                builder.blocking_keep_alive(keep_alive).max_blocking_threads(3)
            });
            let producers: Vec<_> = (0..3_u64)
                .map(|producer| {
                    let handle = runtime.handle();
                    thread::spawn(move || {
                        for round in 0..200_u64 {
                            let calls = (0..=round % 3).map(|call| move || call);
                            let expected: Vec<_> = (0..=round % 3).collect();
                            let made = if (round + producer) % 2 == 0 {
                                handle.spawn_blocking_batch(calls)
                            } else {
                                calls.map(|call| handle.spawn_blocking(call)).collect()
                            };
                            let made =
                                made.into_iter().map(|call| heist_runtime::block_on(call).unwrap());
                            assert_eq!(made.collect::<Vec<_>>(), expected);
                            // From no pause at all to one that is longer than a thread waits.
                            thread::sleep(Duration::from_micros((round * 7) % 120));
                        }
                    })
                })
                .collect();
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            let metrics = runtime.join();
            assert_eq!(metrics.futures_spawned, metrics.futures_ended);
            assert_eq!((metrics.blocking_threads, metrics.blocking_queue_depth), (0, 0));
        }
    });
}

#[test]
fn a_batch_returns_its_results_in_order() {
    watched(|| {
        let runtime = start(|builder| builder);
        assert!(runtime.spawn_blocking_batch(Vec::<fn()>::new()).is_empty());
        let numbers = runtime.spawn_blocking_batch((0..1_000_u64).map(|number| move || number));
        let numbers: Vec<_> =
            numbers.into_iter().map(|number| runtime.block_on(number).unwrap()).collect();
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
        let metrics = runtime.join();
        assert_eq!((metrics.futures_spawned, metrics.futures_ended), (1_000, 1_000));
    });
}

/// Calls that wait for each other all get a thread, even if no thread is idle.
#[test]
fn each_call_of_a_batch_gets_a_thread() {
    watched(|| {
        for idle in [0, 1, 3, 7] {
            let runtime = start(|builder| builder);
            hold(&runtime, idle).release();
            wait_until("the threads are idle", || {
                runtime.metrics().blocking_threads_idle == idle as u64
            });
            let meeting = Arc::new(std::sync::Barrier::new(20));
            let met = runtime.spawn_blocking_batch((0..20).map(|_| {
                let meeting = Arc::clone(&meeting);
                move || meeting.wait().is_leader()
            }));
            let leaders = met.into_iter().map(|call| runtime.block_on(call).unwrap());
            assert_eq!(leaders.filter(|is_leader| *is_leader).count(), 1);
            assert_eq!(runtime.metrics().blocking_threads, 20, "one thread for each call");
        }
    });
}

#[test]
fn a_panic_is_returned_by_the_handle_and_stops_nothing_else() {
    watched(|| {
        silence_panics();
        let runtime = start(|builder| builder.thread_name(SILENT).max_blocking_threads(1));
        for round in 1..=3 {
            let call = runtime.spawn_blocking(|| -> u32 { panic!("call failed") });
            match runtime.block_on(call) {
                Err(JoinError::Panicked(payload)) => assert_eq!(payload.message(), "call failed"),
                other => panic!("{other:?}"),
            }
            assert_eq!(runtime.block_on(runtime.spawn_blocking(move || round)).unwrap(), round);
            assert_eq!(runtime.metrics().panics, round);
        }
        let panics = runtime.panics();
        assert_eq!(panics.len(), 3);
        assert_eq!(panics[0].worker, None);
        assert_eq!(panics[0].to_string(), "panic outside of the workers: call failed");
        assert_eq!(runtime.metrics().blocking_threads, 1, "the thread outlives its calls' panics");
    });
}

/// Reports that it was dropped.
struct Dropped(Latch);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[test]
fn a_call_that_is_aborted_before_it_begins_is_dropped() {
    watched(|| {
        let runtime = start(|builder| builder.max_blocking_threads(1));
        let held = hold(&runtime, 1);
        let dropped = Latch::default();
        let guard = Dropped(dropped.clone());
        let call = runtime.spawn_blocking(move || {
            let _guard = guard;
            panic!("an aborted call was made");
        });
        call.abort();
        held.release();
        assert!(matches!(runtime.block_on(call), Err::<(), _>(JoinError::Aborted)));
        dropped.wait();
        assert_eq!(runtime.metrics().panics, 0);
    });
}

#[test]
fn a_call_that_is_aborted_while_it_runs_still_finishes() {
    watched(|| {
        let runtime = start(|builder| builder);
        let mut held = hold(&runtime, 1);
        let call = held.calls.pop().unwrap();
        call.abort();
        let mut awaited = std::pin::pin!(call);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(awaited.as_mut().poll(&mut cx).is_pending(), "the call still runs");
        held.latch.open();
        assert!(matches!(runtime.block_on(awaited), Err(JoinError::Aborted)));
    });
}

#[test]
fn a_call_whose_handle_is_dropped_still_runs() {
    watched(|| {
        let runtime = start(|builder| builder);
        let made = Latch::default();
        let making = made.clone();
        drop(runtime.spawn_blocking(move || making.open()));
        made.wait();
        let metrics = runtime.join();
        assert_eq!((metrics.futures_spawned, metrics.futures_ended), (1, 1));
    });
}
