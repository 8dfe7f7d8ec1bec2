//! Proves that blocking calls end with their runtime: `join` waits for them, a stop drops those
//! that have not begun, and a deadline leaves those that run behind. If the system refuses threads,
//! calls fail or wait for a running thread, but never hang.

use crate::support::sync::Mutex;
use crate::support::{Latch, wait_until, watched};
use heist::{CancelToken, JoinError, JoinHandle, SpawnErrorKind};
use heist_runtime::Runtime;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn start(max_blocking_threads: usize) -> Runtime {
    Runtime::builder().threads(2).max_blocking_threads(max_blocking_threads).build().unwrap()
}

/// Begins a call, which lasts until the latch is opened.
fn hold(runtime: &Runtime) -> (JoinHandle<()>, Latch) {
    let (begun, latch) = (Latch::default(), Latch::default());
    let held = (begun.clone(), latch.clone());
    let call = runtime.spawn_blocking(move || {
        held.0.open();
        held.1.wait();
    });
    begun.wait();
    (call, latch)
}

/// Spawns calls that must not run.
fn never(runtime: &Runtime, calls: usize) -> Vec<JoinHandle<()>> {
    let never = || panic!("a call ran that should have been dropped");
    (0..calls).map(|_| runtime.spawn_blocking(never)).collect()
}

#[track_caller]
fn check_stopped(calls: Vec<JoinHandle<()>>) {
    for call in calls {
        let ended = heist_runtime::block_on(call);
        assert!(matches!(ended, Err(JoinError::Stopped)), "{ended:?}");
    }
}

#[test]
fn join_waits_for_running_and_waiting_calls() {
    watched(|| {
        let runtime = start(1);
        let handle = runtime.handle();
        let (_call, latch) = hold(&runtime);
        let made = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let made = Arc::clone(&made);
            runtime.spawn_blocking(move || made.fetch_add(1, Ordering::Relaxed));
        }
        let runtime = runtime.join_timeout(Duration::from_millis(20)).unwrap_err().into_runtime();
        let refused = heist_runtime::block_on(runtime.spawn_blocking(|| ()));
        assert!(matches!(refused, Err(JoinError::Refused(SpawnErrorKind::Closed))), "{refused:?}");
        let refused = runtime.spawn_blocking_batch([|| (), || ()]);
        assert_eq!(refused.len(), 2);
        for refused in refused {
            let refused = heist_runtime::block_on(refused);
            assert!(matches!(refused, Err(JoinError::Refused(SpawnErrorKind::Closed))));
        }
        latch.open();
        let metrics = runtime.join();
        assert_eq!(made.load(Ordering::Relaxed), 10);
        assert_eq!((metrics.futures_spawned, metrics.futures_ended), (11, 11));
        assert_eq!(handle.metrics().blocking_threads, 0);
    });
}

/// A runtime cannot end while a call runs, so it never refuses what the call spawns.
#[test]
fn a_runtime_that_is_being_joined_accepts_what_its_calls_spawn() {
    watched(|| {
        let runtime = start(4);
        let handle = runtime.handle();
        let closed = Latch::default();
        let (may_go_on, from_call) = (closed.clone(), handle.clone());
        let sum = runtime.spawn_blocking(move || {
            may_go_on.wait();
            assert!(!from_call.is_accepting());
            let calls = from_call.spawn_blocking_batch((1..=10).map(|number| move || number));
            let future = heist_runtime::spawn(async {
                heist_runtime::spawn_blocking(|| 100).await.unwrap()
            });
            heist_runtime::block_on(async {
                let mut sum = future.await.unwrap();
                for call in calls {
                    sum += call.await.unwrap();
                }
                sum
            })
        });
        let joining = thread::spawn(move || runtime.join());
        wait_until("the runtime is closed", || !handle.is_accepting());
        closed.open();
        assert_eq!(heist_runtime::block_on(sum).unwrap(), 155);
        let metrics = joining.join().unwrap();
        assert_eq!((metrics.futures_spawned, metrics.futures_ended), (13, 13));
    });
}

#[test]
fn a_stop_drops_calls_that_have_not_begun_and_waits_for_the_others() {
    watched(|| {
        let runtime = start(1);
        let (call, latch) = hold(&runtime);
        let waiting = never(&runtime, 10);
        runtime.handle().shutdown();
        // Also refused while the only thread is busy.
        check_stopped(waiting);
        check_refused(&runtime, SpawnErrorKind::ShutDown);
        let opens = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            latch.open();
        });
        drop(runtime);
        heist_runtime::block_on(call).expect("a running call finishes");
        opens.join().unwrap();
    });
}

