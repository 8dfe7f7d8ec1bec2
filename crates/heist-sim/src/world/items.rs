//! What is known of the items in queues and lanes, and of those who consume them.
//!
//! An item is *in* from the moment its push has returned, if nobody has taken it by then. So what is counted here as
//! in is never more than what really is.

use super::{Fate, World, fail};
use crate::failure::{Failure, Kind};
use crate::machine::{ThreadId, machine};
use crate::scenario::{Scenario, To};
use heist::{PushErrorKind, QueueStats};

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemFate {
    /// Its push has not returned.
    Offered,
    /// It is in.
    In,
    Consumed,
    /// Dropped without being consumed.
    Dropped,
    /// Given back.
    Refused,
}

/// Who pushed an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producer {
    /// Somebody outside.
    Actor(ThreadId),
    /// A task.
    Task(usize),
    /// A future, on one of the pool's workers.
    Future(usize),
    /// It is pushed by whoever makes room, so it has no order.
    WhoeverMakesRoom,
}

impl Producer {
    /// Somebody outside: the running thread.
    pub fn this_actor() -> Self {
        Self::Actor(machine().thread())
    }
}

#[derive(Debug)]
struct Item {
    to: To,
    fate: ItemFate,
    producer: Producer,
}

/// A queue, or the lane of a device.
#[derive(Debug)]
struct Queue {
    capacity: Option<u64>,
    /// How many may be consumed at a time: of a lane, as many as there were ever slots.
    consumers_max: usize,
    consumer: Option<ThreadId>,
    /// Turns that were made and have not ended.
    turns: usize,
    /// Items that are in.
    inside: usize,
    /// Somebody has begun to close it.
    closing: bool,
    /// It is known to be closed.
    closed: bool,
    /// It drops what is in.
    drops: bool,
    /// What became of its items.
    consumed: u64,
    dropped: u64,
}

