//! Whole runtimes under shuttle: futures that spawn, await, wake, yield, panic, are aborted and
//! stopped, with more workers and threads than loom can handle. Every scenario ends, or shuttle
//! reports a deadlock.
//!
//! Shuttle is sequentially consistent, so it cannot find missing fences and missing Releases; loom
//! does. The current runtime of a thread belongs to the real thread, so these futures spawn through
//! handles.
#![cfg(heist_shuttle)]

// Explores schedules in the same way as heist's own shuttle tests.
#[path = "../../heist/tests/shuttle/support.rs"]
mod support;

use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, thread};
use heist::{CancelToken, Executor, JoinError, JoinHandle, WorkerCtx, yield_now};
use heist_runtime::{Runtime, RuntimeBuilder, RuntimeHandle, block_on};
use shuttle::sync::Mutex;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Poll, Waker};
use support::{DEADLOCK, Rendezvous, Tally, check, config, must_fail};

/// Workers park at once when they find no work: spinning would only add schedules.
fn runtime(workers: usize) -> RuntimeBuilder {
    Runtime::builder().threads(workers).steal_tries(1).spin_iters(0)
}

fn spawn_thread<R: Send + 'static>(
    body: impl FnOnce() -> R + Send + 'static,
) -> thread::JoinHandle<R> {
    thread::Builder::new().spawn(body).unwrap()
}

/// An event that a future waits for.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn set(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn wait(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Counts the values that were created and those that were dropped.
#[derive(Clone, Default)]
struct Values {
    made: Tally,
    dropped: Tally,
}

impl Values {
    fn make(&self) -> Value {
        self.made.add();
        Value(self.clone())
    }

    #[track_caller]
    fn check_gone(&self) {
        assert_eq!(self.dropped.get(), self.made.get(), "each value ends once");
    }
}

struct Value(Values);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.dropped.add();
    }
}

