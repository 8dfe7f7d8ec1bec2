//! heist's `GatedQueue`, consumed by tasks of an executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::heist::{Executor, GatedQueue, QueueConfig, QueueTurn};

use super::{FinishLine, QueueLoad, QueuePeer, WORKERS};

pub(crate) struct Gated;

/// A turn of the queue with this number.
pub(crate) struct Turn {
    queue: usize,
    turn: QueueTurn<u64>,
}

/// What a queue's consumer keeps from turn to turn. Only one turn runs at a time, and each has all that the one before
/// did: plain loads and stores are enough.
#[derive(Default)]
struct Kept {
    expected: u64,
    consumed: AtomicU64,
    sum: AtomicU64,
}

impl QueuePeer for Gated {
    type Producer = GatedQueue<u64>;
    type Consumers = Executor<Turn>;

    fn start(load: QueueLoad, finish: &Arc<FinishLine>) -> (Vec<Self::Producer>, Self::Consumers) {
        let kept: Vec<Kept> = (0..load.queues)
            .map(|queue| Kept { expected: load.expected(queue), ..Kept::default() })
            .collect();
        let finish = Arc::clone(finish);
        let executor = Executor::builder()
            .workers(WORKERS)
            .build(|_worker| (), move |turn, _ctx| consume(turn, &kept, &finish))
            .expect("a valid configuration, and the system has threads for the benchmark");
        let handle = executor.handle();
        let config = QueueConfig {
            capacity: load.capacity.map(|capacity| capacity as u64),
            batch: load.batch,
        };
        let queues = (0..load.queues)
            .map(|queue| {
                GatedQueue::with_config(&handle, &config, move |turn| Turn { queue, turn })
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

fn consume(Turn { queue, turn }: Turn, kept: &[Kept], finish: &FinishLine) {
    let kept = &kept[queue];
    // Item by item into the kept values: when `run` returns, the next turn may be running elsewhere.
    turn.run(|item| {
        let sum = kept.sum.load(Ordering::Relaxed) + item;
        let consumed = kept.consumed.load(Ordering::Relaxed) + 1;
        kept.sum.store(sum, Ordering::Relaxed);
        kept.consumed.store(consumed, Ordering::Relaxed);
        if consumed == kept.expected {
            finish.arrive(sum);
        }
    });
}
