//! Checks on budgets and device slots: who holds how much, and who waits.
//!
//! A grant is counted from when its holder has received it until just before the holder gives it
//! back. So the amount counted here is never more than what is really in use, and if it exceeds the
//! total, the code under test is wrong.

use super::{World, fail};
use crate::failure::{Failure, Kind};
use crate::scenario::{Scenario, To};
use heist::AcquireError;

/// A budget, or the slots of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The budget with this number.
    Budget(usize),
    /// The slots of the device with this number.
    Device(usize),
}

/// The number of a request.
pub type Ask = u64;

/// The request number of grants that their holder did not request itself.
pub const WITHOUT_REQUEST: Ask = 0;

#[derive(Debug)]
struct Asked {
    ask: Ask,
    count: u64,
    /// If the request is known to wait in line, the number of the first request made after that.
    in_line_before: Option<Ask>,
    /// Whether the request was made by a future of the pool, which may be queued after the grant.
    may_be_queued: bool,
}

#[derive(Debug)]
struct Budget {
    /// The total, or `None` if several threads changed it at the same time, so that the last change
    /// is not known.
    total: Option<u64>,
    /// The largest total so far. A grant from before a reduction may be observed after it.
    total_max: u64,
    in_use: u64,
    asked: Vec<Asked>,
    /// Whether a thread has begun to close the budget.
    closing: bool,
    /// Whether a thread has begun to change the total.
    resized: bool,
    /// The number of threads that are changing the total.
    resizing: usize,
}

impl Budget {
    fn new(total: u64) -> Self {
        Self {
            total: Some(total),
            total_max: total,
            in_use: 0,
            asked: Vec::new(),
            closing: false,
            resized: false,
            resizing: 0,
        }
    }

    fn has_room_for(&self, count: u64) -> bool {
        self.total.is_some_and(|total| self.in_use + count <= total)
    }
}

/// All budgets and device slots.
#[derive(Debug)]
pub(super) struct Budgets {
    budgets: Vec<Budget>,
    devices: Vec<Budget>,
    next_ask: Ask,
}

impl Budgets {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let devices = scenario.devices.iter();
        Self {
            budgets: scenario.budgets.iter().map(|total| Budget::new(*total)).collect(),
            devices: devices.map(|device| Budget::new(device.slots as u64)).collect(),
            next_ask: WITHOUT_REQUEST + 1,
        }
    }

    fn of(&mut self, of: Of) -> &mut Budget {
        match of {
            Of::Budget(budget) => &mut self.budgets[budget],
            Of::Device(device) => &mut self.devices[device],
        }
    }
}

impl World {
    /// Records that a thread is about to make a request. Returns its number.
    pub fn asks(&mut self, of: Of, count: u64) -> Ask {
        let ask = self.budgets.next_ask;
        self.budgets.next_ask += 1;
        let asked = Asked { ask, count, in_line_before: None, may_be_queued: false };
        self.budgets.of(of).asked.push(asked);
        ask
    }

    /// Records that a future of the pool made the request.
    pub fn is_asked_by_future(&mut self, of: Of, ask: Ask) {
        let asked = self.budgets.of(of).asked.iter_mut().find(|asked| asked.ask == ask);
        if let Some(asked) = asked {
            asked.may_be_queued = true;
        }
    }

    /// Records that an unanswered request waits in line.
    pub fn is_in_line(&mut self, of: Of, ask: Ask) {
        let next = self.budgets.next_ask;
        let asked = self.budgets.of(of).asked.iter_mut().find(|asked| asked.ask == ask);
        if let Some(asked) = asked {
            asked.in_line_before = Some(next);
        }
    }

    /// Records that a request is about to be given up, or was refused.
    pub fn asks_no_more(&mut self, of: Of, ask: Ask) {
        self.budgets.of(of).asked.retain(|asked| asked.ask != ask);
    }

