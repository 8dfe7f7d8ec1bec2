//! Queues with many producers and one consumer each: heist's, and what people use instead.
//!
//! A load has some queues, of which the first few are busy. Producers are plain threads, as many as asked for; each
//! gives its items to the busy queues in turn. A consumer adds its items up. The time is from the first push until the
//! last item was consumed; starting and ending queues, tasks and threads is outside of it.

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

/// Worker threads of those who need no thread for each queue.
const WORKERS: usize = 2;

/// What is to be pushed, and into how many queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLoad {
    pub(crate) producers: u64,
    pub(crate) items_per_producer: u64,
    pub(crate) queues: usize,
    /// The first so many queues get items; the number must divide a producer's items.
    pub(crate) busy_queues: usize,
    pub(crate) capacity: Option<usize>,
    /// How many items heist's and tokio's consumers take at once.
    pub(crate) batch: usize,
}

impl QueueLoad {
    fn items(&self) -> u64 {
        self.producers * self.items_per_producer
    }

    /// How many items the consumer of a queue has to wait for.
    fn expected(&self, queue: usize) -> u64 {
        if queue < self.busy_queues { self.items() / self.busy_queues as u64 } else { 0 }
    }

    /// Every producer pushes 1, 2, 3, ...
    fn sum(&self) -> u64 {
        self.producers * (self.items_per_producer * (self.items_per_producer + 1) / 2)
    }
}

/// A kind of queue, with a consumer for each.
pub(crate) trait QueuePeer {
    /// The end of a queue that items go into.
    type Producer: Clone + Send + Sync;
    /// What the consumers live in. To be dropped after the producers; waits for all threads to end.
    type Consumers;

    /// Starts the queues and their consumers.
    fn start(load: QueueLoad, finish: &Arc<FinishLine>) -> (Vec<Self::Producer>, Self::Consumers);

    /// Pushes, after waiting for room if need be.
    fn push(producer: &Self::Producer, item: u64);
}

/// Pushes the load through a kind of queue; in million items per second.
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

/// Where the consumers of all busy queues arrive.
pub(crate) struct FinishLine {
    queues_left: AtomicUsize,
    sum: AtomicU64,
    /// 0 until the last has arrived.
    end_ns: AtomicU64,
    waiting: Thread,
}

impl FinishLine {
    /// For the calling thread to wait at.
    fn new(queues: usize) -> Self {
        Self {
            queues_left: AtomicUsize::new(queues),
            sum: AtomicU64::new(0),
            end_ns: AtomicU64::new(0),
            waiting: thread::current(),
        }
    }

    /// A consumer has consumed all that it expected.
    fn arrive(&self, sum: u64) {
        self.sum.fetch_add(sum, Ordering::Relaxed);
        if self.queues_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end_ns.store(now_ns(), Ordering::Release);
            self.waiting.unpark();
        }
    }

    /// When the last arrived, and the sum of all items.
    fn wait(&self) -> (u64, u64) {
        loop {
            match self.end_ns.load(Ordering::Acquire) {
                0 => thread::park(),
                end_ns => return (end_ns, self.sum.load(Ordering::Relaxed)),
            }
        }
    }
}

/// What one consumer has consumed.
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

    /// The function itself checks that every item arrives.
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