#[track_caller]
fn check_refused(runtime: &Runtime, expected: SpawnErrorKind) {
    match heist_runtime::block_on(runtime.spawn_blocking(|| ())) {
        Err(JoinError::Refused(kind)) => assert_eq!(kind, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cancel_token_drops_waiting_calls() {
    watched(|| {
        let cancel = CancelToken::new();
        let builder = Runtime::builder().threads(1).max_blocking_threads(1);
        let runtime = builder.cancel(cancel.clone()).build().unwrap();
        let (call, latch) = hold(&runtime);
        let waiting = never(&runtime, 10);
        cancel.cancel();
        check_stopped(waiting);
        check_refused(&runtime, SpawnErrorKind::Cancelled);
        latch.open();
        heist_runtime::block_on(call).unwrap();
    });
}

#[test]
fn calls_that_outlast_the_shutdown_timeout_are_counted() {
    watched(|| {
        let runtime = start(3);
        let handle = runtime.handle();
        let (first, latch) = hold(&runtime);
        let (second, other_gate) = hold(&runtime);
        // A poll that does not return, and a future that is dropped.
        let (polled, poll_latch) = (Latch::default(), Latch::default());
        let in_poll = (polled.clone(), poll_latch.clone());
        let stuck = runtime.spawn(async move {
            in_poll.0.open();
            in_poll.1.wait();
        });
        polled.wait();
        let waits = runtime.spawn(std::future::pending::<()>());
        let began = Instant::now();
        let error = runtime.shutdown_timeout(Duration::from_millis(50)).unwrap_err();
        assert!(began.elapsed() >= Duration::from_millis(50));
        assert_eq!((error.blocking_calls(), error.futures()), (2, 1), "{error}");
        assert!(error.to_string().contains("still run: 2"), "{error}");
        assert!(matches!(heist_runtime::block_on(waits), Err(JoinError::Stopped)));
        // The call and the poll end by themselves, and then their threads do.
        latch.open();
        other_gate.open();
        poll_latch.open();
        heist_runtime::block_on(first).unwrap();
        heist_runtime::block_on(second).unwrap();
        heist_runtime::block_on(stuck).unwrap();
        wait_until("all threads for blocking calls have ended", || {
            handle.metrics().blocking_threads == 0
        });
        assert_eq!(handle.metrics().futures_live(), 0);
    });
}

#[test]
fn a_runtime_that_ends_in_time_returns_its_final_metrics() {
    watched(|| {
        let runtime = start(3);
        runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        runtime.spawn(std::future::pending::<()>());
        let metrics = runtime.shutdown_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!((metrics.futures_spawned, metrics.futures_ended), (2, 2));
        assert_eq!(metrics.blocking_threads, 0);
        // The longest timeout never expires, and the shortest one still ends an idle runtime.
        start(3).shutdown_timeout(Duration::MAX).unwrap();
        assert!(start(3).join_timeout(Duration::MAX).is_ok());
        let _in_time_or_not = start(3).shutdown_timeout(Duration::ZERO);
    });
}

/// Passes a runtime to one of its own threads.
type Slot = Arc<Mutex<Option<Runtime>>>;

/// Runs `end` on one of the runtime's own threads for blocking calls.
fn end_in_own_call(end: impl FnOnce(Runtime) + Send + 'static) {
    let runtime = start(2);
    let handle = runtime.handle();
    let slot = Slot::default();
    let (found, placed) = (Arc::clone(&slot), Latch::default());
    let may_begin = placed.clone();
    let ending = runtime.spawn_blocking(move || {
        may_begin.wait();
        let runtime = found.lock().unwrap().take().expect("the test has stored the runtime");
        end(runtime);
    });
    *slot.lock().unwrap() = Some(runtime);
    placed.open();
    heist_runtime::block_on(ending).expect("the runtime did not wait for itself");
    wait_until("every future has ended", || {
        let metrics = handle.metrics();
        (metrics.futures_live(), metrics.blocking_threads) == (0, 0)
    });
}

#[test]
fn a_runtime_that_is_ended_in_its_own_call_does_not_wait_for_itself() {
    watched(|| {
        end_in_own_call(drop);
        end_in_own_call(|runtime| {
            let so_far = runtime.join();
            assert_eq!(so_far.futures_live(), 1, "the call itself");
        });
        end_in_own_call(|runtime| {
            let began = Instant::now();
            let error = runtime.shutdown_timeout(Duration::from_secs(50)).unwrap_err();
            assert_eq!(error.blocking_calls(), 1);
            assert!(began.elapsed() < Duration::from_secs(10), "the runtime waited for itself");
        });
        end_in_own_call(|runtime| {
            let error = runtime.join_timeout(Duration::from_secs(50)).unwrap_err();
            drop(error.into_runtime());
        });
    });
}

#[test]
fn block_on_works_in_a_call_and_panics_on_a_worker() {
    watched(|| {
        let runtime = Arc::new(start(2));
        let in_call = Arc::clone(&runtime);
        let call = runtime.spawn_blocking(move || in_call.block_on(async { 5 }));
        assert_eq!(heist_runtime::block_on(call).unwrap(), 5);
        let (on_worker, passed) = (Arc::clone(&runtime), Latch::default());
        let may_end = passed.clone();
        let future = runtime.spawn(async move {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                on_worker.block_on(std::future::pending::<()>());
            }));
            let text = crate::support::panic_text(&*panicked.unwrap_err()).to_owned();
            // The test keeps a clone, so that the runtime does not end on its own worker.
            drop(on_worker);
            may_end.open();
            text
        });
        let text = heist_runtime::block_on(future).unwrap();
        assert!(text.contains("one of the runtime's own workers"), "{text}");
        passed.wait();
    });
}

