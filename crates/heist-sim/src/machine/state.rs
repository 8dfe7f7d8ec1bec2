//! The state of a running schedule, and its transitions.

use super::costs::{Access, CostModel, TRAVEL_NS};
use super::memory::Memory;
use super::{Event, EventKind, Status, Thread, ThreadId};
use crate::driver::{Action, Driver, View};
use crate::failure::{Failure, Kind};
use heist::__internal::sync::machine::Site;
use std::panic::Location;

/// The simulated time of a step without a cost model.
pub(super) const STEP_NS: u64 = 10;

/// The operation that a thread is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The kind of operation.
    pub kind: EventKind,
    /// The address of the word, if there is one.
    pub address: usize,
}

/// The state of a running schedule.
pub(super) struct State {
    pub(super) threads: Vec<Thread>,
    /// The threads that can continue, in a repeatable order that means nothing.
    pub(super) runnable: Vec<ThreadId>,
    /// The threads that became runnable since the driver was last asked.
    pub(super) woken: Vec<ThreadId>,
    /// The number of threads inside the code under test.
    pub(super) ready: usize,
    pub(super) memory: Memory,
    pub(super) current: Option<ThreadId>,
    pub(super) next: Option<ThreadId>,
    pub(super) driver: Option<Box<dyn Driver>>,
    pub(super) costs: Option<CostModel>,
    pub(super) now_ns: u64,
    pub(super) steps: u64,
    pub(super) steps_max: u64,
    pub(super) hash: u64,
    pub(super) failure: Option<Failure>,
    pub(super) record: bool,
    pub(super) decisions: Vec<(u64, Action)>,
    pub(super) events: Vec<Event>,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            threads: Vec::new(),
            runnable: Vec::new(),
            woken: Vec::new(),
            ready: 0,
            memory: Memory::default(),
            current: None,
            next: None,
            driver: None,
            costs: None,
            now_ns: 0,
            steps: 0,
            steps_max: 0,
            hash: 0,
            failure: None,
            record: false,
            decisions: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn running(&self) -> ThreadId {
        self.current.expect("an operation is made by a simulated thread")
    }

    pub(super) fn set_status(&mut self, thread: ThreadId, status: Status) {
        let was = std::mem::replace(&mut self.threads[thread].status, status);
        self.ready += usize::from(status == Status::Ready);
        self.ready -= usize::from(was == Status::Ready);
        match (was.is_runnable(), status.is_runnable()) {
            (false, true) => {
                self.runnable.push(thread);
                self.woken.push(thread);
            }
            (true, false) => {
                let place = self.runnable.iter().position(|other| *other == thread);
                self.runnable.swap_remove(place.expect("it was runnable"));
            }
            _ => {}
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            current: self.current.filter(|current| self.threads[*current].status.is_runnable()),
            runnable: &self.runnable,
            threads: &self.threads,
            buffered: self.memory.buffered_threads(),
            woken: &self.woken,
            waits_with_timeout: self.memory.timed_waits,
            step: self.steps,
        }
    }

    /// Lets all buffered stores arrive if no thread is inside the code under test. Returns whether
    /// the machine is at rest.
    pub(super) fn settles(&mut self) -> bool {
        if self.ready > 0 {
            return false;
        }
        while let Some(thread) = self.memory.buffered_threads().first() {
            self.flush_one(*thread);
        }
        true
    }

    /// Asks the driver until it chooses a thread to run. Returns `None` if no thread can run.
    pub(super) fn choose(&mut self) -> Option<ThreadId> {
        loop {
            if self.failure.is_some() {
                return None;
            }
            if self.runnable.is_empty() && self.memory.timed_waits == 0 {
                return None;
            }
            let mut driver =
                self.driver.take().expect("the driver is put back after each question");
            let action = driver.choose(&self.view());
            self.driver = Some(driver);
            self.woken.clear();
            if self.record && Some(action) != self.view().default_action() {
                self.decisions.push((self.steps, action));
            }
            match action {
                Action::Run(thread) => {
                    debug_assert!(self.threads[thread].status.is_runnable());
                    return Some(thread);
                }
                Action::Flush(thread) => self.flush_one(thread),
                Action::Expire(thread) => self.expire(thread),
                Action::WakeSpuriously(thread) => {
                    self.count_step();
                    self.end_wait(thread, false);
                }
            }
        }
    }

    pub(super) fn count_step(&mut self) {
        self.steps += 1;
        if self.steps == self.steps_max {
            self.fail(Failure::new(
                Kind::NoEnd,
                format!("the schedule has not ended after {} steps", self.steps_max),
            ));
        }
    }

    pub(super) fn flush_one(&mut self, thread: ThreadId) {
        self.count_step();
        let (address, value) = self.memory.flush_one(thread);
        self.note(thread, EventKind::Flush, address, value, None);
    }

    pub(super) fn flush_all(&mut self, thread: ThreadId) {
        while self.memory.has_buffered(thread) {
            let (address, value) = self.memory.flush_one(thread);
            self.note(thread, EventKind::Flush, address, value, None);
        }
    }

