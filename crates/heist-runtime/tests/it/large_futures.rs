//! Proves that every function that spawns accepts a future of 900 KB, on a thread or worker with a
//! stack of the default size, in builds with and without optimisation: heist boxes the future
//! before it passes it on.

use crate::support::{watched, workers};
use heist::{Executor, JoinHandle, SpawnErrorKind, WorkerCtx};
use heist_runtime::{Runtime, RuntimeHandle};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

const SIZE: usize = 900 * 1024;

/// The default stack size of threads in the standard library, and of workers in heist.
const STACK_SIZE: usize = 2 * 1024 * 1024;

/// A future of 900 KB that counts its bytes after it was moved to the place where it is polled.
async fn large() -> usize {
    let room = [1_u8; SIZE];
    heist::yield_now().await;
    room.iter().map(|byte| usize::from(*byte)).sum()
}

fn start() -> Runtime {
    Runtime::builder().threads(1).build().unwrap()
}

/// Calls `spawn` on a thread with a stack of the default size, and awaits the spawned future.
#[track_caller]
fn check_on_a_thread(spawn: impl FnOnce() -> JoinHandle<usize> + Send + 'static) {
    watched(|| {
        let thread = thread::Builder::new().stack_size(STACK_SIZE).spawn(spawn).unwrap();
        assert_eq!(heist_runtime::block_on(thread.join().unwrap()).unwrap(), SIZE);
    });
}

/// Calls `spawn` in a future on a worker, and awaits the spawned future.
#[track_caller]
fn check_on_a_worker(spawn: impl FnOnce(&RuntimeHandle) -> JoinHandle<usize> + Send + 'static) {
    watched(|| {
        let runtime = start();
        let handle = runtime.handle();
        let spawned = runtime.spawn(async move { spawn(&handle).await });
        assert_eq!(runtime.block_on(spawned).unwrap().unwrap(), SIZE);
    });
}

#[test]
fn spawned_by_a_runtime() {
    let runtime = Arc::new(start());
    let of_thread = Arc::clone(&runtime);
    check_on_a_thread(move || of_thread.spawn(large()));
}

#[test]
fn spawned_by_a_handle() {
    let runtime = start();
    let handle = runtime.handle();
    check_on_a_thread(move || handle.spawn(large()));
    check_on_a_worker(|handle| handle.spawn(large()));
}

#[test]
fn spawned_by_try_spawn() {
    let runtime = start();
    let handle = runtime.handle();
    check_on_a_thread(move || handle.try_spawn(large()).unwrap());
    check_on_a_worker(|handle| handle.try_spawn(large()).unwrap());
}

#[test]
fn spawned_onto_the_current_runtime() {
    check_on_a_worker(|_handle| heist_runtime::spawn(large()));
}

#[test]
fn spawned_as_a_member_of_a_group() {
    watched(|| {
        let runtime = start();
        let handle = runtime.handle();
        let joined = runtime.spawn(async move {
            let mut group = handle.group();
            group.spawn(large());
            group.join_next().await.unwrap().unwrap()
        });
        assert_eq!(runtime.block_on(joined).unwrap(), SIZE);
    });
}

/// Calls `spawn` in a typed task, and awaits the spawned future.
#[track_caller]
fn check_in_a_task(
    spawn: impl Fn(&mut WorkerCtx<'_, (), ()>) -> JoinHandle<usize> + Send + Sync + 'static,
) {
    watched(move || {
        let (spawned, when_spawned) = channel();
        let runner = move |(), ctx: &mut WorkerCtx<'_, (), ()>| spawned.send(spawn(ctx)).unwrap();
        let executor = Executor::new(workers(1), |_worker| (), runner).unwrap();
        executor.spawn(()).unwrap();
        assert_eq!(heist_runtime::block_on(when_spawned.recv().unwrap()).unwrap(), SIZE);
    });
}

#[test]
fn spawned_by_a_task() {
    check_in_a_task(|ctx| ctx.spawn_future(large()));
}

#[test]
fn spawned_by_an_executors_handle() {
    check_in_a_task(|ctx| ctx.handle().spawn_future(large()).unwrap());
    let executor = Executor::new(workers(1), |_worker| (), |(), _ctx| {}).unwrap();
    let handle = executor.handle();
    check_on_a_thread(move || handle.spawn_future(large()).unwrap());
}

/// Calls `block_on` with a future on a thread with a stack of the default size.
#[track_caller]
fn check_blocked_on(block_on: impl FnOnce() -> usize + Send + 'static) {
    watched(|| {
        let thread = thread::Builder::new().stack_size(STACK_SIZE).spawn(block_on).unwrap();
        assert_eq!(thread.join().unwrap(), SIZE);
    });
}

#[test]
fn blocked_on() {
    check_blocked_on(|| heist_runtime::block_on(large()));
}

#[test]
fn blocked_on_by_a_runtime() {
    let runtime = start();
    check_blocked_on(move || runtime.block_on(large()));
}

/// heist boxes the future before it knows whether the runtime accepts it. (Unboxing it from the
/// error needs a larger stack.)
#[test]
fn a_large_future_that_is_refused_is_returned_intact() {
    watched(|| {
        let handle = start().handle();
        handle.shutdown();
        let is_refused = move || {
            let refused = handle.try_spawn(large()).unwrap_err();
            assert_eq!(refused.kind(), SpawnErrorKind::ShutDown);
            assert_eq!(heist_runtime::block_on(refused.into_inner()), SIZE);
            assert!(heist_runtime::block_on(handle.spawn(large())).is_err());
        };
        let thread = thread::Builder::new().stack_size(8 * STACK_SIZE).spawn(is_refused).unwrap();
        thread.join().unwrap();
    });
}