/// Checks the metrics of a runtime that has ended, and returns how many futures it had.
#[track_caller]
fn check_end(handle: &RuntimeHandle, values: &Values) -> u64 {
    let metrics = handle.metrics();
    values.check_gone();
    assert_eq!(metrics.futures_ended, metrics.futures_spawned, "{metrics}");
    assert_eq!(metrics.injector_depth, 0, "{metrics}");
    metrics.futures_spawned
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future that spawns two of its kind, yields, awaits them, and returns how many ran. A refused
/// child does not count.
fn tree(handle: RuntimeHandle, values: Values, levels: usize) -> Boxed<usize> {
    Box::pin(async move {
        let _value = values.make();
        if levels == 0 {
            return 1;
        }
        let child = || handle.spawn(tree(handle.clone(), values.clone(), levels - 1));
        let (one, other) = (child(), child());
        yield_now().await;
        1 + one.await.unwrap_or(0) + other.await.unwrap_or(0)
    })
}

/// Two threads spawn trees; a third awaits a tree of its own.
fn trees_from_two_threads() {
    let values = Values::default();
    let runtime = runtime(3).build().unwrap();
    let handle = runtime.handle();
    let producers: Vec<_> = (0..2)
        .map(|_| {
            let (handle, values) = (handle.clone(), values.clone());
            spawn_thread(move || block_on(handle.spawn(tree(handle.clone(), values, 2))).unwrap())
        })
        .collect();
    let own = block_on(handle.spawn(tree(handle.clone(), values.clone(), 1))).unwrap();
    let others: usize = producers.into_iter().map(|producer| producer.join().unwrap()).sum();
    assert_eq!(own + others, 3 + 2 * 7);
    runtime.join();
    assert_eq!(check_end(&handle, &values), 3 + 2 * 7);
}

#[test]
fn trees_of_futures_are_awaited() {
    check(2_000, trees_from_two_threads);
}

/// Futures wait for events, which other threads set while the runtime is joined. `join` must wait
/// for all of them.
fn wakes_against_join() {
    let values = Values::default();
    let runtime = runtime(2).build().unwrap();
    let handle = runtime.handle();
    let events: Vec<_> = (0..4).map(|_| Event::default()).collect();
    for event in &events {
        let (event, value) = (event.clone(), values.make());
        runtime.spawn(async move {
            event.wait().await;
            drop(value);
        });
    }
    let wakers: Vec<_> = events
        .chunks(2)
        .map(|events| {
            let events = events.to_vec();
            spawn_thread(move || events.iter().for_each(Event::set))
        })
        .collect();
    let metrics = runtime.join();
    assert_eq!(metrics.futures_ended, 4, "{metrics}");
    wakers.into_iter().for_each(|waker| waker.join().unwrap());
    check_end(&handle, &values);
}

#[test]
fn wake_ups_against_a_join() {
    check(4_000, wakes_against_join);
}

/// A future wakes two others, one after the other, and can only end together with both: the one in
/// its worker's LIFO slot, and the one that was displaced from it. There are just enough `workers`.
fn woken_futures_meet(workers: usize, lifo_stealing: bool) {
    let runtime = runtime(workers).lifo_stealing(lifo_stealing).build().unwrap();
    let (meeting, events) = (Rendezvous::new(workers), [Event::default(), Event::default()]);
    // With private LIFO slots, the future that is woken last is left out: no thief could reach it.
    let parties = if lifo_stealing { 2 } else { 1 };
    let woken: Vec<_> = events
        .iter()
        .enumerate()
        .map(|(number, event)| {
            let (event, meeting) = (event.clone(), (number < parties).then(|| meeting.clone()));
            runtime.spawn(async move {
                event.wait().await;
                if let Some(meeting) = meeting {
                    meeting.meet();
                }
            })
        })
        .collect();
    // The futures wait before they are woken, so that this worker wakes them.
    while runtime.metrics().polls < 2 {
        shuttle::thread::yield_now();
    }
    runtime.spawn(async move {
        events.iter().for_each(Event::set);
        meeting.meet();
    });
    woken.into_iter().for_each(|handle| block_on(handle).unwrap());
    runtime.join();
}

fn woken_futures_find_thieves() {
    woken_futures_meet(3, true);
}

fn a_displaced_future_finds_a_thief() {
    woken_futures_meet(2, false);
}

#[test]
fn woken_futures_are_taken_by_thieves() {
    check(4_000, woken_futures_find_thieves);
}

#[test]
fn futures_displaced_from_private_slots_are_taken_by_thieves() {
    check(4_000, a_displaced_future_finds_a_thief);
}

/// A future spawns more futures than its worker's queue keeps for itself, and waits for the last of
/// them.
#[test]
fn a_worker_shares_the_many_futures_it_spawns() {
    check(100, || {
        const MANY: usize = 100;
        let runtime = runtime(2).build().unwrap();
        let (handle, ended) = (runtime.handle(), Tally::default());
        let all_ended = ended.clone();
        let spawning = runtime.spawn(async move {
            let child = || {
                let ended = ended.clone();
                handle.spawn(async move { ended.add() })
            };
            let children: Vec<_> = (0..MANY).map(|_| child()).collect();
            for child in children {
                child.await.unwrap();
            }
        });
        block_on(spawning).unwrap();
        assert_eq!(all_ended.get(), MANY);
        runtime.join();
    });
}

/// Aborts futures that wait, yield or end, while they are woken. Awaiting a handle returns whether
/// its future completed or was aborted, after the future was dropped.
fn aborts_against_polls() {
    let runtime = runtime(2).build().unwrap();
    let handle = runtime.handle();
    let event = Event::default();
    let aborting = [true, false].map(|waits| {
        let values = Values::default();
        let (event, value) = (event.clone(), values.make());
        let future: JoinHandle<()> = handle.spawn(async move {
            yield_now().await;
            if waits {
                event.wait().await;
            }
            drop(value);
        });
        spawn_thread(move || {
            future.abort();
            let ended = block_on(future);
            assert!(matches!(ended, Ok(()) | Err(JoinError::Aborted)), "{ended:?}");
            values.check_gone();
        })
    });
    event.set();
    aborting.into_iter().for_each(|thread| thread.join().unwrap());
    runtime.join();
    assert_eq!(check_end(&handle, &Values::default()), 2);
}

#[test]
fn aborts_against_polls_and_wake_ups() {
    check(4_000, aborts_against_polls);
}

/// A panic in a poll, or in the drop of a future, ends that future alone.
#[test]
fn a_panic_ends_only_its_own_future() {
    struct PanicsInDrop;
    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            resume_unwind(Box::new("as planned"));
        }
    }
    check(2_000, || {
        let values = Values::default();
        let runtime = runtime(2).build().unwrap();
        let handle = runtime.handle();
        let value = values.make();
        let in_poll = runtime.spawn(async move {
            yield_now().await;
            let _value = value;
            resume_unwind(Box::new("as planned"))
        });
        let in_drop = runtime.spawn(async {
            let _value = PanicsInDrop;
            pending::<()>().await;
        });
        let awaiting = spawn_thread(move || block_on(in_poll));
        let quiet = runtime.spawn(async { 7 });
        assert_eq!(block_on(quiet).unwrap(), 7);
        let error: JoinError = awaiting.join().unwrap().map(|never: ()| never).unwrap_err();
        assert!(error.is_panic(), "{error}");
        runtime.handle().shutdown();
        assert!(matches!(block_on(in_drop), Err(JoinError::Stopped)));
        drop(runtime);
        check_end(&handle, &values);
    });
}

