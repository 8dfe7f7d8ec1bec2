//! Counts the context switches of a pool's threads, with trace hooks.
//!
//! Hooks are created and dropped on their worker's thread. These do nothing while the worker runs,
//! and read the thread's counters when they are dropped. This works only on Linux; on other systems
//! the number is unknown.

use heist::trace::{TraceHooks, Tracer};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The context switches of all workers that have ended. Clones add to the same count.
#[derive(Clone, Default)]
pub(crate) struct Switches {
    counted: Arc<AtomicU64>,
    unknown: Arc<OnceLock<()>>,
}

impl Switches {
    /// Returns the number of switches, once the pools are joined.
    pub(crate) fn get(&self) -> Option<u64> {
        let known = self.unknown.get().is_none();
        known.then(|| self.counted.load(Ordering::Relaxed))
    }
}

impl Tracer for Switches {
    type Hooks = AtThreadsEnd;

    fn worker(&self, _worker: usize) -> AtThreadsEnd {
        AtThreadsEnd(self.clone())
    }
}

/// Counts the context switches of the thread on which it is dropped.
pub(crate) struct AtThreadsEnd(Switches);

impl TraceHooks for AtThreadsEnd {}

impl Drop for AtThreadsEnd {
    fn drop(&mut self) {
        match switches_of_this_thread() {
            Some(switches) => {
                self.0.counted.fetch_add(switches, Ordering::Relaxed);
            }
            None => {
                self.0.unknown.get_or_init(|| ());
            }
        }
    }
}

/// Returns the switches when the thread went to sleep, plus those when other threads took its core.
fn switches_of_this_thread() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let count = |key: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}
