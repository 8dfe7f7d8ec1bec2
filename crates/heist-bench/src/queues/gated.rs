//! heist's `GatedQueue`, consumed by tasks of an executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::heist::{Executor, GatedQueue, QueueConfig, QueueTurn};

use super::{FinishLine, QueueLoad, QueuePeer, WORKERS};

pub(crate) struct Gated;

/// The task type: runs a turn of the queue with this number.
pub(crate) struct NumberedTurn {
    queue: usize,
    turn: QueueTurn<u64>,
}

/// A consumer's running totals, kept between turns. Only one turn runs at a time, and each happens
/// after the one before it, so relaxed loads and stores are enough.
#[derive(Default)]
struct ConsumerTotals {
    expected: u64,
    consumed: AtomicU64,
    sum: AtomicU64,
}

impl QueuePeer for Gated {
    type Producer = GatedQueue<u64>;
    type Consumers = Executor<NumberedTurn>;

    fn start(load: QueueLoad, finish: &Arc<FinishLine>) -> (Vec<Self::Producer>, Self::Consumers) {
        let totals: Vec<ConsumerTotals> = (0..load.queues)
            .map(|queue| ConsumerTotals {
                expected: load.expected(queue),
                ..ConsumerTotals::default()
            })
            .collect();
        let finish = Arc::clone(finish);
        let executor = Executor::builder()
            .threads(WORKERS)
            .build(|_worker| (), move |turn, _ctx| consume(turn, &totals, &finish))
            .expect("a valid configuration, and the system has threads for the benchmark");
        let handle = executor.handle();
        let config = QueueConfig::new()
            .capacity(load.capacity.map(|capacity| capacity as u64))
            .batch(load.batch);
        let queues = (0..load.queues)
            .map(|queue| {
                GatedQueue::with_config(&handle, &config, move |turn| NumberedTurn { queue, turn })
                    .expect("a valid configuration")
            })
            .collect();
        (queues, executor)
    }

    #[inline]
    fn push(producer: &Self::Producer, item: u64) {
        producer.push(item).expect("neither the queue nor the executor is closed");
    }
}

fn consume(
    NumberedTurn { queue, turn }: NumberedTurn,
    totals: &[ConsumerTotals],
    finish: &FinishLine,
) {
    let totals = &totals[queue];
    // Update the totals item by item: as soon as `run` returns, the next turn may be running on
    // another worker.
    turn.run(|item| {
        let sum = totals.sum.load(Ordering::Relaxed) + item;
        let consumed = totals.consumed.load(Ordering::Relaxed) + 1;
        totals.sum.store(sum, Ordering::Relaxed);
        totals.consumed.store(consumed, Ordering::Relaxed);
        if consumed == totals.expected {
            finish.arrive(sum);
        }
    });
}
