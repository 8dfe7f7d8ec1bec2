//! The hand-written pool: threads that share one unbounded channel, and a counter of tasks in
//! flight that tells when all are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::{Parker, Unparker};

use super::{Completed, Peer, Pool};
use crate::clock::Span;
use crate::workload::{Load, SpawnChild, Task, perform};

pub(crate) struct Channel {
    pub(crate) workers: usize,
}

impl Peer for Channel {
    fn name(&self) -> &str {
        "channel"
    }

    fn start(&self) -> Box<dyn Pool> {
        let (sender, receiver) = unbounded();
        let all_done = Parker::new();
        let in_flight = Arc::new(CachePadded::new(AtomicUsize::new(0)));
        let producer = Producer { sender, in_flight };
        let threads = (0..self.workers)
            .map(|_| {
                let receiver = receiver.clone();
                let producer = producer.clone();
                let unparker = all_done.unparker().clone();
                thread::spawn(move || work(&receiver, producer, &unparker))
            })
            .collect();
        Box::new(ChannelPool { producer, all_done, threads })
    }
}

enum Message {
    Run(Task),
    /// Ends a worker. The channel never disconnects by itself, because workers hold senders.
    Stop,
}

#[derive(Clone)]
struct Producer {
    sender: Sender<Message>,
    in_flight: Arc<CachePadded<AtomicUsize>>,
}

impl SpawnChild for Producer {
    #[inline(always)]
    fn spawn_child(&mut self, task: Task) {
        self.send(task);
    }
}

impl Producer {
    #[inline]
    fn send(&self, task: Task) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.sender.send(Message::Run(task)).expect("the pool holds a receiver");
    }
}

fn work(receiver: &Receiver<Message>, mut producer: Producer, all_done: &Unparker) {
    while let Ok(Message::Run(task)) = receiver.recv() {
        perform(task, &mut producer);
        if producer.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            all_done.unpark();
        }
    }
}

struct ChannelPool {
    producer: Producer,
    all_done: Parker,
    threads: Vec<JoinHandle<()>>,
}

impl Pool for ChannelPool {
    fn spawn(&self, task: Task) {
        self.producer.send(task);
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let span = Span::of(|| {
            load.feed(|task| self.producer.send(task));
            // A loop, because the workers may have caught up in between and left an unpark token.
            while self.producer.in_flight.load(Ordering::Acquire) != 0 {
                self.all_done.park();
            }
        });
        Completed { span, pool: Some(self) }
    }
}

impl Drop for ChannelPool {
    fn drop(&mut self) {
        for _ in &self.threads {
            let _ = self.producer.sender.send(Message::Stop);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
