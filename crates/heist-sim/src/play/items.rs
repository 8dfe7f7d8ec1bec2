//! Pushes items into queues and lanes, and consumes them.

use super::actor::offer;
use super::equipment::{device_id, equipment};
use super::permits::HeldSlot;
use super::task::{Job, Task, run_program};
use crate::machine::machine;
use crate::scenario::{Push, To};
use crate::world::{Place, Producer, Refusable, world};
use heist::{ExecutorHandle, PushError, QueueTurn, WorkerCtx};
use heist_device::DeviceTurn;

/// An item, identified by its number in the world.
#[derive(Debug)]
pub struct Item(usize);

impl Drop for Item {
    fn drop(&mut self) {
        world(|world| world.item_dropped(self.0));
    }
}

/// Pushes one item.
pub(super) fn push(to: To, push: Push, handle: &ExecutorHandle<Job>, producer: Producer) {
    let inside = matches!(producer, Producer::Task(_) | Producer::Future(_));
    let equipment = equipment();
    let ordered = !matches!(push, Push::Then(_));
    let producer = if ordered { producer } else { Producer::MakerOfRoom };
    let item = Item(world(|world| world.add_item(to, producer)));
    let number = item.0;
    machine().say(|| format!("pushes item {number} into {to:?}, {push:?}"));
    let must_be_refused = !inside && world(|world| world.refuses_items(to));
    let pushed = match (to, push) {
        (To::Queue(queue), Push::Try) => equipment.queues[queue].try_push(item),
        (To::Queue(queue), Push::Wait) => equipment.queues[queue].push(item),
        (To::Lane(device), Push::Try) => equipment.lanes.try_submit(device_id(device), item),
        (To::Lane(device), Push::Wait) => equipment.lanes.submit(device_id(device), item),
        (_, Push::Then(program)) => return push_then(to, item, program, handle, inside),
    };
    answered(number, pushed, inside, must_be_refused);
}

fn answered(item: usize, pushed: Result<(), PushError<Item>>, inside: bool, must_be_refused: bool) {
    match pushed {
        Ok(()) => world(|world| world.item_accepted(item, must_be_refused)),
        Err(refused) => {
            machine().say(|| format!("{refused}"));
            let why = refused.kind();
            world(|world| world.item_refused(item, why, inside));
            drop(refused);
        }
    }
}

fn push_then(to: To, item: Item, program: usize, handle: &ExecutorHandle<Job>, inside: bool) {
    let equipment = equipment();
    let (number, task) = (item.0, Task::new(program, Place::Line, !inside));
    let follower = task.number();
    let then = move |pushed: Result<(), PushError<Item>>| {
        // Treat this as a push from a task: the pool cannot end before the item is pushed,
        // whichever thread makes room.
        answered(number, pushed, true, false);
        world(|world| world.made(follower));
        Job::Program(task)
    };
    let refusable = if inside { Refusable::Never } else { Refusable::OnceClosed };
    offer(&[follower], refusable, || {
        let spawned = match to {
            To::Queue(queue) => equipment.queues[queue].push_then(item, handle, then),
            To::Lane(device) => equipment.lanes.submit_then(device_id(device), item, handle, then),
        };
        if spawned.is_err() {
            world(|world| world.item_refused_with_its_task(number));
        }
        spawned
    });
}

/// Closes queues.
pub(super) fn close(queues: &[To], drops: bool) {
    world(|world| queues.iter().for_each(|to| world.closes_queue(*to, drops)));
    let equipment = equipment();
    for to in queues {
        let To::Queue(queue) = to else { continue };
        let queue = &equipment.queues[*queue];
        if drops {
            queue.close_and_drop();
        } else {
            queue.close();
        }
        world(|world| world.has_closed_queue(*to));
    }
}

/// Closes all lanes.
pub(super) fn close_lanes(drops: bool) {
    let equipment = equipment();
    let all = || (0..equipment.devices).map(To::Lane);
    world(|world| all().for_each(|to| world.closes_queue(to, drops)));
    if drops {
        equipment.lanes.close_and_drop();
    } else {
        equipment.lanes.close();
    }
    world(|world| all().for_each(|to| world.has_closed_queue(to)));
}

/// Marks that a consumer works on an item.
struct Consuming(To);

impl Consuming {
    fn begin(to: To) -> Self {
        world(|world| world.consumer_begins(to));
        Self(to)
    }
}

impl Drop for Consuming {
    fn drop(&mut self) {
        world(|world| world.consumer_finishes(self.0));
    }
}

/// Runs a turn of a queue.
pub(super) fn consume(task: &mut Task, turn: QueueTurn<Item>, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let Some(To::Queue(index)) = world(|world| world.job(task.number()).turn_of) else { return };
    let queue = world(|world| world.scenario()).queues[index].clone();
    let mut each = |item: Item| {
        let _consuming = Consuming::begin(To::Queue(index));
        machine().say(|| format!("consumes item {}", item.0));
        world(|world| world.item_consumed(item.0));
        run_program(queue.program, task, ctx);
    };
    let Some(takes) = queue.takes else {
        turn.run(each);
        return;
    };
    let mut consumer = turn.begin();
    for _ in 0..takes {
        let Some(item) = consumer.try_pop() else { break };
        each(item);
    }
}

/// Runs a turn of a lane.
pub(super) fn run_lane(task: &mut Task, turn: DeviceTurn<Item>, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let device = turn.device().raw() as usize;
    turn.run(|item, slot| {
        let _slot = HeldSlot::new(device, slot);
        machine().say(|| format!("runs item {} of its lane", item.0));
        world(|world| world.item_consumed(item.0));
        let program = world(|world| world.scenario()).devices[device].program;
        run_program(program, task, ctx);
    });
}
