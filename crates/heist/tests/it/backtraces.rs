//! Proves that the backtrace of a panicking task names the function that panicked, and leaves out
//! how the worker was started.
//!
//! The panic hook writes to stderr, so the panic happens in a process of its own: this program,
//! started again.

use crate::support::path_of;
use heist::{Executor, ExecutorConfig, OnPanic};
use std::process::Command;

/// Set in the process that panics.
const PANICS_HERE: &str = "HEIST_TEST_PANICS_HERE";

#[inline(never)]
fn the_function_that_panics(task: u32) {
    assert_ne!(task, 1, "as planned");
}

fn panic_in_a_task_and_in_a_future() {
    let config = ExecutorConfig::new(1).on_panic(OnPanic::Isolate);
    let executor = Executor::new(
        config,
        |_worker| (),
        |task: u32, _ctx| the_function_that_panics(std::hint::black_box(task)),
    )
    .unwrap();
    executor.spawn(1).unwrap();
    let future = async { the_function_that_panics(std::hint::black_box(1)) };
    drop(executor.handle().spawn_future(future).unwrap());
    executor.join();
}

#[test]
fn a_backtrace_ends_where_the_worker_begins() {
    if std::env::var_os(PANICS_HERE).is_some() {
        return panic_in_a_task_and_in_a_future();
    }
    let test = path_of(module_path!(), "a_backtrace_ends_where_the_worker_begins");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(PANICS_HERE, "1")
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let backtraces: Vec<&str> = text.split("stack backtrace:").skip(1).collect();
    assert_eq!(backtraces.len(), 2, "of a task and of a future: {text}");
    for backtrace in backtraces {
        assert!(backtrace.contains("the_function_that_panics"), "{backtrace}");
        for frame in ["ThreadPlan", "executor::pool", "std::thread"] {
            assert!(!backtrace.contains(frame), "{frame} in {backtrace}");
        }
    }
}
