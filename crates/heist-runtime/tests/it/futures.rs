//! Proves that futures run beside typed tasks and alone. A future is polled when it is woken,
//! awaited through its handle, counted from its spawn to its end, and ends with its pool.

use crate::support::event::{Event, Live, OnDrop};
use crate::support::sync::Mutex;
use crate::support::{
    Latch, SILENT, check_all_run, job, silence_panics, start_jobs, wait_until, watched, workers,
};
use heist::{
    CancelToken, Executor, JoinError, JoinHandle, MetricsSnapshot, SpawnErrorKind, WorkerCtx,
};
use heist_runtime::Runtime;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

fn start(workers: usize) -> Runtime {
    Runtime::builder().threads(workers).build().unwrap()
}

#[track_caller]
fn check_ended(metrics: &MetricsSnapshot, futures: u64) {
    assert_eq!((metrics.futures_spawned, metrics.futures_ended), (futures, futures), "{metrics}");
    assert_eq!((metrics.injector_depth, metrics.backstop_rescues), (0, 0), "{metrics}");
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_spawned_future_is_polled_and_awaited() {
    watched(|| {
        let runtime = start(2);
        let handles: Vec<_> = (0..1_000_u64).map(|n| runtime.spawn(async move { n })).collect();
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 499_500);
        check_ended(&runtime.join(), 1_000);
    });
}

/// Each task spawns a future, and each future wakes the next one.
#[test]
fn futures_run_beside_typed_tasks() {
    watched(|| {
        let ran = Arc::new(AtomicU64::new(0));
        let (by_task, by_handle) = (Arc::clone(&ran), Arc::clone(&ran));
        let runner = move |task: u64, ctx: &mut WorkerCtx<'_, u64, ()>| {
            let ran = Arc::clone(&by_task);
            ctx.spawn_future(async move {
                heist::yield_now().await;
                ran.fetch_add(task, Ordering::Relaxed);
            });
            if task > 1 {
                ctx.spawn_local(task - 1);
            }
        };
        let executor = Executor::new(workers(2), |_| (), runner).unwrap();
        executor.spawn_batch(vec![100; 10]).unwrap();
        let outside = executor.handle().spawn_future(async move {
            by_handle.fetch_add(1_000_000, Ordering::Relaxed);
            7
        });
        assert_eq!(heist_runtime::block_on(outside.unwrap()).unwrap(), 7);
        let metrics = executor.join();
        check_all_run(&metrics, 1_000);
        check_ended(&metrics, 1_001);
        assert_eq!(ran.load(Ordering::Relaxed), 1_000_000 + 10 * 5_050);
    });
}

/// A run accepts nothing from outside. But its tasks may spawn futures, and it waits for them.
#[test]
fn a_run_waits_for_the_futures_of_its_tasks() {
    watched(|| {
        let ended = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&ended);
        let output = heist::run(
            workers(2),
            0..100_u64,
            |_| (),
            move |_task, ctx| {
                let counter = Arc::clone(&counter);
                ctx.spawn_future(async move {
                    heist::yield_now().await;
                    counter.fetch_add(1, Ordering::Relaxed);
                });
            },
        );
        check_ended(&output.unwrap().metrics, 100);
        assert_eq!(ended.load(Ordering::Relaxed), 100);
    });
}

/// Keeps the only worker busy until the latch is opened. The worker is busy when this returns.
fn occupy(runtime: &Runtime) -> (Latch, JoinHandle<()>) {
    let (entered, latch) = (Latch::default(), Latch::default());
    let held = (entered.clone(), latch.clone());
    let occupies = runtime.spawn(async move {
        held.0.open();
        held.1.wait();
    });
    entered.wait();
    (latch, occupies)
}

