//! Checks on the items of queues and lanes, and on their consumers.
//!
//! An item is *in* from the moment its push has returned, unless it was consumed before. So the
//! number counted as in is never more than the real one.

use super::{Fate, World, fail};
use crate::failure::{Failure, Kind};
use crate::machine::{ThreadId, machine};
use crate::scenario::{Scenario, To};
use heist::{PushErrorKind, QueueStats};

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemFate {
    /// Its push has not returned.
    Offered,
    /// It is in the queue.
    In,
    Consumed,
    /// Dropped without being consumed.
    Dropped,
    /// Returned to its producer.
    Refused,
}

/// The producer of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producer {
    /// An actor.
    Actor(ThreadId),
    /// A task.
    Task(usize),
    /// A future on one of the pool's workers.
    Future(usize),
    /// The thread that makes room pushes the item, so its order is not known.
    MakerOfRoom,
}

impl Producer {
    /// Returns the running thread as an actor.
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
    /// The number of consumers allowed at a time. For a lane, the largest number of slots that the
    /// device ever had.
    consumers_max: usize,
    consumer: Option<ThreadId>,
    /// The number of turns that were created and have not ended.
    turns: usize,
    /// The number of items that are in.
    inside: usize,
    /// Whether a thread has begun to close the queue.
    closing: bool,
    /// Whether the queue is known to be closed.
    closed: bool,
    /// Whether closing drops the items that are in.
    drops: bool,
    /// Counts of what happened to the items.
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

/// All queues, lanes and items.
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

    /// Returns the number of items that are in.
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
    /// Adds an item.
    pub fn add_item(&mut self, to: To, producer: Producer) -> usize {
        self.items.items.push(Item { to, fate: ItemFate::Offered, producer });
        self.items.items.len() - 1
    }

    /// Returns whether pushes from outside must be refused.
    pub fn refuses_items(&self, to: To) -> bool {
        self.closed || self.items.queue(to).closed
    }

    /// Records that a push has succeeded. `must_be_refused` is the answer of `refuses_items` before
    /// the push.
    pub fn item_accepted(&mut self, item: usize, must_be_refused: bool) {
        if must_be_refused {
            let text = format!("item {item} was accepted by a closed queue or pool");
            fail(Kind::AcceptedAfterClose, text);
        }
        if self.items.items[item].fate != ItemFate::Offered {
            return;
        }
        self.items.becomes(item, ItemFate::In);
        let to = self.items.items[item].to;
        let stopped = self.stopped;
        let queue = self.items.queue_mut(to);
        // Dropping items makes room before the drops are recorded.
        let drops = stopped || queue.drops;
        // For lanes it is not known when a turn takes its job.
        let is_queue = matches!(to, To::Queue(_));
        if is_queue
            && !drops
            && queue.capacity.is_some_and(|capacity| queue.inside as u64 > capacity)
        {
            let text =
                format!("{} items are in {to:?}, which is more than its capacity", queue.inside);
            fail(Kind::OverGranted, text);
        }
        if !self.items.queue(to).drops && self.left.contains(&true) {
            let text = format!("item {item} was accepted after a worker had left");
            fail(Kind::Stranded, text);
        }
    }

    /// Records that an item was returned. `inside` says whether a task of the pool pushed it.
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

    /// Records that an item was refused because its follow-up task was refused.
    pub fn item_refused_with_its_task(&mut self, item: usize) {
        self.items.becomes(item, ItemFate::Refused);
    }