#[derive(Clone, Copy)]
enum Stop {
    ShutDown,
    Cancel,
    Drop,
}

/// A runtime is stopped while futures are spawned, wait, yield and await each other.
fn stop_while_futures_live(stop: Stop) {
    let values = Values::default();
    let cancel = CancelToken::new();
    let runtime = runtime(2).cancel(cancel.clone()).build().unwrap();
    let handle = runtime.handle();
    let producer = {
        let (handle, values) = (handle.clone(), values.clone());
        spawn_thread(move || {
            let waiting = values.make();
            handle.spawn(async move {
                pending::<()>().await;
                drop(waiting);
            });
            block_on(handle.spawn(tree(handle.clone(), values, 1)))
        })
    };
    match stop {
        Stop::ShutDown => handle.shutdown(),
        Stop::Cancel => cancel.cancel(),
        Stop::Drop => {}
    }
    drop(runtime);
    match producer.join().unwrap() {
        Ok(count) => assert!((1..=3).contains(&count)),
        Err(error) => {
            assert!(matches!(error, JoinError::Stopped | JoinError::Refused(_)), "{error}");
        }
    }
    check_end(&handle, &values);
}

#[test]
fn a_shutdown_against_futures() {
    check(3_000, || stop_while_futures_live(Stop::ShutDown));
}

#[test]
fn a_cancellation_against_futures() {
    check(3_000, || stop_while_futures_live(Stop::Cancel));
}

#[test]
fn a_drop_against_futures() {
    check(3_000, || stop_while_futures_live(Stop::Drop));
}

/// Typed tasks and futures on one executor wait for each other: a task spawns a future and a task,
/// the second task wakes the future, and the executor is joined meanwhile.
#[test]
fn tasks_and_futures_wake_each_other() {
    check(4_000, || {
        let woken = Tally::default();
        let runner = {
            let woken = woken.clone();
            move |event: Option<Event>, ctx: &mut WorkerCtx<'_, Option<Event>, ()>| match event {
                Some(event) => event.set(),
                None => {
                    let (event, woken) = (Event::default(), woken.clone());
                    ctx.spawn_local(Some(event.clone()));
                    ctx.spawn_future(async move {
                        event.wait().await;
                        woken.add();
                    });
                }
            }
        };
        let executor = Executor::new(config(2), |_worker| (), runner).unwrap();
        executor.spawn(None).unwrap();
        executor.spawn(None).unwrap();
        let metrics = executor.join();
        assert_eq!(woken.get(), 2);
        assert_eq!(metrics.tasks_run(), 4, "{metrics}");
        assert_eq!(metrics.futures_ended, 2, "{metrics}");
    });
}

#[test]
fn bites_a_wake_refused_after_the_close() {
    must_fail(Plant::WakeRefusedAfterClose, 1_000, DEADLOCK, wakes_against_join);
}

#[test]
fn bites_a_wake_lost_at_the_end_of_the_poll() {
    must_fail(Plant::WakeWhileRunningLost, 1_000, DEADLOCK, wakes_against_join);
}

#[test]
fn bites_a_wake_that_is_not_announced() {
    must_fail(Plant::WakeUnannounced, 1_000, DEADLOCK, wakes_against_join);
}

#[test]
fn bites_a_displaced_future_that_is_not_announced() {
    must_fail(Plant::DisplacedUnannounced, 4_000, DEADLOCK, a_displaced_future_finds_a_thief);
}

#[test]
fn bites_an_end_that_is_not_counted() {
    must_fail(Plant::FutureEndUncounted, 100, DEADLOCK, wakes_against_join);
}

#[test]
fn bites_a_drop_that_is_not_counted() {
    must_fail(Plant::FutureDropUncounted, 1_000, DEADLOCK, aborts_against_polls);
}

#[test]
fn bites_a_stop_that_forgets_waiting_futures() {
    must_fail(Plant::StopForgetsFutures, 1_000, DEADLOCK, || {
        stop_while_futures_live(Stop::ShutDown);
    });
}

#[test]
fn bites_a_live_set_that_takes_futures_after_the_stop() {
    must_fail(Plant::LiveSetTakesAfterStop, 4_000, DEADLOCK, || {
        stop_while_futures_live(Stop::ShutDown);
    });
}
