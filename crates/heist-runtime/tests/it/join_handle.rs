//! Proves what a `JoinHandle` returns after an abort and after its result was taken; that an
//! `AbortHandle` ends a future from anywhere; that a panic in a drop is counted and reported
//! wherever it happens; and that calls in the wrong place panic with a helpful message.

use crate::support::event::Live;
use crate::support::{
    job, panic_text, silence_panics, silent, start_jobs, wait_until, watched, workers,
};
use heist::{Executor, JoinError, JoinHandle};
use heist_runtime::Runtime;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

#[test]
fn an_aborted_future_is_finished_once_it_is_dropped() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let (begun, has_begun) = channel();
        let (let_go, waits) = channel::<()>();
        let busy = runtime.spawn(async move {
            begun.send(()).unwrap();
            waits.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let aborted = runtime.spawn(pending::<()>());
        aborted.abort();
        assert!(
            !aborted.is_finished(),
            "the only worker is busy, so it cannot have dropped the future"
        );
        let_go.send(()).unwrap();
        wait_until("the aborted future is finished", || aborted.is_finished());
        assert!(aborted.is_finished());
        assert!(matches!(runtime.block_on(aborted), Err(JoinError::Aborted)));
        runtime.block_on(busy).unwrap();
    });
}

/// `is_finished` does not take the wake-up from the future that awaits the handle.
#[test]
fn is_finished_loses_no_wake_up() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        for _ in 0..1_000 {
            let mut aborted = runtime.spawn(pending::<()>());
            aborted.abort();
            let ended = runtime.block_on(std::future::poll_fn(|cx| {
                let polled = std::pin::Pin::new(&mut aborted).poll(cx);
                let _ = aborted.is_finished();
                polled
            }));
            assert!(matches!(ended, Err(JoinError::Aborted)));
            assert!(aborted.is_finished());
        }
    });
}

/// The same as above, but one thread calls `is_finished` while another awaits the handle.
#[test]
fn is_finished_on_another_thread_takes_no_wake_up() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        for _ in 0..3_000 {
            let aborted = runtime.spawn(pending::<()>());
            aborted.abort();
            let aborted = Mutex::new(aborted);
            thread::scope(|scope| {
                scope.spawn(|| while !aborted.lock().unwrap().is_finished() {});
                let ended = heist_runtime::block_on(poll_fn(|cx| {
                    Pin::new(&mut *aborted.lock().unwrap()).poll(cx)
                }));
                assert!(matches!(ended, Err(JoinError::Aborted)));
            });
        }
    });
}

/// Spawns a future that never ends by itself, and counts as alive until it is dropped.
fn endless(runtime: &Runtime, live: &Arc<AtomicUsize>) -> JoinHandle<()> {
    let guard = Live::new(live);
    runtime.spawn(async move {
        let _guard = guard;
        pending::<()>().await;
    })
}

#[test]
fn an_abort_handle_ends_a_future_while_it_is_awaited() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        let live = Arc::new(AtomicUsize::new(0));
        for round in 0..2_000 {
            let endless = endless(&runtime, &live);
            let abort = endless.abort_handle();
            let aborting = thread::spawn(move || {
                if round % 2 == 0 {
                    thread::yield_now();
                }
                abort.clone().abort();
                abort.abort();
            });
            assert!(matches!(heist_runtime::block_on(endless), Err(JoinError::Aborted)));
            assert_eq!(
                live.load(Ordering::Acquire),
                0,
                "the future was dropped before its handle returned"
            );
            aborting.join().unwrap();
        }
    });
}

#[test]
fn a_future_aborts_another_future_that_a_third_awaits() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        for _ in 0..1_000 {
            let endless = runtime.spawn(pending::<()>());
            let abort = endless.abort_handle();
            let awaiting = runtime.spawn(endless);
            let aborting = runtime.spawn(async move { abort.abort() });
            let result = runtime.block_on(awaiting).unwrap();
            assert!(matches!(result, Err(JoinError::Aborted)));
            runtime.block_on(aborting).unwrap();
        }
    });
}

#[test]
fn an_abort_handle_outlives_its_join_handle() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let live = Arc::new(AtomicUsize::new(0));
        let detached = endless(&runtime, &live);
        let abort = detached.abort_handle();
        detached.detach();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert!(!abort.is_finished());
        assert_eq!(live.load(Ordering::Acquire), 1, "detaching a future does not end it");
        abort.abort();
        wait_until("the aborted future is finished", || abort.is_finished());
        assert_eq!(live.load(Ordering::Acquire), 0);
    });
}

#[test]
fn a_future_continues_when_its_handles_are_dropped() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let (sent, received) = channel();
        let future = runtime.spawn(async move {
            heist::yield_now().await;
            sent.send(7).unwrap();
        });
        let abort = future.abort_handle();
        drop(future);
        drop(abort);
        assert_eq!(received.recv().unwrap(), 7);
    });
}

