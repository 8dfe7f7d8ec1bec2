//! How often the threads of a pool were switched: counted by the pool's own trace hooks.
//!
//! Hooks live and die on their worker's thread. So these do nothing while it works, and at its end ask the system for
//! the thread's figures. Linux only: elsewhere nothing is known.

use heist::trace::{TraceHooks, Tracer};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The switches of all workers that have ended. Clones count for the same.
#[derive(Clone, Default)]
pub(crate) struct Switches {
    counted: Arc<AtomicU64>,
    unknown: Arc<OnceLock<()>>,
}

impl Switches {
    /// How many there were, once the pools are joined.
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

/// Counts the switches of the thread on which it is dropped.
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

/// Those of its own accord, when it went to sleep, and those by which others took its core.
fn switches_of_this_thread() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let count = |key: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}
