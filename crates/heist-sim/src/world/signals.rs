//! Checks on raw signal gates: which items were published, and who consumes.
//!
//! The items of one producer in one queue are numbered and must come out in that order.

use super::{World, fail};
use crate::failure::{Failure, Kind};
use crate::machine::{ThreadId, machine};
use crate::scenario::{Act, Scenario};

/// A queue behind a signal gate.
#[derive(Debug)]
struct Queue {
    /// The number of items that their producers have announced.
    announced: u64,
    consumed: u64,
    /// The next item of each actor.
    next: Vec<u64>,
    consumer: Option<ThreadId>,
    /// Two consumers that began at the same time. Reported when one of them finishes, because a
    /// consequence may show first.
    overlap: Option<(ThreadId, ThreadId)>,
}

/// All queues behind signal gates.
#[derive(Debug)]
pub(super) struct Signals {
    queues: Vec<Queue>,
    /// The number of items that will be published in all.
    items: u64,
    consumers: usize,
    /// The number of consumers that wait for a permit or have ended.
    waiting: usize,
}

impl Signals {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let acts = || scenario.actors.iter().flatten();
        let published = acts().map(|act| match act {
            Act::Publish { count, .. } => *count as u64,
            _ => 0,
        });
        let queue = || Queue {
            announced: 0,
            consumed: 0,
            next: vec![0; scenario.actors.len()],
            consumer: None,
            overlap: None,
        };
        Self {
            queues: scenario.signals.iter().map(|_| queue()).collect(),
            items: published.sum(),
            consumers: acts().filter(|act| matches!(act, Act::Consume { .. })).count(),
            waiting: 0,
        }
    }
}

impl World {
    /// Records that a producer has published and announced an item.
    pub fn announced(&mut self, queue: usize) {
        self.signals.queues[queue].announced += 1;
    }

    /// Returns whether all items that will ever be published are consumed.
    pub fn all_consumed(&self) -> bool {
        let consumed: u64 = self.signals.queues.iter().map(|queue| queue.consumed).sum();
        consumed == self.signals.items
    }

    /// Returns the number of consumers.
    pub fn gate_consumers(&self) -> usize {
        self.signals.consumers
    }

    /// Records that a consumer is about to wait for a permit, or has ended.
    pub fn gate_consumer_waits(&mut self) {
        self.signals.waiting += 1;
    }

    /// Records that a consumer has a permit.
    pub fn gate_consumer_wakes(&mut self) {
        self.signals.waiting -= 1;
    }

    /// Records that a consumer has passed a gate.
    pub fn passes_gate(&mut self, queue: usize) {
        let me = machine().thread();
        let queue = &mut self.signals.queues[queue];
        if let Some(other) = queue.consumer.replace(me) {
            queue.overlap = Some((other, me));
        }
    }

    /// Records that a consumer is about to finish.
    pub fn leaves_gate(&mut self, queue: usize) {
        let known = &mut self.signals.queues[queue];
        known.consumer = None;
        if let Some((one, other)) = known.overlap {
            let text =
                format!("threads {one} and {other} were behind gate {queue} at the same time");
            fail(Kind::TwoConsumers, text);
        }
    }

    /// Records that a consumer has taken an item of an actor.
    pub fn gate_item_consumed(&mut self, queue: usize, actor: usize, item: u64) {
        let known = &mut self.signals.queues[queue];
        let next = known.next[actor];
        if item < next {
            let text = format!("item {item} of actor {actor} came out of queue {queue} twice");
            fail(Kind::ItemTwice, text);
        } else if item > next {
            let text =
                format!("item {item} of actor {actor} came out of queue {queue} before {next}");
            fail(Kind::OutOfOrder, text);
        }
        known.next[actor] = item + 1;
        known.consumed += 1;
    }

    /// Returns a failure if an announced item waits and no consumer comes for it. Called when the
    /// machine is at rest.
    pub(super) fn unheard_at_rest(&self) -> Option<Failure> {
        let signals = &self.signals;
        let all_wait = signals.waiting == signals.consumers;
        let left = |queue: &Queue| queue.announced > queue.consumed;
        let queue = signals.queues.iter().position(left).filter(|_| all_wait)?;
        let text = format!("an item of queue {queue} was announced, but every consumer sleeps");
        Some(Failure::new(Kind::Stranded, text))
    }
}