    pub(super) fn expire(&mut self, thread: ThreadId) {
        self.count_step();
        let Status::Waiting { deadline_ns: Some(deadline_ns), .. } = self.threads[thread].status
        else {
            unreachable!("only a wait with a deadline expires");
        };
        self.now_ns = self.now_ns.max(deadline_ns);
        if let Some(costs) = &mut self.costs {
            self.threads[thread].clock_ns = costs.expired(thread, deadline_ns);
        }
        self.end_wait(thread, true);
    }

    pub(super) fn end_wait(&mut self, thread: ThreadId, expired: bool) {
        if let Status::Waiting { deadline_ns: Some(_), .. } = self.threads[thread].status {
            self.memory.timed_waits -= 1;
        }
        self.threads[thread].expired = expired;
        self.set_status(thread, Status::Ready);
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Adds an operation to the hash, and to the record if there is one.
    pub(super) fn note(
        &mut self,
        thread: ThreadId,
        kind: EventKind,
        address: usize,
        value: u64,
        caller: Option<&'static Location<'static>>,
    ) {
        let digest = (thread as u64) << 48 ^ (kind as u64) << 40 ^ (address as u64) << 20 ^ value;
        self.hash = (self.hash.rotate_left(5) ^ digest).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.record {
            let (step, now_ns) = (self.steps, self.now_ns);
            self.events.push(Event {
                step,
                now_ns,
                thread,
                kind,
                address,
                value,
                caller,
                text: None,
            });
        }
    }

    /// Asks the driver before an operation of the running thread. Returns `true` if that thread
    /// continues.
    pub(super) fn may_go_on(&mut self, pending: Pending) -> bool {
        let me = self.running();
        self.threads[me].pending = pending;
        self.count_step();
        let next = self.choose();
        let goes_on = next == Some(me);
        self.next = next.filter(|_| !goes_on);
        goes_on
    }

    /// Lets time pass for the running thread.
    pub(super) fn spend(&mut self, nanoseconds: u64) {
        let me = self.running();
        if self.costs.is_some() {
            self.threads[me].clock_ns += nanoseconds;
            self.now_ns = self.threads[me].clock_ns;
        } else {
            self.now_ns += nanoseconds;
        }
    }

    /// Returns the time of the running thread.
    pub(super) fn time_ns(&self) -> u64 {
        match self.current {
            Some(me) if self.costs.is_some() => self.threads[me].clock_ns,
            _ => self.now_ns,
        }
    }

    /// Ends the waits for a word.
    pub(super) fn notify(&mut self, address: usize) {
        let waits_here = |thread: &ThreadId| match self.threads[*thread].status {
            Status::Waiting { address: waits_for, .. } => waits_for == address,
            _ => false,
        };
        let waiting: Vec<_> = (0..self.threads.len()).filter(waits_here).collect();
        for thread in self.threads_to_wake(address, waiting) {
            let now_ns = self.time_ns();
            self.end_wait(thread, false);
            if let Some(costs) = &mut self.costs {
                let woken = costs.woke_up(thread, now_ns);
                self.threads[thread].clock_ns = woken.awake_ns;
                self.spend(woken.waker_pays_ns);
            }
        }
    }

    /// Returns which of the waiting threads to wake: all of them, unless there is a cost model and
    /// the word is a lock. A lock wakes the thread that has spun for it longest, and one sleeping
    /// thread unless another one is already on its way, as real operating systems do.
    fn threads_to_wake(&self, address: usize, mut waiting: Vec<ThreadId>) -> Vec<ThreadId> {
        let wants_lock =
            |thread: &Thread| thread.pending == Pending { kind: EventKind::Lock, address };
        let Some(costs) = &self.costs else { return waiting };
        if !waiting.iter().any(|thread| wants_lock(&self.threads[*thread])) {
            return waiting;
        }
        let now_ns = self.time_ns();
        waiting.sort_by_key(|thread| (costs.asleep_since_ns(*thread), *thread));
        let (spinning, asleep): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|thread| costs.spins(*thread, now_ns));
        let is_on_its_way = |thread: &Thread| {
            wants_lock(thread) && thread.status == Status::Ready && thread.clock_ns > now_ns
        };
        let next_asleep = asleep.first().filter(|_| !self.threads.iter().any(is_on_its_way));
        spinning.first().into_iter().chain(next_asleep).copied().collect()
    }

    /// Charges the running thread for an access. Returns whether other threads may run before it
    /// takes effect.
    pub(super) fn charge(&mut self, site: Site, access: Access) -> bool {
        let me = self.running();
        let nanoseconds = match &mut self.costs {
            Some(costs) => costs.access(me, site, access, self.threads[me].clock_ns),
            None => STEP_NS,
        };
        self.spend(nanoseconds);
        self.costs.is_some() && nanoseconds >= TRAVEL_NS
    }
}
