//! flume and crossbeam-channel with one thread per queue, each taking single items and taking
//! batches.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::{FinishLine, QueueLoad, QueuePeer, Tally};

/// Small, because there may be a thousand threads; none of them has deep calls.
const STACK_BYTES: usize = 64 * 1024;

/// The consumers' threads, which end when the producers are dropped.
pub(crate) struct ConsumerThreads(Vec<JoinHandle<()>>);

impl Drop for ConsumerThreads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            thread.join().expect("a consumer does not panic");
        }
    }
}

/// Starts a channel and a thread for each queue.
fn start<S, R: Send + 'static>(
    load: QueueLoad,
    finish: &Arc<FinishLine>,
    channel: impl Fn() -> (S, R),
    consume: fn(R, Tally),
) -> (Vec<S>, ConsumerThreads) {
    let (senders, threads) = (0..load.queues)
        .map(|queue| {
            let (sender, receiver) = channel();
            let tally = Tally::new(load, queue, finish);
            let thread = thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || consume(receiver, tally))
                .expect("the system has threads for the benchmark");
            (sender, thread)
        })
        .unzip();
    (senders, ConsumerThreads(threads))
}

/// Defines a peer whose consumers run `$consume`.
macro_rules! channel_peer {
    ($(#[$doc:meta])* $peer:ident, $library:ident, $consume:expr) => {
        $(#[$doc])*
        pub(crate) struct $peer;

        impl QueuePeer for $peer {
            type Producer = $library::Sender<u64>;
            type Consumers = ConsumerThreads;

            fn start(
                load: QueueLoad,
                finish: &Arc<FinishLine>,
            ) -> (Vec<Self::Producer>, Self::Consumers) {
                let channel = || load.capacity.map_or_else($library::unbounded, $library::bounded);
                start(load, finish, channel, $consume)
            }

            #[inline]
            fn push(producer: &Self::Producer, item: u64) {
                producer.send(item).expect("the receiver lives as long as its senders");
            }
        }
    };
}

channel_peer!(
    /// flume, item by item.
    Flume,
    flume,
    |receiver: flume::Receiver<u64>, mut tally: Tally| {
        while let Ok(item) = receiver.recv() {
            tally.add([item]);
        }
    }
);

channel_peer!(
    /// flume, draining all available items at once.
    FlumeDrained,
    flume,
    |receiver: flume::Receiver<u64>, mut tally: Tally| {
        while let Ok(item) = receiver.recv() {
            tally.add([item].into_iter().chain(receiver.drain()));
        }
    }
);

channel_peer!(
    /// crossbeam-channel, item by item.
    Crossbeam,
    crossbeam_channel,
    |receiver: crossbeam_channel::Receiver<u64>, mut tally: Tally| {
        while let Ok(item) = receiver.recv() {
            tally.add([item]);
        }
    }
);

channel_peer!(
    /// crossbeam-channel, without waiting as long as items are available.
    CrossbeamBatched,
    crossbeam_channel,
    |receiver: crossbeam_channel::Receiver<u64>, mut tally: Tally| {
        while let Ok(item) = receiver.recv() {
            tally.add([item].into_iter().chain(receiver.try_iter()));
        }
    }
);
