//! The queues, lanes, budgets and signal gates that actors and tasks use.
//!
//! Invariant: the equipment exists from before the first actor begins until the last one has left,
//! and by then no task runs. It must be dropped on a simulated thread, because dropping it makes
//! operations.

use super::items::Item;
use super::signals::Signals;
use super::task::{Job, Task};
use super::{gates, handles};
use crate::scenario::{Scenario, To};
use crate::world::{Of, World, world};
use heist::{CountBudget, ExecutorHandle, GatedQueue, QueueConfig};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceSlotsConfig};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Everything that a scenario has besides its pool.
pub(super) struct Equipment {
    pub(super) handle: ExecutorHandle<Job>,
    pub(super) queues: Vec<GatedQueue<Item>>,
    pub(super) budgets: Vec<CountBudget>,
    pub(super) slots: Arc<DeviceSlots>,
    pub(super) lanes: DeviceLanes<Item>,
    pub(super) devices: usize,
    /// Signal gates, if there are any.
    pub(super) signals: Option<Signals>,
}

thread_local! {
    static EQUIPMENT: RefCell<Option<Rc<Equipment>>> = const { RefCell::new(None) };
}

/// Creates the equipment. Returns an error if the code under test rejects a part of it.
pub(super) fn install(scenario: &Scenario, handle: &ExecutorHandle<Job>) -> Result<(), String> {
    let equipment = make(scenario, handle).map_err(|error| error.to_string())?;
    EQUIPMENT.set(Some(Rc::new(equipment)));
    Ok(())
}

fn make(
    scenario: &Scenario,
    handle: &ExecutorHandle<Job>,
) -> Result<Equipment, Box<dyn std::error::Error>> {
    let queues = scenario.queues.iter().enumerate().map(|(index, queue)| {
        let config = QueueConfig::new().capacity(queue.capacity).batch(queue.batch);
        let to = To::Queue(index);
        GatedQueue::with_config(handle, &config, move |turn| Job::Queue(Task::of_turn(to), turn))
    });
    let mut config = DeviceSlotsConfig::uniform(1);
    for (index, device) in scenario.devices.iter().enumerate() {
        config = config.with_device(device_id(index), device.slots);
    }
    let slots = DeviceSlots::new(config)?;
    let make_turn = |turn: heist_device::DeviceTurn<Item>| {
        let device = turn.device().raw() as usize;
        Job::Lane(Task::of_turn(To::Lane(device)), turn)
    };
    let lanes = match scenario.lane_capacity {
        None => DeviceLanes::new(handle, Arc::clone(&slots), make_turn),
        Some(capacity) => DeviceLanes::bounded(handle, Arc::clone(&slots), capacity, make_turn)?,
    };
    let budgets = scenario.budgets.iter().map(|total| CountBudget::new(*total));
    Ok(Equipment {
        handle: handle.clone(),
        queues: queues.collect::<Result<_, _>>()?,
        budgets: budgets.collect::<Result<_, _>>()?,
        slots,
        lanes,
        devices: scenario.devices.len(),
        signals: Signals::new(scenario)?,
    })
}

/// Returns the identifier of a device.
pub(super) fn device_id(device: usize) -> DeviceId {
    DeviceId::from_raw(device as u64)
}

/// Returns the equipment.
pub(super) fn equipment() -> Rc<Equipment> {
    EQUIPMENT.with_borrow(|equipment| Rc::clone(equipment.as_ref().expect("an actor is there")))
}

/// Returns a handle of the pool, for its own tasks.
pub(super) fn handle() -> ExecutorHandle<Job> {
    equipment().handle.clone()
}

/// Records that an actor has ended. The last one checks that everything was given back, and drops
/// the equipment.
pub(super) fn leave() {
    if !world(World::actor_leaves) {
        return;
    }
    gates::clear();
    handles::clear();
    let Some(equipment) = EQUIPMENT.take() else { return };
    for (index, queue) in equipment.queues.iter().enumerate() {
        let (left, stats) = (queue.len(), queue.stats());
        world(|world| world.check_queue(index, left, stats));
    }
    for (index, budget) in equipment.budgets.iter().enumerate() {
        let (in_use, waiting) = (budget.in_use(), budget.waiting());
        world(|world| world.check_budget(Of::Budget(index), in_use, waiting));
    }
    for device in 0..equipment.devices {
        let id = device_id(device);
        let (total, available) = (equipment.slots.total(id), equipment.slots.available(id));
        // `None` means that the budget was never used.
        let in_use = total - available.unwrap_or(total);
        world(|world| world.check_budget(Of::Device(device), in_use as u64, 0));
    }
    if equipment.devices > 0 {
        let left = (0..equipment.devices).map(|device| equipment.lanes.waiting(device_id(device)));
        let (left, stats) = (left.sum(), equipment.lanes.stats());
        world(|world| world.check_lanes(left, stats));
    }
}

/// Leaks the equipment that a failed schedule has left behind. It cannot be dropped outside of a
/// simulated thread.
pub(super) fn forget_what_is_left() {
    std::mem::forget(EQUIPMENT.take());
    gates::forget_what_is_left();
    handles::forget_what_is_left();
}
