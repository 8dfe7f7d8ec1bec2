//! Raw signal gates, used by threads as producers and consumers, with the simplest queues that
//! work.
//!
//! A queue has one ring per actor, written with plain stores: only the gate orders them. So a store
//! that arrives late shows whether the gate fails to order it.

use super::equipment::equipment;
use crate::failure::Kind;
use crate::machine::machine;
use crate::scenario::{Act, Scenario};
use crate::world::{World, fail, world};
use heist::__internal::sync::{Arc, AtomicU64, Ordering};
use heist::signal::{SignalGate, SignalIndexError, SignalWaker};

/// The items of one actor in one queue, with room for all of them.
struct Ring {
    items: Vec<AtomicU64>,
    pushed: AtomicU64,
    popped: AtomicU64,
}

impl Ring {
    fn new(room: usize) -> Self {
        let empty = || AtomicU64::new(u64::MAX);
        Self {
            items: (0..room).map(|_| empty()).collect(),
            pushed: AtomicU64::new(0),
            popped: AtomicU64::new(0),
        }
    }

    fn push(&self) {
        let number = self.pushed.load(Ordering::Relaxed);
        self.items[number as usize].store(number, Ordering::Relaxed);
        self.pushed.store(number + 1, Ordering::Release);
    }

    fn pop(&self) -> Option<u64> {
        let number = self.popped.load(Ordering::Relaxed);
        if number >= self.pushed.load(Ordering::Acquire) {
            return None;
        }
        let item = self.items[number as usize].load(Ordering::Relaxed);
        self.popped.store(number + 1, Ordering::Release);
        Some(item)
    }
}

struct Queue {
    gate: SignalGate,
    /// The rings by actor.
    rings: Vec<Ring>,
}

/// All queues, and the waker that consumers listen to.
pub(super) struct Signals {
    waker: Arc<SignalWaker>,
    queues: Vec<Queue>,
}

impl Signals {
    pub(super) fn new(scenario: &Scenario) -> Result<Option<Self>, SignalIndexError> {
        // A waker has many words, and most scenarios do not need one.
        if scenario.signals.is_empty() {
            return Ok(None);
        }
        let waker = SignalWaker::new();
        let queue = |(index, place): (usize, &usize)| {
            let room = |acts: &Vec<Act>| {
                let published = acts.iter().map(|act| match act {
                    Act::Publish { queue, count } if *queue == index => *count,
                    _ => 0,
                });
                Ring::new(published.sum())
            };
            let rings = scenario.actors.iter().map(room).collect();
            Ok(Queue { gate: SignalGate::new(Arc::clone(&waker), *place)?, rings })
        };
        let queues = scenario.signals.iter().enumerate().map(queue).collect::<Result<_, _>>()?;
        Ok(Some(Self { waker, queues }))
    }

    /// Publishes items, one by one.
    fn publish(&self, index: usize, actor: usize, count: usize) {
        let queue = &self.queues[index];
        for _ in 0..count {
            queue.rings[actor].push();
            queue.gate.schedule();
            world(|world| world.announced(index));
        }
    }

    /// Consumes items until all of them are consumed.
    fn consume(&self, batch: usize, drops_guard: bool) {
        while !world(|world| world.all_consumed()) {
            world(World::gate_consumer_waits);
            let permit = self.waker.acquire();
            world(World::gate_consumer_wakes);
            let permit = match permit {
                Ok(permit) => permit,
                Err(error) => return fail(Kind::EnginePanicked, error.to_string()),
            };
            if let Some(place) = permit.take_ready() {
                let ready = self.queues.iter().position(|queue| queue.gate.queue() == place);
                let Some(index) = ready else {
                    return fail(
                        Kind::EnginePanicked,
                        format!("the waker names queue {place}, which does not exist"),
                    );
                };
                self.empty(index, batch, drops_guard);
            }
        }
        world(World::gate_consumer_waits);
    }

    fn empty(&self, index: usize, batch: usize, drops_guard: bool) {
        let queue = &self.queues[index];
        let Some(guard) = queue.gate.begin() else { return };
        world(|world| world.passes_gate(index));
        let pop = || {
            let found = |(actor, ring): (usize, &Ring)| ring.pop().map(|item| (actor, item));
            queue.rings.iter().enumerate().find_map(found)
        };
        let mut taken = 0;
        while taken < batch
            && let Some((actor, item)) = pop()
        {
            machine().say(|| format!("takes item {item} of actor {actor} out of queue {index}"));
            world(|world| world.gate_item_consumed(index, actor, item));
            taken += 1;
        }
        world(|world| world.leaves_gate(index));
        match (taken < batch, drops_guard) {
            (true, _) => _ = guard.finish(),
            (false, false) => guard.finish_and_schedule(),
            (false, true) => drop(guard),
        }
        if taken > 0 && world(|world| world.all_consumed()) {
            self.waker.release(world(|world| world.gate_consumers()) as u64);
        }
    }
}

/// Publishes items, one by one.
pub(super) fn publish(queue: usize, actor: usize, count: usize) {
    if let Some(signals) = &equipment().signals {
        signals.publish(queue, actor, count);
    }
}

/// Consumes items until all of them are consumed.
pub(super) fn consume(batch: usize, drops_guard: bool) {
    if let Some(signals) = &equipment().signals {
        signals.consume(batch, drops_guard);
    }
}
