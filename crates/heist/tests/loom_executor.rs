//! The whole pool under loom: real workers, real queues' publication order, real shared state.
#![cfg(heist_loom)]

mod loom_support;

use heist::sync::plant::Plant;
use loom_support::{Rendezvous, Tally, check, config, must_fail, start};

/// One worker, one task from outside, then `join`.
fn push_against_park() {
    let ran = Tally::default();
    let (shared, threads) = start(&config(1), {
        let ran = ran.clone();
        move |_, ()| ran.add()
    });
    shared.spawn(()).unwrap();
    shared.close();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(ran.get(), 1);
}

#[test]
fn a_push_against_a_parking_worker() {
    check(push_against_park);
}

#[test]
fn join_on_an_idle_pool() {
    check(|| {
        let (shared, threads) = start(&config(2), |_, ()| {});
        shared.close();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Two workers, two tasks from outside that can only end together.
fn two_tasks_need_two_workers() {
    let meeting = Rendezvous::new(2);
    let (shared, threads) = start(&config(2), move |_, ()| meeting.meet());
    shared.spawn(()).unwrap();
    shared.spawn(()).unwrap();
    shared.close();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn two_pushes_against_two_parking_workers() {
    check(two_tasks_need_two_workers);
}

/// One root spawns a child locally and waits for it: somebody else has to be awake to steal it.
fn a_local_child_needs_a_thief() {
    let meeting = Rendezvous::new(2);
    let (shared, threads) = start(&config(2), move |worker, depth: u32| {
        if depth > 0 {
            worker.spawn_local(depth - 1);
        }
        meeting.meet();
    });
    shared.spawn(1).unwrap();
    shared.close();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_local_push_against_a_parking_worker() {
    check(a_local_child_needs_a_thief);
}

#[test]
fn bites_no_light_fence() {
    must_fail(Plant::NoLightFence, 2, push_against_park);
}

#[test]
fn bites_no_heavy_fence() {
    must_fail(Plant::NoHeavyFence, 2, push_against_park);
}

#[test]
fn bites_no_look_after_bit() {
    must_fail(Plant::NoLookAfterBit, 2, push_against_park);
}

#[test]
fn bites_last_searcher_silent() {
    must_fail(Plant::LastSearcherSilent, 2, two_tasks_need_two_workers);
}