#[test]
fn a_future_that_is_aborted_before_its_first_poll_is_dropped_unpolled() {
    watched(|| {
        let runtime = start(1);
        let (latch, _occupies) = occupy(&runtime);
        let live = Arc::new(AtomicUsize::new(0));
        let guard = Live::new(&live);
        let aborted = runtime.spawn(async move {
            let _guard = guard;
            unreachable!("an aborted future was polled");
        });
        aborted.abort();
        assert_eq!(live.load(Ordering::Acquire), 1, "a worker drops the future");
        latch.open();
        assert!(matches!(heist_runtime::block_on(aborted), Err::<(), _>(JoinError::Aborted)));
        assert_eq!(
            live.load(Ordering::Acquire),
            0,
            "the future was dropped before its handle returned"
        );
        check_ended(&runtime.join(), 2);
    });
}

#[test]
fn a_future_that_is_aborted_while_it_waits_is_dropped_by_a_worker() {
    watched(|| {
        let runtime = start(2);
        let event = Event::default();
        let waits = event.clone();
        let (dropped_by, worker) = std::sync::mpsc::channel();
        let aborted = runtime.spawn(async move {
            let _guard = OnDrop::new(|| dropped_by.send(heist::current_worker_id()).unwrap());
            waits.wait().await;
        });
        wait_until("the future waits", || event.waiting() == 1);
        assert!(!aborted.is_finished());
        aborted.abort();
        assert!(matches!(runtime.block_on(aborted), Err(JoinError::Aborted)));
        assert!(worker.recv().unwrap().is_some(), "a worker drops the future");
        // A waker of the future still exists, and does nothing.
        event.set();
        check_ended(&runtime.join(), 1);
    });
}

#[test]
fn a_future_that_is_aborted_while_it_is_polled_ends_with_that_poll() {
    watched(|| {
        for completes in [false, true] {
            let runtime = start(1);
            let (entered, latch) = (Latch::default(), Latch::default());
            let held = (entered.clone(), latch.clone());
            let aborted = runtime.spawn(async move {
                held.0.open();
                held.1.wait();
                if !completes {
                    std::future::pending::<()>().await;
                }
            });
            entered.wait();
            aborted.abort();
            // A second abort changes nothing.
            aborted.abort();
            let mut aborted = pin!(aborted);
            assert!(poll_once(aborted.as_mut()).is_pending(), "the poll is still running");
            latch.open();
            let ended = heist_runtime::block_on(aborted);
            assert!(matches!(ended, Err(JoinError::Aborted)), "{ended:?}");
            check_ended(&runtime.join(), 1);
        }
    });
}

#[test]
fn aborting_a_future_that_has_completed_changes_nothing() {
    watched(|| {
        let runtime = start(1);
        let handle = runtime.spawn(async { 42 });
        wait_until("the future has completed", || handle.is_finished());
        handle.abort();
        handle.abort();
        assert!(handle.is_finished());
        assert_eq!(heist_runtime::block_on(handle).unwrap(), 42);
    });
}

#[test]
fn a_future_continues_when_its_handle_is_dropped_or_detached() {
    watched(|| {
        let runtime = start(2);
        let event = Event::default();
        let ended = Arc::new(AtomicUsize::new(0));
        for round in 0..10 {
            let (event, ended) = (event.clone(), Arc::clone(&ended));
            let handle = runtime.spawn(async move {
                event.wait().await;
                ended.fetch_add(1, Ordering::Relaxed);
                // An output that is never taken is dropped.
                vec![round]
            });
            if round % 2 == 0 { drop(handle) } else { handle.detach() }
        }
        event.set();
        check_ended(&runtime.join(), 10);
        assert_eq!(ended.load(Ordering::Relaxed), 10);
    });
}

/// Completion wakes the waker of the last poll only.
#[test]
fn a_handle_may_be_awaited_by_one_task_and_then_by_another() {
    watched(|| {
        let runtime = start(2);
        let event = Event::default();
        let waits = event.clone();
        let mut handle = runtime.spawn(async move { waits.wait().await });
        assert!(poll_once(pin!(&mut handle)).is_pending());
        let other = runtime.spawn(handle);
        wait_until("the future waits", || event.waiting() == 1);
        event.set();
        heist_runtime::block_on(other).unwrap().unwrap();
    });
}