impl Queue {
    fn new(capacity: Option<u64>, consumers_max: usize) -> Self {
        Self {
            capacity,
            consumers_max,
            consumer: None,
            turns: 0,
            inside: 0,
            closing: false,
            closed: false,
            drops: false,
            consumed: 0,
            dropped: 0,
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Items {
    items: Vec<Item>,
    queues: Vec<Queue>,
    lanes: Vec<Queue>,
}

impl Items {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let queues = scenario.queues.iter();
        let lanes = scenario.devices.iter();
        Self {
            items: Vec::new(),
            queues: queues.map(|queue| Queue::new(queue.capacity, 1)).collect(),
            lanes: lanes.map(|device| Queue::new(scenario.lane_capacity, device.slots)).collect(),
        }
    }

    fn queue_mut(&mut self, to: To) -> &mut Queue {
        match to {
            To::Queue(queue) => &mut self.queues[queue],
            To::Lane(device) => &mut self.lanes[device],
        }
    }

    fn queue(&self, to: To) -> &Queue {
        match to {
            To::Queue(queue) => &self.queues[queue],
            To::Lane(device) => &self.lanes[device],
        }
    }

    fn all(&self) -> impl Iterator<Item = (To, &Queue)> {
        let queues = self.queues.iter().enumerate().map(|(index, queue)| (To::Queue(index), queue));
        let lanes = self.lanes.iter().enumerate().map(|(index, lane)| (To::Lane(index), lane));
        queues.chain(lanes)
    }

    /// How many are in.
    pub(super) fn inside(&self) -> usize {
        self.all().map(|(_, queue)| queue.inside).sum()
    }

    fn becomes(&mut self, item: usize, fate: ItemFate) {
        let to = self.items[item].to;
        let before = std::mem::replace(&mut self.items[item].fate, fate);
        let queue = self.queue_mut(to);
        queue.inside -= usize::from(before == ItemFate::In);
        queue.inside += usize::from(fate == ItemFate::In);
        queue.consumed += u64::from(fate == ItemFate::Consumed);
        queue.dropped += u64::from(fate == ItemFate::Dropped);
    }
}

impl World {
    /// Makes an item.
    pub fn add_item(&mut self, to: To, producer: Producer) -> usize {
        self.items.items.push(Item { to, fate: ItemFate::Offered, producer });
        self.items.items.len() - 1
    }

    /// Whether pushes from outside must be refused.
    pub fn refuses_items(&self, to: To) -> bool {
        self.closed || self.items.queue(to).closed
    }

    /// An item's push has succeeded. `must_be_refused`: that was known before it was tried.
    pub fn item_accepted(&mut self, item: usize, must_be_refused: bool) {
        if must_be_refused {
            let text = format!("item {item} was accepted by a queue or a pool that was closed");
            fail(Kind::AcceptedAfterClose, text);
        }
        if self.items.items[item].fate != ItemFate::Offered {
            return;
        }
        self.items.becomes(item, ItemFate::In);
        let to = self.items.items[item].to;
        let stopped = self.stopped;
        let queue = self.items.queue_mut(to);
        // What is dropped makes room first.
        let drops = stopped || queue.drops;
        // Nor is it known when a lane's turn takes its job.
        let is_queue = matches!(to, To::Queue(_));
        if is_queue
            && !drops
            && queue.capacity.is_some_and(|capacity| queue.inside as u64 > capacity)
        {
            let text = format!("{} items are in {to:?}, which is more than it holds", queue.inside);
            fail(Kind::OverGranted, text);
        }
        if !self.items.queue(to).drops && self.left.contains(&true) {
            let text = format!("item {item} was accepted, and a worker had left already");
            fail(Kind::Stranded, text);
        }
    }

    /// An item was given back. `inside`: to a task of the pool.
    pub fn item_refused(&mut self, item: usize, why: PushErrorKind, inside: bool) {
        self.items.becomes(item, ItemFate::Refused);
        let to = self.items.items[item].to;
        let queue = self.items.queue_mut(to);
        let (bounded, closing) = (queue.capacity.is_some(), queue.closing);
        let has_a_reason = match why {
            PushErrorKind::Full => bounded,
            PushErrorKind::OnWorker => bounded && inside,
            PushErrorKind::Closed => closing,
            PushErrorKind::Executor(_) => !inside && (self.joining || self.stopped),
            PushErrorKind::Stopped => self.stopped,
            _ => false,
        };
        if !has_a_reason {
            let text = format!("item {item} was refused by {to:?}: {why}");
            fail(Kind::RefusedForNoReason, text);
        }
    }

    /// The task that an item was to be followed by was refused, and the item with it.
    pub fn item_refused_with_its_task(&mut self, item: usize) {
        self.items.becomes(item, ItemFate::Refused);
    }

    /// A consumer has an item in its hands.
    pub fn item_consumed(&mut self, item: usize) {
        let Item { to, fate, producer } = self.items.items[item];
        if fate == ItemFate::Consumed {
            fail(Kind::ItemTwice, format!("item {item} was consumed twice"));
        }
        self.items.becomes(item, ItemFate::Consumed);
        let ordered =
            self.items.queue(to).consumers_max == 1 && producer != Producer::WhoeverMakesRoom;
        let overtaken = self.items.items[..item].iter().position(|earlier| {
            earlier.to == to && earlier.producer == producer && earlier.fate == ItemFate::In
        });
        if let (true, Some(earlier)) = (ordered, overtaken) {
            let text = format!("item {item} came out of {to:?} before item {earlier}");
            fail(Kind::OutOfOrder, text);
        }
        if self.joined {
            fail(Kind::Stranded, format!("item {item} was consumed after the pool was joined"));
        }
    }

    /// An item is dropped.
    pub fn item_dropped(&mut self, item: usize) {
        let Item { to, fate, .. } = self.items.items[item];
        if !matches!(fate, ItemFate::Offered | ItemFate::In) {
            return;
        }
        self.items.becomes(item, ItemFate::Dropped);
        if !self.stopped && !self.items.queue(to).drops {
            let text = format!("item {item} was dropped, and nobody had stopped anything");
            fail(Kind::DroppedForNoReason, text);
        }
    }

    /// Somebody is about to close a queue.
    pub fn closes_queue(&mut self, to: To, drops: bool) {
        let queue = self.items.queue_mut(to);
        queue.closing = true;
        queue.drops |= drops;
    }

    /// Somebody has closed a queue.
    pub fn has_closed_queue(&mut self, to: To) {
        self.items.queue_mut(to).closed = true;
    }

    /// A device may have more slots from now on.
    pub(super) fn may_have_consumers(&mut self, to: To, consumers: usize) {
        let queue = self.items.queue_mut(to);
        queue.consumers_max = queue.consumers_max.max(consumers);
    }

    /// A task was made of a queue's turn.
    pub(super) fn turn_made(&mut self, to: To) {
        self.items.queue_mut(to).turns += 1;
    }

    /// A consumer has an item in hands.
    pub fn consumer_begins(&mut self, to: To) {
        let me = machine().thread();
        if let Some(other) = self.items.queue_mut(to).consumer.replace(me) {
            let text = format!("{to:?} is consumed by threads {other} and {me} at the same time");
            fail(Kind::TwoConsumers, text);
        }
    }

    /// It has done with it.
    pub fn consumer_finishes(&mut self, to: To) {
        self.items.queue_mut(to).consumer = None;
    }

    /// The pool was joined: everything must have come out. Only whoever closes a queue and drops what is in it may have
    /// something in hands.
    pub(super) fn check_items_at_join(&self) {
        let items = &self.items;
        let is_left = |item: &usize| {
            items.items[*item].fate == ItemFate::In && !items.queue(items.items[*item].to).drops
        };
        let left = (0..items.items.len()).find(is_left);
        if let Some(item) = left {
            let text = format!("the pool was joined, and item {item} is still in its queue");
            fail(Kind::Stranded, text);
        }
    }

    /// Nobody is inside the code under test. Does anything wait that nobody will come for?
    pub(super) fn stranded_at_rest(&self) -> Option<Failure> {
        let (to, queue) = self.items.all().find(|(to, queue)| {
            let has_room = match to {
                To::Queue(_) => true,
                To::Lane(device) => self.has_free_slot(*device),
            };
            queue.inside > 0 && queue.turns == 0 && has_room
        })?;
        let text = format!("{} items are in {to:?}, and nobody will come for them", queue.inside);
        Some(Failure::new(Kind::Stranded, text))
    }

    /// Everything is over: does the queue's own account agree?
    pub fn check_queue(&mut self, queue: usize, left: usize, stats: QueueStats) {
        let known = &self.items.queues[queue];
        check_account(&format!("queue {queue}"), left, stats, known.consumed, known.dropped);
    }

    /// The same for all lanes, which have one account.
    pub fn check_lanes(&mut self, left: usize, stats: QueueStats) {
        let consumed = self.items.lanes.iter().map(|lane| lane.consumed).sum();
        let dropped = self.items.lanes.iter().map(|lane| lane.dropped).sum();
        check_account("the lanes", left, stats, consumed, dropped);
    }

    /// The items that are in, whatever has become of their turns: the pool must not end.
    pub(super) fn has_items(&self) -> bool {
        self.items.inside() > 0
    }

    /// Turns of a lane that were made and have not ended. Each has a slot, or had one.
    pub(super) fn turns_of_lane(&self, device: usize) -> usize {
        self.items.lanes[device].turns
    }

    /// A turn of a lane may wait for a slot without the world knowing of it.
    pub(super) fn turn_may_wait(&self) -> bool {
        (0..self.items.lanes.len()).any(|device| !self.has_free_slot(device))
    }

    /// A turn's task has ended, or was dropped.
    pub(super) fn note_turn_over(&mut self, job: usize) {
        if let Some(to) = self.jobs[job].turn_of.take() {
            debug_assert!(matches!(self.jobs[job].fate, Fate::Ended | Fate::Dropped));
            self.items.queue_mut(to).turns -= 1;
        }
    }
}

fn check_account(whose: &str, left: usize, stats: QueueStats, consumed: u64, dropped: u64) {
    if left > 0 {
        fail(Kind::Stranded, format!("{left} items are left in {whose} at the end"));
    }
    let figures = [
        ("consumed", stats.consumed, consumed),
        ("dropped", stats.dropped, dropped),
        ("pushed", stats.pushed, consumed + dropped),
    ];
    for (what, counted, expected) in figures {
        if counted != expected {
            let text = format!("{whose}, {what}: {counted} counted, but there were {expected}");
            fail(Kind::MetricsWrong, text);
        }
    }
}
