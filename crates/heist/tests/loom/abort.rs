//! Aborting a future from elsewhere than its `JoinHandle`, and awaiting a cancellation, under loom.
//!
//! See `Size` for how far each model is explored, and when.

use crate::support::futures::{DropTally, block_on, start_futures};
use crate::support::{DEADLOCK, Size, Tally, check, config, must_fail};
use heist::__internal::sync::plant::Plant;
use heist::{CancelToken, JoinError};
use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Waker};

/// One thread awaits a future, another one aborts it. The one that awaits is woken when the future
/// is gone, and not before.
fn abort_from_elsewhere_against_await() {
    let dropped = Tally::default();
    let (shared, handle, threads) = start_futures(&config(1), |pool| {
        let value = DropTally(dropped.clone());
        let future = async move {
            let _value = value;
            pending::<()>().await;
        };
        pool.spawn_future(future).unwrap()
    });
    let abort = handle.abort_handle();
    let aborting = loom::thread::spawn(move || abort.abort());
    let error = block_on(handle).unwrap_err();
    assert!(matches!(error, JoinError::Aborted), "{error}");
    assert_eq!(dropped.get(), 1, "awaiting the handle waits until the future is gone");
    aborting.join().unwrap();
    shared.close();
    threads.join();
}

#[test]
fn an_abort_from_elsewhere_against_an_await() {
    check(Size::Large, abort_from_elsewhere_against_await);
}

/// A future begins to await a cancellation while an ancestor of its token is cancelled.
fn cancel_against_await() {
    let root = CancelToken::new();
    let cancelled = root.child().cancelled();
    let cancelling = loom::thread::spawn(move || root.cancel());
    block_on(cancelled);
    cancelling.join().unwrap();
}

#[test]
fn a_cancellation_against_a_future_that_awaits_it() {
    check(Size::Small, cancel_against_await);
}

/// A future is polled with one waker and then with another one, while its token is cancelled.
#[test]
fn a_cancellation_against_a_second_waker() {
    check(Size::Small, || {
        let token = CancelToken::new();
        let mut cancelled = token.cancelled();
        let _ = Pin::new(&mut cancelled).poll(&mut Context::from_waker(Waker::noop()));
        let cancelling = loom::thread::spawn(move || token.cancel());
        block_on(cancelled);
        cancelling.join().unwrap();
    });
}

/// A future gives up its registration while its token is cancelled; another one keeps its own.
#[test]
fn a_cancellation_against_a_future_that_is_dropped() {
    check(Size::Small, || {
        let token = CancelToken::new();
        let [mut dropped, kept] = [(); 2].map(|()| token.cancelled());
        let _ = Pin::new(&mut dropped).poll(&mut Context::from_waker(Waker::noop()));
        let cancelling = loom::thread::spawn(move || token.cancel());
        drop(dropped);
        block_on(kept);
        cancelling.join().unwrap();
    });
}

#[test]
fn bites_a_cancellation_that_notifies_nothing() {
    must_fail(Plant::CancelSkipsWatchers, 2, DEADLOCK, cancel_against_await);
}
