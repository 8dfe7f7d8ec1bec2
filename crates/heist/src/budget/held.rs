//! What is done while the lock is held and the word stands still.
//!
//! [`Core::hold`] locks and sets SLOW; [`Held::settle`] grants what fits to those who wait, writes the word back,
//! unlocks, and only then wakes and calls. So every change of a budget (a release, a waiter gone, a new total) is:
//! hold, change, settle; none can forget those whom it lets through.
//!
//! Callbacks are not called by whoever grants to them but by whoever finds nobody calling. A callback may drop its
//! permit at once, which grants to the next; called from there, 100,000 of them would be 100,000 calls deep.
//!
//! Not guaranteed: that a callback is called at once. It waits for the end of those before it, on whichever thread
//! they run; and that thread stays with it for as long as others grant to callbacks. So these should be short.

use super::amount::{Amount, Word};
use super::core::Core;
use super::error::AcquireError;
use super::permit::Permit;
use super::waiter::{Answer, Delivery, Kind, Ticket, Waiter, WakeUp};
use crate::executor::task::contain;
use crate::sync::plant;
use crate::sync::{MutexGuard, Ordering};
use std::collections::VecDeque;

/// What of a budget is behind its lock.
pub(super) struct State {
    /// In the order of their tickets.
    pub(super) waiters: VecDeque<Waiter>,
    next_ticket: Ticket,
    /// What has to come back before anything is available, after the total was lowered.
    pub(super) debt: Amount,
    pub(super) forgotten: Amount,
    pub(super) high_water: Amount,
    pub(super) closed: bool,
    deliveries: Vec<Delivery>,
    /// Somebody is calling, and will look at `deliveries` again.
    delivering: bool,
}

impl State {
    /// Nobody waits, and so much is in use.
    pub(super) fn new(in_use: Amount) -> Self {
        Self {
            waiters: VecDeque::new(),
            next_ticket: Ticket::FIRST,
            debt: Amount::ZERO,
            forgotten: Amount::ZERO,
            high_water: in_use,
            closed: false,
            deliveries: Vec::new(),
            delivering: false,
        }
    }

    /// Where the waiter with this ticket is, if it still waits.
    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.waiters.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()
    }

    /// The waiter with this ticket, if it still waits.
    pub(super) fn waiter_mut(&mut self, ticket: Ticket) -> Option<&mut Waiter> {
        let position = self.position(ticket)?;
        self.waiters.get_mut(position)
    }
}

/// A budget whose lock is held and whose word stands still.
pub(super) struct Held<'c> {
    core: &'c Core,
    pub(super) state: MutexGuard<'c, State>,
    /// What the word says; written back by `settle`.
    available: Amount,
    wake_ups: Vec<WakeUp>,
}

impl Core {
    /// Locks it and makes the word stand still.
    pub(super) fn hold(&self) -> Held<'_> {
        let state = self.state.lock();
        // A read-modify-write, so that nothing that was taken or given back before is missed. Acquire: pairs with the
        // Release in `release`; what is granted under the lock was given back there.
        let seen = Word::from_bits(self.word.fetch_or(Word::SLOW, Ordering::Acquire));
        Held { core: self, state, available: seen.available(), wake_ups: Vec::new() }
    }
}