    /// Records that a request was granted and its holder has received the grant.
    pub fn granted(&mut self, of: Of, ask: Ask, count: u64) {
        self.asks_no_more(of, ask);
        let stopped = self.stopped;
        let budget = self.budgets.of(of);
        budget.in_use += count;
        if budget.in_use > budget.total_max {
            let (in_use, total) = (budget.in_use, budget.total_max);
            fail(
                Kind::OverGranted,
                format!("{in_use} of {of:?} are in use, but the total is {total}"),
            );
        }
        // The earlier request may already be granted but not received. In that case both fit into
        // the total, so it was overtaken only if they do not.
        let overtakes = |earlier: &&Asked| {
            earlier.in_line_before.is_some_and(|before| before <= ask)
                && budget.in_use + earlier.count > budget.total_max
        };
        // A stop, a close or a smaller total releases waiters and notifies them later.
        let in_order = !stopped && !budget.closing && !budget.resized;
        if in_order && let Some(earlier) = budget.asked.iter().find(overtakes) {
            let text = format!(
                "request {ask} was granted {count} of {of:?}, but request {} was waiting for {} before it",
                earlier.ask, earlier.count
            );
            fail(Kind::Overtaken, text);
        }
    }

    /// Records that a request was refused.
    pub fn not_granted(&mut self, of: Of, ask: Ask, why: AcquireError, count: u64) {
        self.asks_no_more(of, ask);
        let stopped = self.stopped;
        let budget = self.budgets.of(of);
        let has_a_reason = match why {
            AcquireError::NotNow | AcquireError::TimedOut => true,
            AcquireError::Closed => budget.closing,
            AcquireError::TooLarge { .. } => budget.resized || count > budget.total_max,
            AcquireError::Stopped => stopped,
            _ => false,
        };
        if !has_a_reason {
            fail(Kind::RefusedForNoReason, format!("request {ask} for {of:?} was refused: {why}"));
        }
    }

    /// Records that a grant is about to be given back.
    pub fn gives_back(&mut self, of: Of, count: u64) {
        self.budgets.of(of).in_use -= count;
    }

    /// Records that a thread is about to close a budget.
    pub fn closes_budget(&mut self, of: Of) {
        self.budgets.of(of).closing = true;
    }

    /// Records that a thread is about to change the total.
    pub fn resizes(&mut self, of: Of, total: u64) {
        let budget = self.budgets.of(of);
        budget.resized = true;
        budget.resizing += 1;
        budget.total_max = budget.total_max.max(total);
        if let Of::Device(device) = of {
            self.may_have_consumers(To::Lane(device), total as usize);
        }
    }

    /// Records that a thread has changed the total.
    pub fn has_resized(&mut self, of: Of, total: u64) {
        let budget = self.budgets.of(of);
        budget.resizing -= 1;
        let known = budget.resizing == 0 && budget.total.is_some();
        budget.total = known.then_some(total);
    }

    pub(super) fn has_free_slot(&self, device: usize) -> bool {
        self.budgets.devices[device].has_room_for(1 + self.turns_of_lane(device) as u64)
    }

    /// Returns a failure if a request waits although it could be granted. Called when the machine
    /// is at rest. The first request in line can be granted if there is enough for the largest of
    /// all requests. A future may be queued after its grant, unless every worker sleeps.
    pub(super) fn forgotten_at_rest(&self, all_workers_sleep: bool) -> Option<Failure> {
        let budgets = self.budgets.budgets.iter().enumerate();
        let devices = self.budgets.devices.iter().enumerate();
        let all = budgets
            .map(|(index, budget)| (Of::Budget(index), budget))
            .chain(devices.map(|(index, device)| (Of::Device(index), device)));
        for (of, budget) in all {
            let Some(largest) = budget.asked.iter().map(|asked| asked.count).max() else {
                continue;
            };
            if !all_workers_sleep && budget.asked.iter().any(|asked| asked.may_be_queued) {
                continue;
            }
            // A queued job has a slot that it has not received yet.
            let with_turns = match of {
                Of::Budget(_) => 0,
                Of::Device(device) => self.turns_of_lane(device) as u64,
            };
            if budget.has_room_for(largest + with_turns) {
                let (waiting, in_use) = (budget.asked.len(), budget.in_use);
                let text = format!(
                    "{waiting} requests wait for {of:?}, only {in_use} are in use, and none is granted"
                );
                return Some(Failure::new(Kind::WaiterForgotten, text));
            }
        }
        None
    }

    /// Compares the budget's own counts with this record at the end of the schedule.
    pub fn check_budget(&mut self, of: Of, in_use: u64, waiting: usize) {
        let held = self.budgets.of(of).in_use;
        if in_use != held {
            let text = format!("{in_use} of {of:?} are in use at the end, but holders have {held}");
            fail(Kind::PermitLost, text);
        }
        if waiting > 0 {
            fail(Kind::WaiterForgotten, format!("{waiting} requests wait for {of:?} at the end"));
        }
    }
}
