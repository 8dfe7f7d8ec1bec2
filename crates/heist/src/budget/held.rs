//! What happens while the lock is held and the word does not change.
//!
//! [`BudgetCore::hold`] takes the lock and sets SLOW. [`HeldBudget::settle`] grants the waiting
//! requests that fit, writes the word back, releases the lock, and only then wakes waiters and
//! calls callbacks. So every change of a budget (a release, a request that gives up, a new total)
//! has three steps: hold, change, settle. No change can forget the requests that it lets through.
//!
//! The thread that grants a request does not call its callback if callbacks are already being
//! called, on this thread or on another. A callback may drop its permit at once, which grants the
//! next request; if that called the next callback, 100,000 of them would be 100,000 calls deep.
//!
//! Not guaranteed: that a callback is called at once. It waits for the callbacks before it, on
//! whichever thread they run, and that thread keeps calling as long as other threads grant requests
//! with callbacks. So callbacks should be short.

use super::amount::{Amount, BudgetWord};
use super::core::BudgetCore;
use super::error::AcquireError;
use super::permit::Permit;
use super::waiter::{Answer, Delivery, Ticket, Waiter, WaiterKind, WakeUp};
use crate::executor::task::contain;
use crate::sync::plant;
use crate::sync::{MutexGuard, Ordering};
use std::collections::VecDeque;

/// The part of a budget that its lock protects.
pub(super) struct BudgetState {
    /// In the order of their tickets.
    pub(super) waiters: VecDeque<Waiter>,
    next_ticket: Ticket,
    /// The amount that must come back before anything is available, after the total was lowered.
    pub(super) debt: Amount,
    pub(super) forgotten: Amount,
    pub(super) high_water: Amount,
    pub(super) closed: bool,
    deliveries: Vec<Delivery>,
    /// `true` while a thread calls callbacks. It will look at `deliveries` again.
    delivering: bool,
}

impl BudgetState {
    /// Creates a state without waiting requests and with `in_use` as the high-water mark.
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

    /// Returns the position of the request with this ticket, if it still waits.
    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.waiters.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()
    }

    /// Returns the request with this ticket, if it still waits.
    pub(super) fn waiter_mut(&mut self, ticket: Ticket) -> Option<&mut Waiter> {
        let position = self.position(ticket)?;
        self.waiters.get_mut(position)
    }
}

/// A budget whose lock is held and whose word does not change.
pub(super) struct HeldBudget<'c> {
    core: &'c BudgetCore,
    pub(super) state: MutexGuard<'c, BudgetState>,
    /// The available amount; `settle` writes it back.
    available: Amount,
    wake_ups: Vec<WakeUp>,
}

impl BudgetCore {
    /// Takes the lock and keeps other threads from changing the word.
    pub(super) fn hold(&self) -> HeldBudget<'_> {
        let state = self.state.lock();
        // A read-modify-write, so that it misses nothing that was taken or given back before.
        // Acquire: pairs with the Release in `release`, because amounts that were given back there
        // are granted under the lock.
        let seen = BudgetWord::from_bits(self.word.fetch_or(BudgetWord::SLOW, Ordering::Acquire));
        HeldBudget { core: self, state, available: seen.available(), wake_ups: Vec::new() }
    }
}

impl HeldBudget<'_> {
    /// Takes `wanted` if it is available and no request waits, and returns whether it did.
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

    /// Adds a request at the end of the queue.
    pub(super) fn enqueue(&mut self, wanted: Amount, kind: WaiterKind) -> Ticket {
        let ticket = self.state.next_ticket;
        self.state.next_ticket = ticket.next();
        self.state.waiters.push_back(Waiter { ticket, wanted, kind });
        ticket
    }

    /// Removes a request from anywhere in the queue, if it still waits.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Waiter> {
        let position = self.state.position(ticket)?;
        self.state.waiters.remove(position)
    }

    /// Gives an amount back. It pays off a debt first.
    pub(super) fn give_back(&mut self, amount: Amount) {
        let layout = self.core.layout();
        let paid = layout.min(self.state.debt, amount);
        self.state.debt = self.state.debt.minus(paid);
        self.available = layout.add_up_to(self.available, amount.minus(paid), self.core.total());
    }

    /// Changes the total, and refuses the waiting requests that are above it.
    pub(super) fn set_total(&mut self, total: Amount) {
        let layout = self.core.layout();
        // In use or forgotten: the new total must cover this before anything is available.
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

    /// Closes the budget, and refuses all waiting requests.
    pub(super) fn close(&mut self) {
        self.state.closed = true;
        plant::instead!(CloseForgetsWaiters);
        for waiter in std::mem::take(&mut self.state.waiters) {
            self.answer(waiter, Answer::Closed);
        }
    }

    /// Grants the oldest requests while they fit, releases the lock, and then wakes waiters and
    /// calls callbacks.
    pub(super) fn settle(mut self) {
        self.grant_from_front();
        self.leave();
    }

    /// Like [`HeldBudget::settle`], after a request has left the queue.
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
            WaiterKind::Thread(cell, unparker) => {
                cell.put(answer);
                self.wake_ups.push(WakeUp::Thread(unparker));
            }
            WaiterKind::Future(cell, waker) => {
                cell.put(answer);
                self.wake_ups.push(WakeUp::Future(waker));
            }
            WaiterKind::Callback(then) => {
                self.state.deliveries.push(Delivery { then, wanted: waiter.wanted, answer });
            }
        }
    }

    fn leave(mut self) {
        let state = &mut *self.state;
        self.core.adjust_low_water(state);
        let slow = !state.waiters.is_empty() || !state.debt.is_zero() || state.closed;
        // Release: pairs with the Acquire of the next thread that takes from the word. A plain
        // store overwrites no change, because no other thread changes the word while SLOW is set.
        // It also passes on what `hold` acquired.
        self.core.word.store(BudgetWord::new(self.available, slow).to_bits(), Ordering::Release);
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

impl BudgetCore {
    /// Calls the answered callbacks until there are none. Only one thread at a time does this; the
    /// others leave their callbacks to it.
    fn deliver(&self) {
        loop {
            let deliveries = {
                let mut state = self.state.lock();
                let deliveries = std::mem::take(&mut state.deliveries);
                // In the same critical section: a thread that grants after this finds `delivering`
                // clear.
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

    /// Converts an answer into what the waiter gets.
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