    /// Records that a consumer has received an item.
    pub fn item_consumed(&mut self, item: usize) {
        let Item { to, fate, producer } = self.items.items[item];
        if fate == ItemFate::Consumed {
            fail(Kind::ItemTwice, format!("item {item} was consumed twice"));
        }
        self.items.becomes(item, ItemFate::Consumed);
        let ordered = self.items.queue(to).consumers_max == 1 && producer != Producer::MakerOfRoom;
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

    /// Records that an item is dropped.
    pub fn item_dropped(&mut self, item: usize) {
        let Item { to, fate, .. } = self.items.items[item];
        if !matches!(fate, ItemFate::Offered | ItemFate::In) {
            return;
        }
        self.items.becomes(item, ItemFate::Dropped);
        if !self.stopped && !self.items.queue(to).drops {
            let text =
                format!("item {item} was dropped although neither queue nor pool was stopped");
            fail(Kind::DroppedForNoReason, text);
        }
    }

    /// Records that a thread is about to close a queue.
    pub fn closes_queue(&mut self, to: To, drops: bool) {
        let queue = self.items.queue_mut(to);
        queue.closing = true;
        queue.drops |= drops;
    }

    /// Records that a thread has closed a queue.
    pub fn has_closed_queue(&mut self, to: To) {
        self.items.queue_mut(to).closed = true;
    }

    /// Records that a device may have more slots from now on.
    pub(super) fn may_have_consumers(&mut self, to: To, consumers: usize) {
        let queue = self.items.queue_mut(to);
        queue.consumers_max = queue.consumers_max.max(consumers);
    }

    /// Records that a task was created for a queue's turn.
    pub(super) fn turn_made(&mut self, to: To) {
        self.items.queue_mut(to).turns += 1;
    }

    /// Records that a consumer begins with an item.
    pub fn consumer_begins(&mut self, to: To) {
        let me = machine().thread();
        if let Some(other) = self.items.queue_mut(to).consumer.replace(me) {
            let text = format!("threads {other} and {me} consume {to:?} at the same time");
            fail(Kind::TwoConsumers, text);
        }
    }

    /// Records that a consumer has finished its item.
    pub fn consumer_finishes(&mut self, to: To) {
        self.items.queue_mut(to).consumer = None;
    }

    /// Checks that no item is left when the pool was joined. Only a thread that closes a queue and
    /// drops its items may still have some.
    pub(super) fn check_items_at_join(&self) {
        let items = &self.items;
        let is_left = |item: &usize| {
            items.items[*item].fate == ItemFate::In && !items.queue(items.items[*item].to).drops
        };
        let left = (0..items.items.len()).find(is_left);
        if let Some(item) = left {
            let text = format!("the pool was joined, but item {item} is still in its queue");
            fail(Kind::Stranded, text);
        }
    }

    /// Returns a failure if an item waits and no consumer will come for it. Called when the machine
    /// is at rest.
    pub(super) fn stranded_at_rest(&self) -> Option<Failure> {
        let (to, queue) = self.items.all().find(|(to, queue)| {
            let has_room = match to {
                To::Queue(_) => true,
                To::Lane(device) => self.has_free_slot(*device),
            };
            queue.inside > 0 && queue.turns == 0 && has_room
        })?;
        let text =
            format!("{} items are in {to:?}, but no consumer will come for them", queue.inside);
        Some(Failure::new(Kind::Stranded, text))
    }

    /// Compares the queue's own counts with this record at the end of the schedule.
    pub fn check_queue(&mut self, queue: usize, left: usize, stats: QueueStats) {
        let known = &self.items.queues[queue];
        check_account(&format!("queue {queue}"), left, stats, known.consumed, known.dropped);
    }

    /// Like `check_queue`, for all lanes, which share their counts.
    pub fn check_lanes(&mut self, left: usize, stats: QueueStats) {
        let consumed = self.items.lanes.iter().map(|lane| lane.consumed).sum();
        let dropped = self.items.lanes.iter().map(|lane| lane.dropped).sum();
        check_account("the lanes", left, stats, consumed, dropped);
    }

    /// Returns whether any item is in, so that the pool must not end.
    pub(super) fn has_items(&self) -> bool {
        self.items.inside() > 0
    }

    /// Returns the number of turns of a lane that were created and have not ended. Each has a slot
    /// or had one.
    pub(super) fn turns_of_lane(&self, device: usize) -> usize {
        self.items.lanes[device].turns
    }

    /// Returns whether a turn of a lane may wait for a slot without the world seeing it.
    pub(super) fn turn_may_wait(&self) -> bool {
        (0..self.items.lanes.len()).any(|device| !self.has_free_slot(device))
    }

    /// Records that the task of a turn has ended or was dropped.
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
