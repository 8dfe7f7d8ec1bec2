//! Futures on the pool under loom: the real workers, scheduling, counting and live set, over a
//! modelled raw task.
//!
//! `Size` says how far each model is explored, and when. `slot.rs` has the models of two workers.

use crate::support::futures::{DropTally, Event, block_on, start_futures};
use crate::support::{DEADLOCK, Size, Tally, check, config, must_fail, start_prepared};
use heist::__internal::executor::PoolShared;
use heist::__internal::raw::{self, Runnable};
use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, AtomicBool, Ordering};
use heist::{CancelToken, ExecutorConfig, ExecutorHandle, JoinError};
use std::future::{pending, poll_fn};
use std::sync::Mutex;
use std::task::Poll;

/// A future waits while its worker parks, and is woken from outside.
fn wake_against_park() {
    let (event, ended) = (Event::new(), Tally::default());
    let (shared, (), threads) = start_futures(&config(1), |pool| {
        let (event, ended) = (event.clone(), ended.clone());
        let future = async move {
            event.wait().await;
            ended.add();
        };
        pool.spawn_future(future).unwrap().detach();
    });
    event.set();
    shared.close();
    threads.join();
    assert_eq!(ended.get(), 1);
}

#[test]
fn a_wake_against_a_parking_worker() {
    check(Size::Medium, wake_against_park);
}

/// Two threads wake one future, which waits for both. A wake-up comes before a poll, during it, at
/// its end, or while the other wake-up has queued the future.
fn two_wakes_against_polls() {
    let (events, ended) = ([Event::new(), Event::new()], Tally::default());
    let (shared, (), threads) = start_futures(&config(1), |pool| {
        let (events, ended) = (events.clone(), ended.clone());
        let future = async move {
            Event::wait_for_all(&events).await;
            ended.add();
        };
        pool.spawn_future(future).unwrap().detach();
    });
    let [first, second] = events;
    let waker = loom::thread::spawn(move || first.set());
    second.set();
    shared.close();
    threads.join();
    waker.join().unwrap();
    assert_eq!(ended.get(), 1);
}

#[test]
fn two_wakes_against_the_end_of_a_poll() {
    check(Size::Large, two_wakes_against_polls);
}

const LOST: &str = "woken, but not polled with what the waker wrote";

/// A queued future is woken while its poll begins. Either it is queued again, or this poll sees
/// what was written before the wake-up, although only the wake-up orders the two.
fn wake_against_the_begin_of_a_poll() {
    let (written, again) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    let (read, keep) = (Arc::clone(&written), Arc::clone(&again));
    let future = poll_fn(move |_cx| match read.load(Ordering::Relaxed) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    });
    let (runnable, task) =
        raw::spawn(future, move |runnable, _| *keep.lock().unwrap() = Some(runnable));
    let waker = runnable.waker();
    let wakes = loom::thread::spawn(move || {
        written.store(true, Ordering::Relaxed);
        waker.wake_by_ref();
        waker
    });
    runnable.run();
    // Held until now: dropping the last waker must not be what schedules the task.
    let _waker = wakes.join().unwrap();
    let queued_again: Option<Runnable> = again.lock().unwrap().take();
    if let Some(runnable) = queued_again {
        runnable.run();
    }
    assert!(task.is_finished(), "{LOST}");
    task.detach();
}

#[test]
fn a_wake_against_the_begin_of_a_poll() {
    check(Size::Small, wake_against_the_begin_of_a_poll);
}

/// A pool is closed while a future waits: wake-ups are not refused, and `join` waits for the
/// future.
fn wake_against_close() {
    let (event, ended) = (Event::new(), Tally::default());
    let (shared, (), threads) = start_futures(&config(1), |pool| {
        let (event, ended) = (event.clone(), ended.clone());
        let future = async move {
            event.wait().await;
            ended.add();
        };
        pool.spawn_future(future).unwrap().detach();
    });
    let waker = loom::thread::spawn(move || event.set());
    shared.close();
    threads.join();
    assert_eq!(ended.get(), 1, "the workers leave when the future has ended");
    waker.join().unwrap();
}

#[test]
fn a_wake_against_a_close() {
    check(Size::Large, wake_against_close);
}

const REFUSED: &str = "a future of the pool was refused";

