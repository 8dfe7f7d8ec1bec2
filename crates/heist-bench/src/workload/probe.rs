//! Where tasks leave their time stamps.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use crate::clock::now_ns;

/// Time stamps of tasks, and the thread that waits for them.
///
/// Tasks are `Copy` and refer to the probe by a `'static` reference, so it is never freed: a case
/// creates one and uses it for all its samples.
#[derive(Debug)]
pub(crate) struct Probe {
    /// 0: not started yet.
    started_ns: AtomicU64,
    last_end_ns: AtomicU64,
    ends: AtomicU64,
    owner: Thread,
}

impl Probe {
    /// Creates a probe that belongs to the calling thread for the rest of the process.
    pub(crate) fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            started_ns: AtomicU64::new(0),
            last_end_ns: AtomicU64::new(0),
            ends: AtomicU64::new(0),
            owner: thread::current(),
        }))
    }

    /// Clears all stamps. No task may use the probe meanwhile.
    pub(crate) fn reset(&self) {
        self.started_ns.store(0, Ordering::Relaxed);
        self.last_end_ns.store(0, Ordering::Relaxed);
        self.ends.store(0, Ordering::Relaxed);
    }

    pub(super) fn report_start(&self) {
        // The stamp comes before the owner's wake-up, so that the cost of the latter is not
        // measured.
        self.started_ns.store(now_ns(), Ordering::Release);
        self.owner.unpark();
    }

    pub(super) fn report_end(&self) {
        self.last_end_ns.fetch_max(now_ns(), Ordering::Relaxed);
        self.ends.fetch_add(1, Ordering::Release);
    }

    /// Blocks the owner until a task has started, and returns that task's stamp.
    pub(crate) fn wait_for_start(&self) -> u64 {
        loop {
            let started_ns = self.started_ns.load(Ordering::Acquire);
            if started_ns != 0 {
                return started_ns;
            }
            thread::park();
        }
    }

    /// Returns the latest end and the number of ends so far.
    pub(crate) fn ends(&self) -> (u64, u64) {
        let ends = self.ends.load(Ordering::Acquire);
        (self.last_end_ns.load(Ordering::Relaxed), ends)
    }
}
