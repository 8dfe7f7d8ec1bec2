//! Proves that an idle runtime makes no system calls: neither its workers nor its threads for
//! blocking calls.
//!
//! Context switches are counted for each thread, so other tests of this process do not disturb the
//! count. Each runtime has a name that no other test uses.

use crate::support::event::Event;
use crate::support::silence::check_silent_for;
use crate::support::{threads_named, wait_until, watched};
use heist_runtime::Runtime;
use std::time::Duration;

#[track_caller]
fn check_silent(thread_name: &str, threads_wanted: usize) {
    check_silent_for(thread_name, threads_wanted, Duration::from_secs(1));
}

/// Waiting futures and idle threads for blocking calls use no CPU.
#[test]
fn a_runtime_with_waiting_futures_is_silent_until_they_wake() {
    watched(|| {
        let runtime = Runtime::builder().threads(2).thread_name("waiting").build().unwrap();
        let event = Event::default();
        let futures: Vec<_> = (0..1_000)
            .map(|_| {
                let event = event.clone();
                runtime.spawn(async move { event.wait().await })
            })
            .collect();
        runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        wait_until("all futures wait", || event.waiting() == 1_000);
        check_silent("waiting", 2 + 1);
        event.set();
        futures.into_iter().for_each(|future| runtime.block_on(future).unwrap());
        check_silent("waiting", 2 + 1);
    });
}

#[test]
fn a_runtime_is_silent_after_its_threads_for_blocking_calls_have_ended() {
    watched(|| {
        let builder = Runtime::builder().threads(2).thread_name("left");
        let runtime = builder.blocking_keep_alive(Duration::from_millis(50)).build().unwrap();
        for call in runtime.spawn_blocking_batch([(); 10].map(|()| || ())) {
            runtime.block_on(call).unwrap();
        }
        wait_until("the threads for blocking calls have ended", || {
            threads_named("left-").len() == 2
        });
        check_silent("left", 2);
        assert_eq!(runtime.metrics().blocking_threads, 0);
    });
}