/// A future spawns a task through a handle while the pool is closed: the task is never refused, and
/// the workers leave after it has run.
fn spawn_by_a_future_against_close(workers: usize) {
    let ran = Tally::default();
    let prepare = |pool: &ExecutorHandle<()>| {
        let handle = pool.clone();
        let future = async move { handle.spawn(()).expect(REFUSED) };
        pool.spawn_future(future).unwrap().detach();
    };
    let (shared, (), threads) = {
        let ran = ran.clone();
        start_prepared(&config(workers), prepare, move |()| ran.add())
    };
    shared.close();
    threads.join();
    assert_eq!(ran.get(), 1, "{LEFT_BEFORE_IT_RAN}");
    let metrics = shared.metrics_snapshot();
    assert_eq!(metrics.panics, 0, "{REFUSED}");
}

const LEFT_BEFORE_IT_RAN: &str = "the workers left before the task had run";

#[test]
fn a_spawn_by_a_future_against_a_close() {
    check(Size::Medium, || spawn_by_a_future_against_close(1));
}

#[test]
fn a_spawn_by_a_future_against_a_close_and_another_worker() {
    check(Size::Large, || spawn_by_a_future_against_close(2));
}

/// The same while the pool is shut down: the task is refused, or it is counted and dropped or run.
#[test]
fn a_spawn_by_a_future_against_a_close_and_a_shutdown() {
    check(Size::Medium, || {
        let (ended, accepted) = (Tally::default(), Tally::default());
        let prepare = |pool: &ExecutorHandle<DropTally>| {
            let (handle, task) = (pool.clone(), DropTally(ended.clone()));
            let accepted = accepted.clone();
            let future = async move {
                if handle.spawn(task).is_ok() {
                    accepted.add();
                }
            };
            pool.spawn_future(future).unwrap().detach();
        };
        let (shared, (), threads) = start_prepared(&config(1), prepare, drop);
        shared.close();
        shared.shut_down();
        threads.join();
        assert_eq!(ended.get(), 1, "run, dropped or refused: the value ends once");
        assert_eq!(shared.metrics_snapshot().tasks_ended(), accepted.get() as u64);
    });
}

/// A future is awaited by another thread while it completes.
#[test]
fn an_await_against_the_completion() {
    check(Size::Medium, || {
        let (shared, handle, threads) =
            start_futures(&config(1), |pool| pool.spawn_future(async { 7 }).unwrap());
        assert_eq!(block_on(handle).unwrap(), 7);
        shared.close();
        threads.join();
    });
}

/// A future is woken and then aborted. When the handle reports that it is gone, it is.
fn abort_against_poll() {
    let (event, dropped) = (Event::new(), Tally::default());
    let (shared, handle, threads) = start_futures(&config(1), |pool| {
        let (event, value) = (event.clone(), DropTally(dropped.clone()));
        let future = async move {
            event.wait().await;
            drop(value);
            7
        };
        pool.spawn_future(future).unwrap()
    });
    event.set();
    handle.abort();
    match block_on(handle) {
        Ok(output) => assert_eq!(output, 7),
        Err(error) => assert!(matches!(error, JoinError::Aborted), "{error}"),
    }
    assert_eq!(dropped.get(), 1, "awaiting the handle waits until the future is gone");
    shared.close();
    threads.join();
    assert_eq!(shared.metrics_snapshot().futures_ended, 1);
}

#[test]
fn an_abort_against_a_poll() {
    check(Size::Medium, abort_against_poll);
}

/// A future of the pool ends on a thread that is not a worker while the pool is joined: it is
/// dropped there, or polled there.
fn end_outside_against_join(end: fn(Runnable)) {
    let (shared, (), threads) = start_futures(&config(1), |_pool| ());
    let dropped = Tally::default();
    let value = DropTally(dropped.clone());
    let schedule = |_runnable, _while_it_ran| unreachable!("it is never woken");
    let (runnable, task) =
        PoolShared::make_future(&shared, async move { drop(value) }, schedule).unwrap();
    task.detach();
    let ending = loom::thread::spawn(move || end(runnable));
    shared.close();
    threads.join();
    assert_eq!(dropped.get(), 1, "the workers leave when the future is gone");
    ending.join().unwrap();
}

fn drop_outside_against_join() {
    end_outside_against_join(drop);
}

#[test]
fn a_future_dropped_outside_of_the_workers_against_a_join() {
    check(Size::Medium, drop_outside_against_join);
}

#[test]
fn a_future_that_ends_outside_of_the_workers_against_a_join() {
    check(Size::Medium, || end_outside_against_join(|runnable| assert!(!runnable.run())));
}

/// A pool is stopped while a future begins to wait for an event that never happens.
fn stop_against_waiting(config: &ExecutorConfig, stop: impl FnOnce(&PoolShared<()>)) {
    let dropped = Tally::default();
    let (shared, handle, threads) = start_futures(config, |pool| {
        let value = DropTally(dropped.clone());
        let future = async move {
            pending::<()>().await;
            drop(value);
        };
        pool.spawn_future(future).unwrap()
    });
    stop(&shared);
    threads.join();
    assert_eq!(dropped.get(), 1);
    assert!(matches!(block_on(handle), Err(JoinError::Stopped)));
}

