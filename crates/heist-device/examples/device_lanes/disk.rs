//! A disk that does not exist: it serves so many jobs at a time, each for the same while, and lets the others wait.
//!
//! Waiting here blocks the thread, as a page fault does. Nothing in the executor knows of it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A read, by the number of its disk.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) disk: usize,
}

/// What became of a job. Times are since the run began.
pub(crate) struct Served {
    pub(crate) job: Job,
    pub(crate) worker: usize,
    /// A worker took it up.
    pub(crate) started: Duration,
    /// The disk turned to it.
    pub(crate) served: Duration,
    pub(crate) ended: Duration,
}

pub(crate) struct Disk {
    pub(crate) name: &'static str,
    /// How long one job takes.
    service: Duration,
    free: Mutex<usize>,
    freed: Condvar,
}

impl Disk {
    pub(crate) fn new(name: &'static str, service: Duration, at_a_time: usize) -> Self {
        Self { name, service, free: Mutex::new(at_a_time), freed: Condvar::new() }
    }

    /// Does a job, and says when what happened.
    pub(crate) fn serve(&self, job: Job, worker: usize, began: Instant) -> Served {
        let started = began.elapsed();
        // A number cannot be left half changed by a panic.
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        let served = began.elapsed();
        thread::sleep(self.service);
        let ended = began.elapsed();
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.freed.notify_one();
        Served { job, worker, started, served, ended }
    }
}