#[test]
fn an_abort_handle_of_a_future_that_has_ended_does_nothing() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let future = runtime.spawn(async { 7 });
        let abort = future.abort_handle();
        wait_until("the future has completed", || abort.is_finished());
        abort.abort();
        assert_eq!(runtime.block_on(future).unwrap(), 7);
        abort.abort();
        assert!(abort.is_finished());

        let handle = runtime.handle();
        runtime.join();
        let refused = handle.spawn(async {});
        let abort = refused.abort_handle();
        abort.abort();
        assert!(abort.is_finished());
        assert!(matches!(heist_runtime::block_on(refused), Err(JoinError::Refused(_))));
    });
}

#[test]
fn an_abort_handle_ends_a_blocking_call_that_has_not_begun() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).max_blocking_threads(1).build().unwrap();
        let (let_go, waits) = channel::<()>();
        let busy = runtime.spawn_blocking(move || waits.recv().unwrap());
        let waiting = runtime.spawn_blocking(|| unreachable!("an aborted call was made"));
        waiting.abort_handle().abort();
        let_go.send(()).unwrap();
        assert!(matches!(runtime.block_on(waiting), Err(JoinError::Aborted)));
        runtime.block_on(busy).unwrap();
    });
}

#[test]
fn polling_a_handle_after_it_returned_its_result_panics_with_a_message() {
    silence_panics();
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let mut handle = pin!(runtime.spawn(async { 7 }));
        assert_eq!(runtime.block_on(handle.as_mut()).unwrap(), 7);
        assert!(handle.is_finished());
        let mut cx = Context::from_waker(Waker::noop());
        let again = catch_unwind(AssertUnwindSafe(|| handle.as_mut().poll(&mut cx)));
        let payload = again.expect_err("a result is returned once");
        assert_eq!(
            panic_text(&*payload),
            "a JoinHandle was polled again after it had returned its result"
        );
    });
}

#[test]
fn a_panic_in_the_drop_of_an_aborted_future_is_counted_and_reported() {
    silence_panics();
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let bomb = Bomb("in the drop of an aborted future");
        let aborted = runtime.spawn(async move {
            let _bomb = bomb;
            pending::<()>().await;
        });
        aborted.abort();
        let error = runtime.block_on(aborted).unwrap_err();
        assert!(matches!(error, JoinError::Aborted), "{error}");
        let reports = runtime.panics();
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].message, "in the drop of an aborted future");
        assert_eq!(runtime.join().panics, 1);
    });
}

#[test]
fn a_panic_in_the_drop_of_a_scratch_is_counted_and_reported() {
    watched(|| {
        let executor = Executor::new(
            silent(workers(2)),
            |_worker| Bomb("in the drop of a scratch"),
            |_task: u32, _ctx| {},
        )
        .unwrap();
        let handle = executor.handle();
        executor.spawn(1).unwrap();
        assert_eq!(executor.join().panics, 2);
        let mut reports = handle.panics();
        reports.sort_by_key(|panic| panic.worker);
        let found: Vec<_> = reports.iter().map(|panic| (panic.worker, &*panic.message)).collect();
        assert_eq!(
            found,
            [(Some(0), "in the drop of a scratch"), (Some(1), "in the drop of a scratch")]
        );
    });
}

/// Returns the message with which a call panics.
fn panic_of(call: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("the call must panic");
    panic_text(&*payload).to_owned()
}

#[test]
fn block_on_on_a_worker_panics_instead_of_waiting_for_itself() {
    silence_panics();
    watched(|| {
        let executor = start_jobs(workers(1));
        let (message_sender, messages) = channel();
        let task = job(move |ctx| {
            let answer = ctx.spawn_future(async { 7 });
            message_sender.send(panic_of(|| drop(heist_runtime::block_on(answer)))).unwrap();
        });
        executor.spawn(task).unwrap();
        let text = messages.recv().unwrap();
        assert!(text.starts_with("heist_runtime::block_on was called on a worker"), "{text}");
        assert!(text.contains("spawn_blocking"), "the message does not say what to do: {text}");
        executor.join();
    });
}

#[test]
fn spawn_on_an_executor_names_the_right_function() {
    silence_panics();
    watched(|| {
        let executor = start_jobs(workers(1));
        let (message_sender, messages) = channel();
        let task = job(move |_ctx| {
            message_sender.send(panic_of(|| drop(heist_runtime::spawn(async {})))).unwrap();
            message_sender.send(panic_of(|| drop(heist_runtime::spawn_blocking(|| ())))).unwrap();
        });
        executor.spawn(task).unwrap();
        let (spawn, spawn_blocking) = (messages.recv().unwrap(), messages.recv().unwrap());
        assert!(spawn.contains("`ExecutorHandle::spawn_future`"), "{spawn}");
        assert!(spawn.contains("`WorkerCtx::spawn_future`"), "{spawn}");
        assert!(spawn_blocking.contains("`RuntimeHandle::spawn_blocking`"), "{spawn_blocking}");
        executor.join();
    });
}