/// A pool is stopped while a future that has waited before is woken and waits again. The stop may
/// find it queued and do nothing, just after its worker has decided to poll it.
fn shutdown_against_going_on_waiting() {
    let (event, dropped) = (Event::new(), Tally::default());
    let (shared, (), threads) = start_futures(&config(1), |pool| {
        let (event, value) = (event.clone(), DropTally(dropped.clone()));
        let future = async move {
            event.wait().await;
            pending::<()>().await;
            drop(value);
        };
        pool.spawn_future(future).unwrap().detach();
    });
    event.set();
    shared.shut_down();
    threads.join();
    assert_eq!(dropped.get(), 1);
}

#[test]
fn a_shutdown_against_a_future_that_goes_on_waiting() {
    check(Size::Medium, shutdown_against_going_on_waiting);
}

fn shutdown_against_waiting() {
    stop_against_waiting(&config(1), PoolShared::shut_down);
}

fn cancel_against_waiting() {
    let cancel = CancelToken::new();
    let config = config(1).cancel(cancel.clone());
    stop_against_waiting(&config, |_shared| cancel.cancel());
}

#[test]
fn a_shutdown_against_a_future_that_begins_to_wait() {
    check(Size::Medium, shutdown_against_waiting);
}

#[test]
fn a_cancellation_against_a_future_that_begins_to_wait() {
    check(Size::Medium, cancel_against_waiting);
}

#[test]
fn bites_a_wake_that_is_not_announced() {
    must_fail(Plant::WakeUnannounced, 2, DEADLOCK, wake_against_park);
}

#[test]
fn bites_a_wake_without_the_light_fence() {
    must_fail(Plant::NoLightFence, 2, DEADLOCK, wake_against_park);
}

#[test]
fn bites_a_wake_lost_at_the_end_of_the_poll() {
    must_fail(Plant::WakeWhileRunningLost, 2, DEADLOCK, wake_against_park);
}

#[test]
fn bites_a_wake_of_a_queued_future_that_writes_nothing() {
    must_fail(Plant::WakeOfQueuedWritesNothing, 2, LOST, wake_against_the_begin_of_a_poll);
}

#[test]
fn bites_a_wake_refused_after_the_close() {
    must_fail(Plant::WakeRefusedAfterClose, 2, DEADLOCK, wake_against_close);
}

#[test]
fn bites_a_spawn_by_a_future_that_is_refused_after_the_close() {
    let plant = Plant::InsideSpawnRefused;
    must_fail(plant, 2, REFUSED, || spawn_by_a_future_against_close(1));
}

#[test]
fn bites_a_spawn_by_a_future_that_is_not_counted() {
    let symptom = "2 tasks consumed, but only 1 were accepted or produced";
    let plant = Plant::InsideSpawnUncounted;
    must_fail(plant, 2, symptom, || spawn_by_a_future_against_close(1));
}

#[test]
fn bites_an_end_that_is_not_counted() {
    must_fail(Plant::FutureEndUncounted, 2, DEADLOCK, wake_against_close);
}

#[test]
fn bites_a_drop_that_is_not_counted() {
    must_fail(Plant::FutureDropUncounted, 2, DEADLOCK, abort_against_poll);
}

#[test]
fn bites_a_drop_outside_that_is_not_counted() {
    must_fail(Plant::DropOutsideUncounted, 2, DEADLOCK, drop_outside_against_join);
}

#[test]
fn bites_a_drop_outside_that_is_not_followed_by_a_check() {
    must_fail(Plant::EndOutsideUnchecked, 2, DEADLOCK, drop_outside_against_join);
}

#[test]
fn bites_a_stop_that_forgets_waiting_futures() {
    must_fail(Plant::StopForgetsFutures, 2, DEADLOCK, shutdown_against_waiting);
}

#[test]
fn bites_a_stop_that_misses_a_queued_future() {
    must_fail(Plant::StopMissesQueued, 2, DEADLOCK, shutdown_against_going_on_waiting);
}

#[test]
fn bites_a_live_set_that_takes_futures_after_the_stop() {
    must_fail(Plant::LiveSetTakesAfterStop, 2, DEADLOCK, shutdown_against_waiting);
}

#[test]
fn bites_a_cancellation_that_skips_watchers() {
    must_fail(Plant::CancelSkipsWatchers, 2, DEADLOCK, cancel_against_waiting);
}
