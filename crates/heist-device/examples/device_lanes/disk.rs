//! A simulated disk: it serves a fixed number of jobs at a time, each for the same time, and lets
//! the others wait.
//!
//! Waiting here blocks the thread, as a page fault does. The executor does not know about it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A read from the disk with this number.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) disk: usize,
}

/// The record of a job. Times are since the start of the run.
pub(crate) struct Served {
    pub(crate) job: Job,
    pub(crate) worker: usize,
    /// When a worker started the job.
    pub(crate) started: Duration,
    /// When the disk began to serve it.
    pub(crate) served: Duration,
    pub(crate) ended: Duration,
}

pub(crate) struct Disk {
    pub(crate) name: &'static str,
    /// How long the disk needs for one job.
    service: Duration,
    free: Mutex<usize>,
    freed: Condvar,
}

impl Disk {
    pub(crate) fn new(name: &'static str, service: Duration, at_a_time: usize) -> Self {
        Self { name, service, free: Mutex::new(at_a_time), freed: Condvar::new() }
    }

    /// Serves a job and returns its record.
    pub(crate) fn serve(&self, job: Job, worker: usize, began: Instant) -> Served {
        let started = began.elapsed();
        // A panic cannot leave a number half changed.
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
