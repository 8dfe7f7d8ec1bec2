//! What is known of budgets and slots: who holds how much, and who waits.
//!
//! What is held counts from when its holder has it in hands until just before it is given back. So what is counted
//! here is never more than what really is in use, and a grant beyond the total is a fault.

use super::{World, fail};
use crate::failure::{Failure, Kind};
use crate::scenario::{Scenario, To};
use heist::AcquireError;

/// A budget, or the slots of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A budget.
    Budget(usize),
    /// The slots of a device.
    Device(usize),
}

/// A request, until it is answered.
pub type Ask = u64;

/// The request of those who were granted something without asking for it themselves.
pub const NOBODY_ASKED: Ask = 0;

#[derive(Debug)]
struct Asked {
    ask: Ask,
    count: u64,
    /// It is known to be in line, since before the request with this number was made.
    in_line_before: Option<Ask>,
    /// Who asks may have been granted it, and be queued: a future of the pool.
    may_be_queued: bool,
}

#[derive(Debug)]
struct Budget {
    /// How much there is; `None` if several have changed it at the same time, and nobody knows whose came last.
    total: Option<u64>,
    /// The most that there ever was. What was granted before the total was lowered may be seen after.
    total_max: u64,
    in_use: u64,
    asked: Vec<Asked>,
    /// Somebody has begun to close it.
    closing: bool,
    /// Somebody has begun to change its total.
    resized: bool,
    /// How many are about to.
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

/// All of them.
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
            next_ask: NOBODY_ASKED + 1,
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
    /// Somebody is about to ask.
    pub fn asks(&mut self, of: Of, count: u64) -> Ask {
        let ask = self.budgets.next_ask;
        self.budgets.next_ask += 1;
        let asked = Asked { ask, count, in_line_before: None, may_be_queued: false };
        self.budgets.of(of).asked.push(asked);
        ask
    }

    /// A request is that of a future of the pool.
    pub fn is_asked_by_future(&mut self, of: Of, ask: Ask) {
        let asked = self.budgets.of(of).asked.iter_mut().find(|asked| asked.ask == ask);
        if let Some(asked) = asked {
            asked.may_be_queued = true;
        }
    }

    /// A request that has not been answered is in line.
    pub fn is_in_line(&mut self, of: Of, ask: Ask) {
        let next = self.budgets.next_ask;
        let asked = self.budgets.of(of).asked.iter_mut().find(|asked| asked.ask == ask);
        if let Some(asked) = asked {
            asked.in_line_before = Some(next);
        }
    }

    /// Somebody is about to give up, or was refused.
    pub fn asks_no_more(&mut self, of: Of, ask: Ask) {
        self.budgets.of(of).asked.retain(|asked| asked.ask != ask);
    }

    /// Somebody was granted what it asked for, and has it in hands.
    pub fn granted(&mut self, of: Of, ask: Ask, count: u64) {
        self.asks_no_more(of, ask);
        let stopped = self.stopped;
        let budget = self.budgets.of(of);
        budget.in_use += count;
        if budget.in_use > budget.total_max {
            let (in_use, total) = (budget.in_use, budget.total_max);
            fail(
                Kind::OverGranted,
                format!("{in_use} of {of:?} are in use, but there are {total}"),
            );
        }
        // One that had been granted, and is about to have it in hands, would be among those in use.
        let overtakes = |earlier: &&Asked| {
            earlier.in_line_before.is_some_and(|before| before <= ask)
                && budget.in_use + earlier.count > budget.total_max
        };
        // A stop, a close and a smaller total let waiters go, and tell them later.
        let in_order = !stopped && !budget.closing && !budget.resized;
        if in_order && let Some(earlier) = budget.asked.iter().find(overtakes) {
            let text = format!(
                "request {ask} was granted {count} of {of:?}, and request {} has waited for {} since before",
                earlier.ask, earlier.count
            );
            fail(Kind::Overtaken, text);
        }
    }

    /// A request was refused.
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

    /// Something is about to be given back.
    pub fn gives_back(&mut self, of: Of, count: u64) {
        self.budgets.of(of).in_use -= count;
    }

    /// Somebody is about to close a budget.
    pub fn closes_budget(&mut self, of: Of) {
        self.budgets.of(of).closing = true;
    }

    /// Somebody is about to change how much there is.
    pub fn resizes(&mut self, of: Of, total: u64) {
        let budget = self.budgets.of(of);
        budget.resized = true;
        budget.resizing += 1;
        budget.total_max = budget.total_max.max(total);
        if let Of::Device(device) = of {
            self.may_have_consumers(To::Lane(device), total as usize);
        }
    }

    /// Somebody has changed how much there is.
    pub fn has_resized(&mut self, of: Of, total: u64) {
        let budget = self.budgets.of(of);
        budget.resizing -= 1;
        let known = budget.resizing == 0 && budget.total.is_some();
        budget.total = known.then_some(total);
    }

    pub(super) fn has_free_slot(&self, device: usize) -> bool {
        self.budgets.devices[device].has_room_for(1 + self.turns_of_lane(device) as u64)
    }

    /// Nobody is inside the code under test. Does anybody wait for what is there? Whoever is first in line could be
    /// granted what it wants if even the largest request could. A future that was granted something may be queued,
    /// unless every worker sleeps.
    pub(super) fn forgotten_at_rest(&self, everybody_sleeps: bool) -> Option<Failure> {
        let budgets = self.budgets.budgets.iter().enumerate();
        let devices = self.budgets.devices.iter().enumerate();
        let all = budgets
            .map(|(index, budget)| (Of::Budget(index), budget))
            .chain(devices.map(|(index, device)| (Of::Device(index), device)));
        for (of, budget) in all {
            let Some(largest) = budget.asked.iter().map(|asked| asked.count).max() else {
                continue;
            };
            if !everybody_sleeps && budget.asked.iter().any(|asked| asked.may_be_queued) {
                continue;
            }
            // A job that is queued has its slot in no hands yet.
            let with_turns = match of {
                Of::Budget(_) => 0,
                Of::Device(device) => self.turns_of_lane(device) as u64,
            };
            if budget.has_room_for(largest + with_turns) {
                let (waiting, in_use) = (budget.asked.len(), budget.in_use);
                let text =
                    format!("{waiting} wait for {of:?}, {in_use} are in use, and nobody tells");
                return Some(Failure::new(Kind::WaiterForgotten, text));
            }
        }
        None
    }

    /// Everything is over: does the budget's own account agree?
    pub fn check_budget(&mut self, of: Of, in_use: u64, waiting: usize) {
        let held = self.budgets.of(of).in_use;
        if in_use != held {
            let text = format!("{in_use} of {of:?} are in use at the end, but {held} are held");
            fail(Kind::PermitLost, text);
        }
        if waiting > 0 {
            fail(Kind::WaiterForgotten, format!("{waiting} wait for {of:?} at the end"));
        }
    }
}
