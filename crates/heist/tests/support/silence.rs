//! Counts voluntary context switches. The threads of an idle pool make none.
#![cfg(target_os = "linux")]

use super::threads_named;
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// Returns the number of voluntary context switches of each thread of this process, except the
/// calling one.
pub(crate) fn context_switches_of_others() -> BTreeMap<String, u64> {
    let mut switches = context_switches("");
    let this = std::fs::read_link("/proc/thread-self").expect("/proc is mounted");
    let this = this.file_name().and_then(|thread| thread.to_str()).expect("a number");
    switches.remove(this).expect("this thread is one of them");
    switches
}

/// Returns the number of voluntary context switches of each thread whose name starts with this.
pub(crate) fn context_switches(thread_name: &str) -> BTreeMap<String, u64> {
    threads_named(thread_name)
        .into_iter()
        .map(|thread| {
            let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status"));
            let status = status.expect("a worker's thread lives as long as its pool");
            let switches =
                status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            (thread, switches.expect("Linux tells").trim().parse().expect("a number"))
        })
        .collect()
}

/// Waits until all workers sleep, that is, until their counts have not changed for a while.
pub(crate) fn settle(thread_name: &str) -> BTreeMap<String, u64> {
    let mut before = context_switches(thread_name);
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = context_switches(thread_name);
        if now == before {
            return now;
        }
        before = now;
    }
}

/// Requires that no other thread of the process makes a context switch during `time`. Returns the
/// number of those threads.
#[track_caller]
pub(crate) fn check_process_silent_for(time: Duration) -> usize {
    let mut before = context_switches_of_others();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = context_switches_of_others();
        if now == before {
            break;
        }
        before = now;
    }
    thread::sleep(time);
    assert_eq!(context_switches_of_others(), before, "context switches of an idle process");
    before.len()
}

/// Requires that the threads of the pool make no context switch during `time`.
#[track_caller]
pub(crate) fn check_silent_for(thread_name: &str, workers_wanted: usize, time: Duration) {
    let before = settle(thread_name);
    assert_eq!(before.len(), workers_wanted, "threads found by their name");
    thread::sleep(time);
    assert_eq!(context_switches(thread_name), before, "context switches of an idle pool");
}
