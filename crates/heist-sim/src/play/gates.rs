//! Gates of a scenario: places where threads and futures wait until one is opened. Threads sleep
//! there; futures leave a waker.
//!
//! These gates belong to the simulator; they are not `SignalGate`s.

use crate::machine::machine;
use crate::scenario::GATES_MAX;
use crate::world::{World, world};
use heist::__internal::sync::machine::Machine;
use std::cell::RefCell;
use std::task::{Context, Poll, Waker};

/// A future that waits at a gate or has done so. Futures do not deregister.
struct Waiter {
    gate: usize,
    future: usize,
    waker: Waker,
}

thread_local! {
    static WAITERS: RefCell<Vec<Waiter>> = const { RefCell::new(Vec::new()) };
}

/// Opens a gate, for good.
pub(super) fn open(gate: usize) {
    world(|world| world.open(gate));
    let waiters: Vec<_> = WAITERS
        .with_borrow_mut(|waiters| waiters.extract_if(.., |waiter| waiter.gate == gate).collect());
    for waiter in waiters {
        wake(waiter.future, || waiter.waker.wake());
    }
}

/// Wakes the futures at a gate without opening it.
pub(super) fn wake_for_nothing(gate: usize) {
    let waiters: Vec<_> = WAITERS.with_borrow(|waiters| {
        let here = waiters.iter().filter(|waiter| waiter.gate == gate);
        here.map(|waiter| (waiter.future, waiter.waker.clone())).collect()
    });
    for (future, waker) in waiters {
        wake(future, || waker.wake_by_ref());
    }
}

fn wake(future: usize, wake: impl FnOnce()) {
    machine().say(|| format!("wakes future {future}"));
    let under_way = world(|world| world.wakes(future));
    wake();
    world(|world| world.has_woken(&under_way));
}

/// Polls a future that waits at a gate.
pub(super) fn poll_wait(gate: usize, future: usize, cx: &Context<'_>) -> Poll<()> {
    if world(|world| world.gate(gate).1) {
        return Poll::Ready(());
    }
    let waiter = Waiter { gate, future, waker: cx.waker().clone() };
    let before = WAITERS.with_borrow_mut(|waiters| {
        let is_its = |known: &&mut Waiter| (known.gate, known.future) == (gate, future);
        match waiters.iter_mut().find(is_its) {
            Some(known) => Some(std::mem::replace(known, waiter)),
            None => {
                waiters.push(waiter);
                None
            }
        }
    });
    // Dropping a waker is an operation, so it must happen outside of the borrow.
    drop(before);
    world(|world| world.waits_at_gate(future));
    Poll::Pending
}

/// Blocks the thread until the gate is opened.
pub(super) fn wait_at(gate: usize) {
    loop {
        let ((word, opened), stopped) = world(|world| (world.gate(gate), world.is_stopped()));
        if opened || stopped {
            return;
        }
        machine().wait(word, None);
    }
}

/// The gate at which tasks meet. It comes after those that scenarios name.
const MEETING: usize = GATES_MAX;

pub(super) fn meet(parties: usize) {
    if world(World::meet) == parties {
        open(MEETING);
    }
    wait_at(MEETING);
}

/// Removes all waiters, when no thread will open a gate any more.
pub(super) fn clear() {
    drop(WAITERS.take());
}

/// Leaks the waiters that a failed schedule has left behind.
pub(super) fn forget_what_is_left() {
    std::mem::forget(WAITERS.take());
}