#[test]
fn a_closed_runtime_returns_futures_from_outside() {
    watched(|| {
        let runtime = start(1);
        let (latch, _occupies) = occupy(&runtime);
        let runtime = runtime.join_timeout(Duration::from_millis(1)).unwrap_err().into_runtime();
        let refused = runtime.handle().try_spawn(async { 5 }).unwrap_err();
        assert_eq!(refused.kind(), SpawnErrorKind::Closed);
        assert_eq!(heist_runtime::block_on(refused.into_inner()), 5, "unharmed");
        let refused = heist_runtime::block_on(runtime.spawn(async { 5 }));
        assert!(matches!(refused, Err(JoinError::Refused(SpawnErrorKind::Closed))));
        runtime.handle().shutdown();
        let refused = runtime.handle().try_spawn(async {}).unwrap_err();
        assert_eq!(refused.kind(), SpawnErrorKind::ShutDown);
        latch.open();
        check_ended(&runtime.join(), 1);
    });
}

#[test]
fn a_runtime_that_is_being_joined_accepts_what_its_futures_spawn() {
    watched(|| {
        let runtime = start(2);
        let handle = runtime.handle();
        let (event, from_future) = (Event::default(), runtime.handle());
        let waits = event.clone();
        let sum = runtime.spawn(async move {
            waits.wait().await;
            assert!(!from_future.is_accepting());
            let by_handle =
                from_future.try_spawn(async { 1 }).expect("the spawn comes from inside");
            let here =
                heist_runtime::spawn(async { heist_runtime::spawn(async { 2 }).await.unwrap() });
            by_handle.await.unwrap() + here.await.unwrap()
        });
        let joining = thread::spawn(move || runtime.join());
        wait_until("the runtime is closed", || !handle.is_accepting());
        event.set();
        assert_eq!(heist_runtime::block_on(sum).unwrap(), 3);
        check_ended(&joining.join().unwrap(), 4);
    });
}

#[test]
fn join_waits_for_a_future_that_is_woken_from_outside_after_the_close() {
    watched(|| {
        let runtime = start(2);
        let handle = runtime.handle();
        let event = Event::default();
        for _ in 0..10 {
            let event = event.clone();
            runtime.spawn(async move { event.wait().await });
        }
        wait_until("all futures wait", || event.waiting() == 10);
        let joining = thread::spawn(move || runtime.join());
        wait_until("the runtime is closed", || !handle.is_accepting());
        thread::sleep(Duration::from_millis(20));
        assert!(!joining.is_finished(), "ten futures are alive");
        event.set();
        check_ended(&joining.join().unwrap(), 10);
    });
}

#[test]
fn a_cancel_token_reaches_a_pool_in_which_all_futures_wait() {
    watched(|| {
        let parent = CancelToken::new();
        let cancel = parent.child();
        let runtime = Runtime::builder().threads(2).cancel(cancel).build().unwrap();
        let event = Event::default();
        let handles: Vec<_> = (0..100)
            .map(|_| {
                let event = event.clone();
                runtime.spawn(async move { event.wait().await })
            })
            .collect();
        wait_until("all futures wait", || event.waiting() == 100);
        parent.cancel();
        for handle in handles {
            assert!(matches!(heist_runtime::block_on(handle), Err(JoinError::Stopped)));
        }
        let refused = heist_runtime::block_on(runtime.spawn(async {}));
        assert!(matches!(refused, Err(JoinError::Refused(SpawnErrorKind::Cancelled))));
        check_ended(&runtime.join(), 100);
    });
}

#[test]
fn a_stop_drops_waiting_and_queued_futures() {
    watched(|| {
        let runtime = start(1);
        let event = Event::default();
        let waits = event.clone();
        let waiting = runtime.spawn(async move { waits.wait().await });
        wait_until("the future waits", || event.waiting() == 1);
        let (latch, occupies) = occupy(&runtime);
        let queued = runtime.spawn(async { unreachable!("a stopped runtime polled a future") });
        let handle = runtime.handle();
        handle.shutdown();
        let dropping = thread::spawn(move || drop(runtime));
        latch.open();
        dropping.join().unwrap();
        heist_runtime::block_on(occupies).expect("a running poll finishes");
        assert!(matches!(heist_runtime::block_on(waiting), Err(JoinError::Stopped)));
        assert!(matches!(heist_runtime::block_on(queued), Err(JoinError::Stopped)));
        check_ended(&handle.metrics(), 3);
    });
}

