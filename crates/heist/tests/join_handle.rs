//! Proves what a `JoinHandle` says after an abort and after its result was taken; that a panic in a drop is counted and
//! reported wherever it happens; and that calls made in the wrong place panic with words that help.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::{Executor, JoinError, Runtime};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::task::{Context, Waker};
use std::thread;
use support::{job, panic_text, silence_panics, silent, start_jobs, wait_until, watched, workers};

/// Its drop panics.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

#[test]
fn an_aborted_future_is_finished_when_it_is_gone_although_nobody_awaits_it() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (begun, has_begun) = channel();
        let (let_go, waits) = channel::<()>();
        let busy = runtime.spawn(async move {
            begun.send(()).unwrap();
            waits.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let mut aborted = runtime.spawn(pending::<()>());
        aborted.abort();
        assert!(!aborted.is_finished(), "its only worker is busy, so it cannot be gone yet");
        let_go.send(()).unwrap();
        wait_until("the aborted future is finished", || aborted.is_finished());
        assert!(aborted.is_finished());
        assert!(matches!(runtime.block_on(aborted), Err(JoinError::Aborted)));
        runtime.block_on(busy).unwrap();
    });
}

/// Asking whether an aborted future is finished takes nothing from the future that awaits its handle.
#[test]
fn asking_whether_it_is_finished_loses_no_wake_up() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
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

/// The same with a thread that asks while another one awaits: what the one finds out, the other is told.
#[test]
fn another_thread_that_asks_whether_it_is_finished_takes_no_wake_up() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        for _ in 0..3_000 {
            let mut aborted = runtime.spawn(pending::<()>());
            aborted.abort();
            let aborted = Mutex::new(aborted);
            thread::scope(|scope| {
                scope.spawn(|| while !aborted.lock().unwrap().is_finished() {});
                let ended =
                    heist::block_on(poll_fn(|cx| Pin::new(&mut *aborted.lock().unwrap()).poll(cx)));
                assert!(matches!(ended, Err(JoinError::Aborted)));
            });
        }
    });
}

#[test]
fn a_handle_that_is_polled_after_its_result_panics_and_says_so() {
    silence_panics();
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
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
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let bomb = Bomb("in the drop of an aborted future");
        let mut aborted = runtime.spawn(async move {
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

/// What a call panics with.
fn panic_of(call: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it must panic");
    panic_text(&*payload).to_owned()
}

#[test]
fn block_on_on_a_worker_panics_instead_of_waiting_for_itself() {
    silence_panics();
    watched(|| {
        let executor = start_jobs(workers(1));
        let (said, says) = channel();
        let task = job(move |ctx| {
            let answer = ctx.spawn_future(async { 7 });
            said.send(panic_of(|| drop(heist::block_on(answer)))).unwrap();
        });
        executor.spawn(task).unwrap();
        let text = says.recv().unwrap();
        assert!(text.starts_with("heist::block_on was called on a worker"), "{text}");
        assert!(text.contains("spawn_blocking"), "it says what to do: {text}");
        executor.join();
    });
}

#[test]
fn spawn_on_an_executor_says_what_to_call_instead() {
    silence_panics();
    watched(|| {
        let executor = start_jobs(workers(1));
        let (said, says) = channel();
        let task = job(move |_ctx| {
            said.send(panic_of(|| drop(heist::spawn(async {})))).unwrap();
            said.send(panic_of(|| drop(heist::spawn_blocking(|| ())))).unwrap();
        });
        executor.spawn(task).unwrap();
        let (spawn, spawn_blocking) = (says.recv().unwrap(), says.recv().unwrap());
        assert!(spawn.contains("`ExecutorHandle::spawn_future`"), "{spawn}");
        assert!(spawn.contains("`WorkerCtx::spawn_future`"), "{spawn}");
        assert!(spawn_blocking.contains("`RuntimeHandle::spawn_blocking`"), "{spawn_blocking}");
        executor.join();
    });
}
