//! What the tests of gated queues, budgets and lanes share: consumers over a pool of jobs, items
//! that say when they end, a log, and a hand-made waker.

use super::sync::Mutex;
use super::{Job, Runs, check_all_run, check_finished, job};
use heist::{MetricsSnapshot, QueueTurn};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Makes the job that consumes a queue: `each` gets every item of a turn.
pub(crate) fn consumed_by<T: Send + 'static>(
    each: impl Fn(T) + Send + Sync + 'static,
) -> impl Fn(QueueTurn<T>) -> Job + Send + Sync + 'static {
    let each = Arc::new(each);
    move |turn| {
        let each = Arc::clone(&each);
        job(move |_ctx| {
            turn.run(|item| each(item));
        })
    }
}

/// [`check_finished`], for a pool that ended `others` tasks besides those that consumed. (A task
/// takes one turn after the other while nothing else waits for its worker, so there may be fewer
/// tasks than turns.)
#[track_caller]
pub(crate) fn check_finished_with_turns(metrics: &MetricsSnapshot, others: u64, turns: u64) {
    let ended = metrics.tasks_ended();
    let consumers = ended.checked_sub(others).expect("the others have ended");
    assert!(consumers <= turns && (consumers > 0) == (turns > 0), "{turns} turns: {metrics}");
    check_finished(metrics, ended);
}

/// [`check_finished_with_turns`], for a pool in which every task was run and none panicked.
#[track_caller]
pub(crate) fn check_all_run_with_turns(metrics: &MetricsSnapshot, others: u64, turns: u64) {
    check_finished_with_turns(metrics, others, turns);
    check_all_run(metrics, metrics.tasks_ended());
}

/// An item that counts its end.
pub(crate) struct Tracked {
    pub(crate) number: usize,
    ends: Arc<Runs>,
}

impl Tracked {
    pub(crate) fn new(number: usize, ends: &Arc<Runs>) -> Self {
        Self { number, ends: Arc::clone(ends) }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.ends.count(self.number);
    }
}

/// What happened, in order. Clones are the same log.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Vec::new())))
    }
}

impl<T: Clone> Log<T> {
    pub(crate) fn add(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn entries(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

/// A waker that counts how often it was woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

impl Wakes {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn poll<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(self));
        future.poll(&mut Context::from_waker(&waker))
    }
}