/// Spawns a future that spawns another one of its kind when it is dropped, up to a given number.
fn spawns_when_dropped(left: u32, dropped: &Arc<AtomicUsize>) {
    let inside = Arc::clone(dropped);
    let guard = OnDrop::new(move || {
        inside.fetch_add(1, Ordering::Relaxed);
        if left > 1 {
            spawns_when_dropped(left - 1, &inside);
        }
    });
    heist_runtime::spawn(async move {
        let _guard = guard;
        std::future::pending::<()>().await;
    });
}

#[test]
fn a_future_whose_drop_spawns_another_one_does_not_keep_a_stopped_runtime_alive() {
    watched(|| {
        for workers in [1, 2] {
            let runtime = start(workers);
            let handle = runtime.handle();
            let dropped = Arc::new(AtomicUsize::new(0));
            let first = Arc::clone(&dropped);
            let spawned = runtime.spawn(async move { spawns_when_dropped(1_000, &first) });
            heist_runtime::block_on(spawned).unwrap();
            drop(runtime);
            assert_eq!(dropped.load(Ordering::Relaxed), 1_000);
            check_ended(&handle.metrics(), 1_001);
        }
    });
}

#[test]
fn wakers_may_outlive_their_runtime() {
    watched(|| {
        let event = Event::default();
        let runtime = start(1);
        let waits = event.clone();
        let handle = runtime.spawn(async move { waits.wait().await });
        wait_until("the future waits", || event.waiting() == 1);
        drop(runtime);
        event.set();
        assert!(matches!(heist_runtime::block_on(handle), Err(JoinError::Stopped)));
    });
}

/// Every wake-up is followed by a poll that sees everything written before it, and polls never
/// overlap.
#[test]
fn no_wake_up_from_any_thread_is_lost() {
    const WAKES: u64 = 20_000;
    const THREADS: u64 = 3;
    watched(|| {
        let runtime = start(2);
        let counter = Arc::new(AtomicU64::new(0));
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let polling = Arc::new(AtomicU64::new(0));
        let (seen, leaves) = (Arc::clone(&counter), Arc::clone(&waker));
        let future = runtime.spawn(poll_fn(move |cx| {
            assert_eq!(polling.fetch_add(1, Ordering::Relaxed), 0, "two polls overlap");
            *leaves.lock().unwrap() = Some(cx.waker().clone());
            let seen = seen.load(Ordering::Acquire);
            polling.fetch_sub(1, Ordering::Relaxed);
            if seen == THREADS * WAKES { Poll::Ready(()) } else { Poll::Pending }
        }));
        wait_until("the future waits", || waker.lock().unwrap().is_some());
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (counter, waker) = (Arc::clone(&counter), Arc::clone(&waker));
                thread::spawn(move || {
                    for _ in 0..WAKES {
                        counter.fetch_add(1, Ordering::Release);
                        let waker =
                            waker.lock().unwrap().clone().expect("the future has been polled");
                        waker.wake();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        heist_runtime::block_on(future).unwrap();
    });
}

#[test]
fn runtimes_and_executors_may_await_each_other() {
    watched(|| {
        let (runtime, other) = (start(1), start(1));
        let executor = start_jobs(workers(1));
        let (to_other, to_executor) = (other.handle(), executor.handle());
        let sum = runtime.spawn(async move {
            let there = to_other.spawn(async move {
                let further = to_executor.spawn_future(async { 1 }).unwrap();
                further.await.unwrap() + 2
            });
            there.await.unwrap() + 3
        });
        assert_eq!(other.block_on(sum).unwrap(), 6);
        executor.spawn(job(|_| {})).unwrap();
        check_all_run(&executor.join(), 1);
        check_ended(&other.join(), 1);
        check_ended(&runtime.join(), 1);
    });
}

/// Takes a long time to drop.
struct Slow(Arc<AtomicBool>);

impl Drop for Slow {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_future_that_is_aborted_twice_is_still_waited_for() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        let gone = Arc::new(AtomicBool::new(false));
        let slow = Slow(Arc::clone(&gone));
        let handle = runtime.spawn(async move {
            let _slow = slow;
            std::future::pending::<()>().await;
        });
        wait_until("the future waits", || runtime.metrics().polls == 1);
        handle.abort();
        handle.abort();
        assert!(matches!(runtime.block_on(handle), Err(JoinError::Aborted)));
        assert!(gone.load(Ordering::Relaxed), "the future is still being dropped");
    });
}

#[test]
fn a_finished_future_that_is_aborted_twice_returns_its_output() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let handle = runtime.spawn(async { 5 });
        wait_until("the future has ended", || handle.is_finished());
        handle.abort();
        handle.abort();
        assert_eq!(runtime.block_on(handle).unwrap(), 5);
    });
}

