//! Data races that are here on purpose: `ci/tsan.sh` runs them first and requires that
//! ThreadSanitizer reports each. A sanitizer that is not linked in, or suppressions that are too
//! wide, would let them pass.
//!
//! A program of its own, because it must fail.
#![cfg(heist_tsan)]

use heist::{ExecutorConfig, WorkerCtx};
use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// A counter that is shared without any order.
struct Racy(UnsafeCell<u64>);

// SAFETY: deliberately wrong. Two threads write the value at once, which is the race that must be
// reported; a `u64` that is torn or stale does no harm, because nothing depends on it.
unsafe impl Sync for Racy {}

impl Racy {
    /// Slowly, so that the two are at it at the same time.
    fn add_often(&self) {
        for _ in 0..50 {
            // SAFETY: deliberately wrong, as above.
            unsafe { *self.0.get() += 1 };
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Two plain threads.
#[test]
fn two_threads_race() {
    let racy = Racy(UnsafeCell::new(0));
    let both = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                both.wait();
                racy.add_often();
            });
        }
    });
}

/// Tasks of a pool that touch the same value: nothing in the pool's own protocols may hide it.
#[test]
fn two_tasks_race() {
    let racy = Racy(UnsafeCell::new(0));
    let racy = &racy;
    let both = Barrier::new(2);
    let config = ExecutorConfig::new(2);
    let runner = |(), _: &mut WorkerCtx<'_, (), ()>| {
        both.wait();
        racy.add_often();
    };
    heist::run(config, [(), ()], |_worker| (), runner).unwrap();
}
