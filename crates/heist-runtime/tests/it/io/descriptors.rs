//! Proves that building a runtime in a process without free descriptors is an error, instead of
//! timers that never fire; and that a failed attempt breaks nothing. Each test runs in its own
//! process.

use crate::support::limited::is_limited_to_descriptors;
use crate::support::{silent, watched, workers};
use heist::{Executor, StartError};
use heist_runtime::Runtime;
use heist_runtime::net::TcpListener;
use heist_runtime::time::{sleep, timeout};
use std::error::Error;
use std::fs::File;
use std::future::pending;
use std::io;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

const DESCRIPTORS_MAX: u32 = 64;

/// The system's error when a process may not open more files (`EMFILE`).
const TOO_MANY_OPEN_FILES: i32 = 24;

const MOMENT: Duration = Duration::from_millis(5);

const HOUR: Duration = Duration::from_secs(3600);

/// Opens files until the process may not open more.
fn use_up_descriptors() -> Vec<File> {
    let mut files = Vec::new();
    loop {
        match File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(TOO_MANY_OPEN_FILES), "{error}");
                return files;
            }
        }
    }
}

fn is_about_descriptors(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>().expect("the system's error");
    error.raw_os_error() == Some(TOO_MANY_OPEN_FILES)
}

#[track_caller]
fn check_timers(runtime: &Runtime) {
    let fired = runtime.spawn(async {
        sleep(MOMENT).await;
        timeout(MOMENT, pending::<()>()).await.is_err()
    });
    assert!(runtime.block_on(fired).unwrap());
}

#[test]
fn a_runtime_without_descriptors_is_an_error_and_can_be_built_later() {
    if !is_limited_to_descriptors(
        module_path!(),
        "a_runtime_without_descriptors_is_an_error_and_can_be_built_later",
        DESCRIPTORS_MAX,
    ) {
        return;
    }
    watched(|| {
        let mut files = use_up_descriptors();
        // Also with some of the descriptors that it needs, but not all.
        for _ in 0..2 {
            let error = Runtime::builder().threads(1).build().unwrap_err();
            assert!(matches!(error, StartError::Reactor(_)), "{error:?}");
            assert!(is_about_descriptors(error.source().unwrap()));
            assert!(error.to_string().contains("`ulimit -n`"), "{error}");
            files.pop();
        }
        drop(files);
        check_timers(&Runtime::builder().threads(1).build().unwrap());
    });
}

#[test]
fn timers_of_an_existing_runtime_work_without_free_descriptors() {
    if !is_limited_to_descriptors(
        module_path!(),
        "timers_of_an_existing_runtime_work_without_free_descriptors",
        DESCRIPTORS_MAX,
    ) {
        return;
    }
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let _files = use_up_descriptors();
        check_timers(&runtime);
        check_timers(&Runtime::builder().threads(1).build().unwrap());
    });
}

/// Building an executor does not start the reactor, so the first timer of one of its futures may
/// fail.
#[test]
fn a_timer_without_a_runtime_fails_without_harming_others() {
    if !is_limited_to_descriptors(
        module_path!(),
        "a_timer_without_a_runtime_fails_without_harming_others",
        DESCRIPTORS_MAX,
    ) {
        return;
    }
    watched(|| {
        let files = use_up_descriptors();
        let executor = Executor::new(silent(workers(1)), |_worker| (), |(), _ctx| {}).unwrap();
        // Long enough that it has not passed before the first poll, which would then need no timer.
        let future = executor.handle().spawn_future(sleep(HOUR)).unwrap();
        let error = heist_runtime::block_on(future).unwrap_err();
        assert!(error.to_string().contains("could not be started"), "{error}");
        let bound = heist_runtime::block_on(TcpListener::bind("127.0.0.1:0")).unwrap_err();
        assert!(bound.to_string().starts_with("could not listen on"), "{bound}");
        drop(files);
        let future = executor.handle().spawn_future(sleep(MOMENT)).unwrap();
        heist_runtime::block_on(future).unwrap();
        heist_runtime::block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        check_timers(&Runtime::builder().threads(1).build().unwrap());
    });
}

/// Another crate that uses async-io directly may end the reactor's thread; heist must detect that.
#[test]
fn a_reactor_whose_thread_has_ended_is_an_error() {
    if !is_limited_to_descriptors(
        module_path!(),
        "a_reactor_whose_thread_has_ended_is_an_error",
        DESCRIPTORS_MAX,
    ) {
        return;
    }
    watched(|| {
        // Keeps these panics off the screen, and reports the names of the panicking threads.
        let (panicked, has_panicked) = channel();
        let panicked = Mutex::new(panicked);
        std::panic::set_hook(Box::new(move |_info| {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            let _ = panicked.lock().unwrap().send(name);
        }));
        let files = use_up_descriptors();
        let timer = || async_io::block_on(async_io::Timer::after(MOMENT));
        assert!(catch_unwind(timer).is_err(), "the reactor has no descriptor");
        assert!(has_panicked.iter().any(|name| name == "async-io"), "its thread has ended");
        drop((files, std::panic::take_hook()));
        let error = Runtime::builder().threads(1).build().unwrap_err();
        assert!(error.to_string().contains("its thread has ended"), "{error}");
    });
}