/// Spawns more futures than a queue holds, so that some of them go to other workers.
#[test]
fn a_yielding_future_goes_behind_the_futures_it_spawned() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let polled = Arc::new(AtomicUsize::new(0));
        let spawner = runtime.spawn(async move {
            for _ in 0..100 {
                let polled = Arc::clone(&polled);
                heist_runtime::spawn(async move { polled.fetch_add(1, Ordering::Relaxed) })
                    .detach();
            }
            heist::yield_now().await;
            polled.load(Ordering::Relaxed)
        });
        assert_eq!(runtime.block_on(spawner).unwrap(), 100);
    });
}

/// Blocks on its runtime when its thread ends.
struct AtTheEnd(Arc<Runtime>, Arc<AtomicBool>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let answer = self.0.spawn(async { 42 });
        self.1.store(self.0.block_on(answer).unwrap() == 42, Ordering::Relaxed);
    }
}

thread_local! {
    static AT_THE_END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_local_may_block_on_a_runtime_when_its_thread_ends() {
    watched(|| {
        let runtime = Arc::new(Runtime::builder().threads(1).build().unwrap());
        let answered = Arc::new(AtomicBool::new(false));
        let at_the_end = AtTheEnd(runtime, Arc::clone(&answered));
        let thread = std::thread::spawn(move || {
            let runtime = Arc::clone(&at_the_end.0);
            // Created before the thread first uses the runtime, so that it is dropped after the
            // runtime's thread-locals.
            AT_THE_END.set(Some(at_the_end));
            runtime.block_on(async {});
        });
        thread.join().unwrap();
        assert!(answered.load(Ordering::Relaxed));
    });
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panic_in_the_drop_of_a_future_is_counted_and_reported() {
    watched(|| {
        silence_panics();
        let runtime = Runtime::builder().threads(1).thread_name(SILENT).build().unwrap();
        let fragile = Fragile;
        let handle = runtime.spawn(async move {
            let _fragile = fragile;
            std::future::pending::<()>().await;
        });
        wait_until("the future waits", || runtime.metrics().polls == 1);
        handle.abort();
        assert!(matches!(runtime.block_on(handle), Err(JoinError::Aborted)));
        assert_eq!(runtime.panics().len(), 1);
        let metrics = runtime.join();
        assert_eq!((metrics.panics, metrics.futures_ended), (1, 1));
    });
}

#[test]
fn cancelling_a_token_wakes_the_futures_that_await_it() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        let root = CancelToken::new();
        let waiting: Vec<_> = (0..100)
            .map(|number| {
                let token = if number % 2 == 0 { root.clone() } else { root.child() };
                runtime.spawn(async move {
                    token.cancelled().await;
                    assert!(token.is_cancelled());
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(5));
        assert!(waiting.iter().all(|future| !future.is_finished()));
        root.cancel();
        for future in waiting {
            runtime.block_on(future).unwrap();
        }
    });
}
