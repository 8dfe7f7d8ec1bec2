//! Requests, holds and gives back permits and device slots.

use super::actor::offer;
use super::equipment::{device_id, equipment};
use super::task::{Job, Task, throw};
use crate::failure::Kind;
use crate::machine::machine;
use crate::world::{Ask, Of, Place, Refusable, WITHOUT_REQUEST, fail, world};
use heist::__internal::sync::{Parker, Unparker};
use heist::{AcquireError, CountPermit, ExecutorHandle, coop};
use heist_device::DeviceSlotPermit;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A grant in the hands of its holder.
#[derive(Debug)]
pub(super) struct Held {
    /// Given back when this is dropped, after the world was told.
    permit: Option<Permit>,
    of: Of,
    count: u64,
}

#[derive(Debug)]
enum Permit {
    Count(#[expect(dead_code, reason = "held for its drop")] CountPermit),
    Slot(#[expect(dead_code, reason = "held for its drop")] DeviceSlotPermit),
}

impl Held {
    /// Records the answer to a request. Returns the grant, if there is one.
    fn answered(
        of: Of,
        ask: Ask,
        count: u64,
        granted: Result<Permit, AcquireError>,
    ) -> Option<Self> {
        match granted {
            Ok(permit) => {
                machine().say(|| format!("is granted {count} of {of:?}"));
                world(|world| world.granted(of, ask, count));
                Some(Self { permit: Some(permit), of, count })
            }
            Err(why) => {
                machine().say(|| format!("is not granted {count} of {of:?}: {why}"));
                world(|world| world.not_granted(of, ask, why, count));
                None
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        world(|world| world.gives_back(self.of, self.count));
        drop(self.permit.take());
    }
}

/// The device slot of a running job.
#[derive(Debug)]
pub(super) struct HeldSlot(#[expect(dead_code, reason = "held for its drop")] Held);

impl HeldSlot {
    /// Takes the device slot that came with a turn.
    pub(super) fn new(device: usize, slot: DeviceSlotPermit) -> Self {
        let of = Of::Device(device);
        // The turn made the request at an unknown time, so it cannot be said to overtake others.
        world(|world| world.granted(of, WITHOUT_REQUEST, 1));
        Self(Held { permit: Some(Permit::Slot(slot)), of, count: 1 })
    }
}

fn ask(of: Of, count: u64) -> Ask {
    world(|world| world.asks(of, count))
}

/// Takes a permit if it is available.
pub(super) fn try_acquire(budget: usize, count: u64) -> Option<Held> {
    let of = Of::Budget(budget);
    let ask = ask(of, count);
    let granted = equipment().budgets[budget].try_acquire(count);
    Held::answered(of, ask, count, granted.map(Permit::Count))
}

/// Waits for a permit.
pub(super) fn acquire(budget: usize, count: u64, timeout_ns: Option<u64>) -> Option<Held> {
    let of = Of::Budget(budget);
    let ask = ask(of, count);
    let budget = &equipment().budgets[budget];
    let granted = match timeout_ns {
        None => budget.acquire(count),
        Some(timeout_ns) => budget.acquire_timeout(count, Duration::from_nanos(timeout_ns)),
    };
    Held::answered(of, ask, count, granted.map(Permit::Count))
}

/// Waits for a device slot.
pub(super) fn acquire_slot(device: usize) -> Option<Held> {
    let of = Of::Device(device);
    let ask = ask(of, 1);
    let granted = equipment().slots.acquire(device_id(device));
    Held::answered(of, ask, 1, granted.map(Permit::Slot))
}

struct WakeThread(Unparker);

impl Wake for WakeThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Awaits a permit. After `patience_ns` drops the future without polling it again.
pub(super) fn acquire_async(budget: usize, count: u64, patience_ns: Option<u64>) -> Option<Held> {
    let of = Of::Budget(budget);
    let ask = ask(of, count);
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(WakeThread(parker.unparker())));
    let mut context = Context::from_waker(&waker);
    let equipment = equipment();
    let mut future = pin!(Some(equipment.budgets[budget].acquire_async(count)));
    loop {
        let polled = future.as_mut().as_pin_mut().expect("it was not dropped").poll(&mut context);
        if let Poll::Ready(granted) = polled {
            return Held::answered(of, ask, count, granted.map(Permit::Count));
        }
        world(|world| world.is_in_line(of, ask));
        match patience_ns {
            None => parker.park(),
            Some(patience_ns) => {
                parker.park_timeout(Duration::from_nanos(patience_ns));
                machine().say(|| "drops the future".to_owned());
                world(|world| world.asks_no_more(of, ask));
                future.set(None);
                return None;
            }
        }
    }
}

/// A request without an answer. Dropping it gives up the request.
struct Unanswered {
    of: Of,
    ask: Ask,
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        world(|world| world.asks_no_more(self.of, self.ask));
    }
}

/// Awaits a permit in a future of the pool, which may be dropped meanwhile.
pub(super) async fn acquire_in_future(budget: usize, count: u64) -> Option<Held> {
    let of = Of::Budget(budget);
    let mut future = pin!(equipment().budgets[budget].acquire_async(count));
    // This must be dropped before the inner future, because another request may be granted after
    // that.
    let unanswered = Unanswered { of, ask: ask(of, count) };
    let ask = unanswered.ask;
    world(|world| world.is_asked_by_future(of, ask));
    let granted = poll_fn(|cx| {
        // If the budget of the poll is used up, the request is postponed and does not wait in line
        // yet.
        let may_ask = coop::has_budget_remaining();
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() && may_ask {
            world(|world| world.is_in_line(of, ask));
        }
        polled
    });
    let granted = granted.await;
    std::mem::forget(unanswered);
    Held::answered(of, ask, count, granted.map(Permit::Count))
}

/// Requests a permit for a task, which is spawned when the request is granted. If `panics` is set,
/// the creation of the task panics.
pub(super) fn acquire_then(
    budget: usize,
    count: u64,
    (program, panics): (usize, bool),
    handle: &ExecutorHandle<Job>,
    from_outside: bool,
) {
    let of = Of::Budget(budget);
    let ask = ask(of, count);
    let mut task = Task::new(program, Place::Line, from_outside);
    let number = task.number();
    let make = move |granted: Result<CountPermit, AcquireError>| {
        let held = Held::answered(of, ask, count, granted.map(Permit::Count));
        if panics {
            world(|world| world.making_panics(number));
            throw();
        }
        if let Some(held) = held {
            task.hold(held);
        }
        world(|world| world.made(number));
        Job::Program(task)
    };
    let mut is_spawned = false;
    let refusable = if from_outside { Refusable::OnceClosed } else { Refusable::Never };
    offer(&[number], refusable, || {
        let spawned = equipment().budgets[budget].acquire_then(count, handle, make);
        is_spawned = spawned.is_ok();
        spawned
    });
    if is_spawned {
        world(|world| world.is_in_line(of, ask));
    } else {
        world(|world| world.asks_no_more(of, ask));
    }
}

/// Changes the total of a budget, or the number of slots of a device.
pub(super) fn resize(of: Of, total: u64) {
    world(|world| world.resizes(of, total));
    let problem = match of {
        Of::Budget(budget) => {
            let resized = equipment().budgets[budget].set_total(total);
            resized.err().map(|error| error.to_string())
        }
        Of::Device(device) => {
            let resized = equipment().slots.set_slots(device_id(device), total as usize);
            resized.err().map(|error| error.to_string())
        }
    };
    if let Some(problem) = problem {
        fail(Kind::EnginePanicked, problem);
    }
    world(|world| world.has_resized(of, total));
}

/// Closes a budget.
pub(super) fn close(budget: usize) {
    world(|world| world.closes_budget(Of::Budget(budget)));
    equipment().budgets[budget].close();
}
