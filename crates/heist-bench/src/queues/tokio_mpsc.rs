//! tokio's `mpsc`, consumed by one task per queue on a multi-thread runtime. Producers are threads,
//! so they fill bounded queues with `blocking_send`.

use std::sync::Arc;

use ::tokio::runtime::{Builder, Runtime};
use ::tokio::sync::mpsc;

use super::{FinishLine, QueueLoad, QueuePeer, Tally, WORKERS};

pub(crate) struct TokioMpsc;

#[derive(Clone)]
pub(crate) enum Sender {
    Unbounded(mpsc::UnboundedSender<u64>),
    Bounded(mpsc::Sender<u64>),
}

impl QueuePeer for TokioMpsc {
    type Producer = Sender;
    type Consumers = Runtime;

    fn start(load: QueueLoad, finish: &Arc<FinishLine>) -> (Vec<Self::Producer>, Self::Consumers) {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .build()
            .expect("the system has threads for the benchmark");
        let senders = (0..load.queues)
            .map(|queue| {
                let mut tally = Tally::new(load, queue, finish);
                let mut batch = Vec::with_capacity(load.batch);
                match load.capacity {
                    None => {
                        let (sender, mut receiver) = mpsc::unbounded_channel();
                        runtime.spawn(async move {
                            while receiver.recv_many(&mut batch, load.batch).await > 0 {
                                tally.add(batch.drain(..));
                            }
                        });
                        Sender::Unbounded(sender)
                    }
                    Some(capacity) => {
                        let (sender, mut receiver) = mpsc::channel(capacity);
                        runtime.spawn(async move {
                            while receiver.recv_many(&mut batch, load.batch).await > 0 {
                                tally.add(batch.drain(..));
                            }
                        });
                        Sender::Bounded(sender)
                    }
                }
            })
            .collect();
        (senders, runtime)
    }

    #[inline]
    fn push(producer: &Self::Producer, item: u64) {
        let sent = match producer {
            Sender::Unbounded(sender) => sender.send(item),
            Sender::Bounded(sender) => sender.blocking_send(item),
        };
        sent.expect("the receiver lives as long as its senders");
    }
}