/// Limits the memory that the process may map: the system grants a few threads with large stacks,
/// and then refuses more.
#[cfg(target_os = "linux")]
mod refused_threads {
    use super::*;
    use crate::support::limited::is_limited;

    /// A few stacks of this size fit into the limit.
    const LARGE_STACK: usize = 128 << 20;

    /// Uses up the memory that this process may map, until less than `LARGE_STACK` is left. A
    /// thread that has just started returns a part of the memory that it mapped, so this continues
    /// until the system has refused threads for a while.
    fn use_up() -> Vec<thread::JoinHandle<()>> {
        let latch: &'static Latch = Box::leak(Box::default());
        let mut started = Vec::new();
        let mut refusals = 0;
        while refusals < 50 {
            match thread::Builder::new().stack_size(LARGE_STACK).spawn(|| latch.wait()) {
                Ok(thread) => {
                    started.push(thread);
                    refusals = 0;
                }
                Err(_) => {
                    refusals += 1;
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        started
    }

    fn start() -> Runtime {
        let builder = Runtime::builder().threads(1).stack_size(Some(LARGE_STACK));
        builder.build().expect("a first thread fits")
    }

    #[test]
    fn a_call_fails_if_no_thread_exists_or_can_be_started() {
        if !is_limited(module_path!(), "a_call_fails_if_no_thread_exists_or_can_be_started") {
            return;
        }
        watched(|| {
            let runtime = start();
            let used = use_up();
            assert!(!used.is_empty());
            for _ in 0..3 {
                let error = heist_runtime::block_on(runtime.spawn_blocking(|| ())).unwrap_err();
                let JoinError::NoThread(source) = &error else { panic!("{error:?}") };
                assert_eq!(source.kind(), std::io::ErrorKind::WouldBlock);
                assert!(error.to_string().contains("no thread could be started"), "{error}");
                for refused in runtime.spawn_blocking_batch([|| (), || (), || ()]) {
                    let refused = heist_runtime::block_on(refused);
                    assert!(matches!(refused, Err(JoinError::NoThread(_))), "{refused:?}");
                }
            }
            let metrics = runtime.join();
            assert_eq!((metrics.futures_spawned, metrics.futures_ended), (12, 12));
        });
    }

    #[test]
    fn calls_wait_for_existing_threads_if_the_system_refuses_more() {
        if !is_limited(module_path!(), "calls_wait_for_existing_threads_if_the_system_refuses_more")
        {
            return;
        }
        watched(|| {
            let runtime = start();
            let (held, latch) = hold(&runtime);
            let used = use_up();
            assert!(!used.is_empty());
            let one: Vec<_> = (0..50).map(|call| runtime.spawn_blocking(move || call)).collect();
            let batch = runtime.spawn_blocking_batch((50..100).map(|call| move || call));
            let metrics = runtime.metrics();
            assert_eq!((metrics.blocking_threads, metrics.blocking_queue_depth), (1, 100));
            latch.open();
            heist_runtime::block_on(held).unwrap();
            let made =
                one.into_iter().chain(batch).map(|call| heist_runtime::block_on(call).unwrap());
            assert_eq!(made.collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
            drop(runtime);
        });
    }
}

#[test]
fn a_stop_may_drop_a_call_that_holds_the_runtime() {
    watched(|| {
        let runtime = start(1);
        let (held, latch) = hold(&runtime);
        let handle = runtime.handle();
        let runtime = Arc::new(runtime);
        let holds_it = Arc::clone(&runtime);
        let waits = runtime.spawn_blocking(move || drop(holds_it));
        drop(runtime);
        // Drops the waiting call, and the runtime with it. The runtime must wait neither for that
        // call nor for the one that runs.
        handle.shutdown();
        assert!(matches!(heist_runtime::block_on(waits), Err(JoinError::Stopped)));
        latch.open();
        heist_runtime::block_on(held).unwrap();
        wait_until("all threads have ended", || handle.metrics().blocking_threads == 0);
    });
}