impl Held<'_> {
    /// Takes `wanted` if it is there and nobody waits; says whether it did.
    pub(super) fn try_take(&mut self, wanted: Amount) -> bool {
        self.state.waiters.is_empty() && self.take(wanted)
    }

    fn take(&mut self, wanted: Amount) -> bool {
        let fits = self.available.covers(wanted, self.core.guards());
        if fits {
            self.available = self.available.minus(wanted);
            self.core.record_in_use(&mut self.state, self.available);
        }
        fits
    }

    /// A place at the end of the queue.
    pub(super) fn enqueue(&mut self, wanted: Amount, kind: Kind) -> Ticket {
        let ticket = self.state.next_ticket;
        self.state.next_ticket = ticket.next();
        self.state.waiters.push_back(Waiter { ticket, wanted, kind });
        ticket
    }

    /// Takes a waiter out of the queue, wherever it stands, if it still waits.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Waiter> {
        let position = self.state.position(ticket)?;
        self.state.waiters.remove(position)
    }

    /// Something comes back. A debt is paid first.
    pub(super) fn give_back(&mut self, amount: Amount) {
        let layout = self.core.layout();
        let paid = layout.min(self.state.debt, amount);
        self.state.debt = self.state.debt.minus(paid);
        self.available = layout.add_up_to(self.available, amount.minus(paid), self.core.total());
    }

    /// Changes the total, and refuses those who want more.
    pub(super) fn set_total(&mut self, total: Amount) {
        let layout = self.core.layout();
        // In use or forgotten: what the new total has to cover before anything is available.
        let spent = self.core.total().plus(self.state.debt).minus(self.available);
        self.available = layout.saturating_sub(total, spent);
        self.state.debt = layout.saturating_sub(spent, total);
        self.core.total.store(total.to_bits(), Ordering::Relaxed);
        let fits = |waiter: &Waiter| total.covers(waiter.wanted, self.core.guards());
        if !self.state.waiters.iter().all(fits) {
            let waiters = std::mem::take(&mut self.state.waiters);
            let (staying, leaving): (VecDeque<_>, VecDeque<_>) =
                waiters.into_iter().partition(fits);
            self.state.waiters = staying;
            for waiter in leaving {
                self.answer(waiter, Answer::AboveTotal(total));
            }
        }
    }

    /// Closes it, and refuses everyone who waits.
    pub(super) fn close(&mut self) {
        self.state.closed = true;
        plant::instead!(CloseForgetsWaiters);
        for waiter in std::mem::take(&mut self.state.waiters) {
            self.answer(waiter, Answer::Closed);
        }
    }

    /// Grants to those in front what fits; gives everything back to the others; then wakes and calls.
    pub(super) fn settle(mut self) {
        self.grant_from_front();
        self.leave();
    }

    /// [`Held::settle`], after a waiter has left the queue.
    pub(super) fn settle_after_giving_up(self) {
        plant::instead!(GiveUpSilent => self.leave());
        self.settle();
    }

    fn grant_from_front(&mut self) {
        while let Some(wanted) = self.state.waiters.front().map(|waiter| waiter.wanted) {
            let granted = plant::pick!(
                GrantBeyondTotal => self.available.covers(wanted, self.core.guards()),
                _ => self.take(wanted),
            );
            if !granted {
                return;
            }
            if let Some(waiter) = self.state.waiters.pop_front() {
                self.answer(waiter, Answer::Granted);
            }
        }
    }

    fn answer(&mut self, waiter: Waiter, answer: Answer) {
        match waiter.kind {
            Kind::Thread(slot, unparker) => {
                slot.put(answer);
                self.wake_ups.push(WakeUp::Thread(unparker));
            }
            Kind::Future(slot, waker) => {
                slot.put(answer);
                self.wake_ups.push(WakeUp::Future(waker));
            }
            Kind::Callback(then) => {
                self.state.deliveries.push(Delivery { then, wanted: waiter.wanted, answer });
            }
        }
    }

    fn leave(mut self) {
        let state = &mut *self.state;
        self.core.adjust_low_water(state);
        let slow = !state.waiters.is_empty() || !state.debt.is_zero() || state.closed;
        // Release: pairs with the Acquire of whoever takes from the word next. A plain store hides no change, since
        // nobody else changes the word while SLOW is set; and it hands on what `hold` has acquired.
        self.core.word.store(Word::new(self.available, slow).to_bits(), Ordering::Release);
        let deliver = !state.deliveries.is_empty() && !state.delivering;
        state.delivering |= deliver;
        let Self { core, state, wake_ups, .. } = self;
        drop(state);
        for wake_up in wake_ups {
            wake_up.send();
        }
        if deliver {
            core.deliver();
        }
    }
}

impl Core {
    /// Calls the callbacks that were answered, until there are none. One thread at a time does; the others leave what
    /// they have granted to it.
    fn deliver(&self) {
        loop {
            let deliveries = {
                let mut state = self.state.lock();
                let deliveries = std::mem::take(&mut state.deliveries);
                // In the same step: who grants after it finds nobody calling.
                state.delivering = !deliveries.is_empty();
                deliveries
            };
            if deliveries.is_empty() {
                return;
            }
            for Delivery { then, wanted, answer } in deliveries {
                let outcome = self.permit(wanted, answer);
                contain(|| then(outcome));
            }
        }
    }

    /// What a waiter with this answer gets.
    pub(super) fn permit(&self, wanted: Amount, answer: Answer) -> Result<Permit, AcquireError> {
        match answer {
            Answer::Granted => {
                self.this().map(|core| Permit::new(core, wanted)).ok_or(AcquireError::Closed)
            }
            Answer::Closed => Err(AcquireError::Closed),
            Answer::AboveTotal(total) => {
                Err(self.layout().too_large(wanted, total).unwrap_or(AcquireError::Closed))
            }
        }
    }
}
