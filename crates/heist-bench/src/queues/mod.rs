//! Queues with many producers and one consumer each: heist's and its common alternatives.
//!
//! A load has a number of queues, of which the first few are busy. Producers are plain threads that
//! push their items to the busy queues in turn. A consumer sums its items. The measured time is
//! from the first push until the last item is consumed; starting and ending queues, tasks and
//! threads is not part of it.

mod channels;
mod gated;
mod tokio_mpsc;

pub(crate) use channels::{Crossbeam, CrossbeamBatched, Flume, FlumeDrained};
pub(crate) use gated::Gated;
pub(crate) use tokio_mpsc::TokioMpsc;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use crate::clock::now_ns;
use crate::race::start_together;

/// Workers of the contenders that do not need a thread per queue.
const WORKERS: usize = 2;

/// The items to push, and the queues to push them to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLoad {
    pub(crate) producers: u64,
    pub(crate) items_per_producer: u64,
    pub(crate) queues: usize,
    /// Only this many queues get items; must divide `items_per_producer`.
    pub(crate) busy_queues: usize,
    pub(crate) capacity: Option<usize>,
    /// How many items heist's and tokio's consumers take at once.
    pub(crate) batch: usize,
}

impl QueueLoad {
    fn items(&self) -> u64 {
        self.producers * self.items_per_producer
    }

    /// Returns the number of items that the consumer of a queue has to wait for.
    fn expected(&self, queue: usize) -> u64 {
        if queue < self.busy_queues { self.items() / self.busy_queues as u64 } else { 0 }
    }

    /// Returns the sum of all items: every producer pushes 1, 2, 3, ...
    fn sum(&self) -> u64 {
        self.producers * (self.items_per_producer * (self.items_per_producer + 1) / 2)
    }
}

/// A queue implementation, with a consumer for each queue.
pub(crate) trait QueuePeer {
    /// The sending end of a queue.
    type Producer: Clone + Send + Sync;
    /// Owns the consumers. Must be dropped after the producers; dropping it waits for all threads
    /// to end.
    type Consumers;

    /// Starts the queues and their consumers.
    fn start(load: QueueLoad, finish: &Arc<FinishLine>) -> (Vec<Self::Producer>, Self::Consumers);

    /// Pushes an item, waiting for room if necessary.
    fn push(producer: &Self::Producer, item: u64);
}

/// Pushes the load through the queues and returns million items per second.
pub(crate) fn million_items_per_second<P: QueuePeer>(load: QueueLoad) -> f64 {
    assert!(load.items_per_producer.is_multiple_of(load.busy_queues as u64), "{load:?}");
    let finish = Arc::new(FinishLine::new(load.busy_queues));
    let (producers, consumers) = P::start(load, &finish);
    let start_ns = start_together(load.producers as usize, |_| {
        let busy = producers[..load.busy_queues].to_vec();
        let mut item = 0;
        while item < load.items_per_producer {
            for queue in &busy {
                item += 1;
                P::push(queue, item);
            }
        }
    });
    let (end_ns, sum) = finish.wait();
    assert_eq!(sum, load.sum(), "every item is consumed once");
    drop(producers);
    drop(consumers);
    load.items() as f64 * 1e3 / (end_ns - start_ns) as f64
}

/// Where the consumers of all busy queues report that they are done.
pub(crate) struct FinishLine {
    queues_left: AtomicUsize,
    sum: AtomicU64,
    /// 0 until the last consumer has arrived.
    end_ns: AtomicU64,
    waiting: Thread,
}

impl FinishLine {
    /// Creates a finish line that the calling thread waits at.
    fn new(queues: usize) -> Self {
        Self {
            queues_left: AtomicUsize::new(queues),
            sum: AtomicU64::new(0),
            end_ns: AtomicU64::new(0),
            waiting: thread::current(),
        }
    }

    /// Reports that a consumer has received all the items that it expects.
    fn arrive(&self, sum: u64) {
        self.sum.fetch_add(sum, Ordering::Relaxed);
        if self.queues_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end_ns.store(now_ns(), Ordering::Release);
            self.waiting.unpark();
        }
    }

    /// Returns when the last consumer arrived, and the sum of all items.
    fn wait(&self) -> (u64, u64) {
        loop {
            match self.end_ns.load(Ordering::Acquire) {
                0 => thread::park(),
                end_ns => return (end_ns, self.sum.load(Ordering::Relaxed)),
            }
        }
    }
}

/// What one consumer has received so far.
struct Tally {
    expected: u64,
    consumed: u64,
    sum: u64,
    finish: Arc<FinishLine>,
}

impl Tally {
    fn new(load: QueueLoad, queue: usize, finish: &Arc<FinishLine>) -> Self {
        let finish = Arc::clone(finish);
        Self { expected: load.expected(queue), consumed: 0, sum: 0, finish }
    }

    #[inline]
    fn add(&mut self, items: impl IntoIterator<Item = u64>) {
        for item in items {
            self.sum += item;
            self.consumed += 1;
        }
        if self.consumed == self.expected {
            self.finish.arrive(self.sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `million_items_per_second` itself checks that every item arrives.
    fn every_kind_gets_through(load: QueueLoad) {
        for measure in [
            million_items_per_second::<Gated>,
            million_items_per_second::<TokioMpsc>,
            million_items_per_second::<Flume>,
            million_items_per_second::<FlumeDrained>,
            million_items_per_second::<Crossbeam>,
            million_items_per_second::<CrossbeamBatched>,
        ] {
            assert!(measure(load) > 0.0);
        }
    }

    const SMALL: QueueLoad = QueueLoad {
        producers: 3,
        items_per_producer: 1000,
        queues: 1,
        busy_queues: 1,
        capacity: None,
        batch: 64,
    };

    #[test]
    fn one_unbounded_queue() {
        every_kind_gets_through(SMALL);
    }

    #[test]
    fn one_bounded_queue() {
        every_kind_gets_through(QueueLoad { capacity: Some(16), ..SMALL });
    }

    #[test]
    fn many_queues_few_of_them_busy() {
        every_kind_gets_through(QueueLoad { queues: 40, busy_queues: 10, ..SMALL });
    }
}
