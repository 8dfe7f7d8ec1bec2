//! The operations that the code under test makes on the machine.

use super::costs::{Access, FENCE_NS, PAUSE_NS};
use super::state::STEP_NS;
use super::{EventKind, SimMachine, Status, Thread};
use crate::failure::{Failure, Kind};
use heist::__internal::sync::machine::{Address, Change, Machine, Site};
use std::panic::Location;

impl SimMachine {
    /// Charges for an access. If the access takes time, it takes effect after the operations of
    /// other threads in that time.
    fn pay(&self, kind: EventKind, site: Site, access: Access) {
        let takes_a_while = self.state.borrow_mut().charge(site, access);
        if takes_a_while {
            self.point(kind, site.address.0);
        }
    }
}

impl Machine for SimMachine {
    fn allocate(&self, value: u64) -> Address {
        Address(self.state.borrow_mut().memory.allocate(value))
    }

    fn load(&self, site: Site) -> u64 {
        self.point(EventKind::Load, site.address.0);
        self.pay(EventKind::Load, site, Access::Load);
        let mut state = self.state.borrow_mut();
        let me = state.running();
        let value = state.memory.load(me, site.address.0);
        state.note(me, EventKind::Load, site.address.0, value, Some(site.caller));
        value
    }

    fn store(&self, site: Site, value: u64) {
        self.point(EventKind::Store, site.address.0);
        self.pay(EventKind::Store, site, Access::Store);
        let mut state = self.state.borrow_mut();
        let me = state.running();
        state.note(me, EventKind::Store, site.address.0, value, Some(site.caller));
        state.memory.store(me, site.address.0, value);
    }

    fn modify(
        &self,
        site: Site,
        change: Change,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> u64 {
        let kind = EventKind::from(change);
        if change != Change::Unlock {
            self.point(kind, site.address.0);
        }
        self.pay(kind, site, Access::Modify);
        let mut state = self.state.borrow_mut();
        let me = state.running();
        if kind == EventKind::TakeToken {
            state.threads[me].unanswered_queue = None;
        }
        state.flush_all(me);
        let held = state.memory.read(site.address.0);
        if let Some(new) = update(held) {
            state.memory.write(site.address.0, new);
        }
        let now = state.memory.read(site.address.0);
        state.note(me, kind, site.address.0, now, Some(site.caller));
        held
    }

    fn fence(&self, caller: &'static Location<'static>) {
        self.point(EventKind::Fence, 0);
        let mut state = self.state.borrow_mut();
        let me = state.running();
        state.flush_all(me);
        let cost_ns = if state.costs.is_some() { FENCE_NS } else { STEP_NS };
        state.spend(cost_ns);
        state.note(me, EventKind::Fence, 0, 0, Some(caller));
    }

    fn pause(&self) {
        let is_first = {
            let mut state = self.state.borrow_mut();
            let me = state.running();
            if state.costs.is_some() {
                // The next operation of this thread is already late enough, so the driver need not
                // be asked.
                return state.spend(PAUSE_NS);
            }
            state.spend(STEP_NS);
            // Consecutive pauses count as one long pause.
            state.threads[me].pending.kind != EventKind::Pause
        };
        if is_first {
            self.point(EventKind::Pause, 0);
        }
    }

    fn wait(&self, address: Address, timeout_ns: Option<u64>) -> bool {
        {
            let mut state = self.state.borrow_mut();
            let me = state.running();
            state.flush_all(me);
            let deadline_ns =
                timeout_ns.map(|timeout_ns| state.time_ns().saturating_add(timeout_ns));
            state.memory.timed_waits += usize::from(deadline_ns.is_some());
            state.set_status(me, Status::Waiting { address: address.0, deadline_ns });
            state.note(me, EventKind::Wait, address.0, 0, None);
            let since_ns = state.threads[me].clock_ns;
            let for_lock = state.threads[me].pending.kind == EventKind::Lock;
            if let Some(costs) = &mut state.costs {
                costs.fell_asleep(me, for_lock, since_ns);
            }
            state.current = None;
        }
        self.suspend();
        let mut state = self.state.borrow_mut();
        let me = state.running();
        std::mem::take(&mut state.threads[me].expired)
    }

    fn notify(&self, address: Address) {
        self.state.borrow_mut().notify(address.0);
    }

    fn now_ns(&self) -> u64 {
        self.state.borrow().time_ns()
    }

    fn spawn(&self, name: &str, body: Box<dyn FnOnce()>) -> u64 {
        let mut state = self.state.borrow_mut();
        // Starting a thread is a system call, which orders more than a fence.
        if let Some(parent) = state.current {
            state.flush_all(parent);
        }
        let thread = state.threads.len();
        let coroutine = self.stacks.borrow_mut().coroutine(body);
        let clock_ns = state.time_ns();
        state.threads.push(Thread::new(name, coroutine, clock_ns));
        state.memory.add_thread();
        state.set_status(thread, Status::Ready);
        self.threads_before.get() + thread as u64
    }

    fn current_thread(&self) -> u64 {
        self.threads_before.get() + self.state.borrow().running() as u64
    }

    fn steal_must_be_retried(&self, queue: Address) {
        let mut state = self.state.borrow_mut();
        let me = state.running();
        state.threads[me].unanswered_queue = Some(queue.0);
    }

    fn thief_looks_at(&self, queue: Address) {
        let mut state = self.state.borrow_mut();
        let me = state.running();
        let unanswered = state.threads[me].unanswered_queue.take();
        if unanswered.is_some_and(|unanswered| unanswered != queue.0) {
            let text =
                "a thief lost a race for a queue and looked elsewhere without trying it again";
            state.fail(Failure::new(Kind::RetryIgnored, text.to_owned()));
        }
    }
}
