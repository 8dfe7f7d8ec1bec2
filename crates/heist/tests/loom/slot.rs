//! Futures between two workers under loom: the LIFO slot, the queue behind it, thieves, and the
//! count.
//!
//! `Size` says how far each model is explored, and when. `futures.rs` has the models of one
//! worker.

use crate::support::futures::{Event, run_with_late_worker};
use crate::support::{DEADLOCK, Rendezvous, Size, Tally, check, config, must_fail};
use heist::__internal::queue::LifoSlot;
use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, AtomicUsize, Ordering};
use heist::{ExecutorConfig, ExecutorHandle, yield_now};

const UNSEEN: &str = "a thief has the task, but does not see what was written before it";

/// A worker fills its LIFO slot, displaces the task by another and takes what is left, while a
/// thief steals. Each task goes to one of the two, with everything that was written before it.
fn slot_against_thief() {
    let slot = Arc::new(LifoSlot::new());
    // Written by the owner before it passes a task on; only the LIFO slot orders it.
    let carried = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let thief = {
        let (slot, carried) = (Arc::clone(&slot), Arc::clone(&carried));
        loom::thread::spawn(move || {
            slot.occupied()?;
            let task: usize = slot.steal()?;
            assert_eq!(carried[task].load(Ordering::Relaxed), 1, "{UNSEEN}");
            Some(task)
        })
    };
    let fill = |task: usize| {
        carried[task].store(1, Ordering::Relaxed);
        slot.fill(task)
    };
    let got = [fill(0), fill(1), slot.take()];
    let stolen = thief.join().unwrap();
    let mut got: Vec<_> = got.into_iter().chain([stolen, slot.take()]).flatten().collect();
    got.sort_unstable();
    assert_eq!(got, [0, 1], "each task is taken once");
    assert_eq!(slot.occupied(), None);
}

#[test]
fn a_fill_against_a_steal() {
    check(Size::Small, slot_against_thief);
}

type Pool = ExecutorHandle<()>;

fn private_slot() -> ExecutorConfig {
    config(2).lifo_stealing(false)
}

fn spawn(pool: &Pool, future: impl Future<Output = ()> + Send + 'static) {
    pool.spawn_future(future).unwrap().detach();
}

/// A future wakes waiting futures one after the other, and then waits for the first of them: the
/// other worker must be awake to take it.
fn wake_and_wait(config: &ExecutorConfig, woken: usize) {
    let polls = Tally::default();
    let shared = run_with_late_worker(config, |pool, other_worker| {
        let meeting = Rendezvous::new(2);
        let events: Vec<_> = (0..woken).map(|_| Event::new()).collect();
        for (number, event) in events.iter().enumerate() {
            let (event, polls) = (event.clone(), polls.clone());
            let meeting = (number == 0).then(|| meeting.clone());
            spawn(pool, async move {
                event.wait().await;
                polls.add();
                if let Some(meeting) = meeting {
                    meeting.meet();
                }
            });
        }
        spawn(pool, async move {
            other_worker.start();
            events.iter().for_each(Event::set);
            meeting.meet();
        });
    });
    assert_eq!(polls.get(), woken, "each is polled again once");
    assert_eq!(shared.metrics_snapshot().futures_ended, woken as u64 + 1);
}

/// The woken future is in the LIFO slot.
fn a_slot_needs_a_thief() {
    wake_and_wait(&config(2), 1);
}

#[test]
fn a_filled_slot_against_a_parking_worker() {
    check(Size::Medium, a_slot_needs_a_thief);
}

#[test]
fn a_displaced_future_against_a_thief() {
    check(Size::Large, || wake_and_wait(&config(2), 2));
}

/// Filling a private LIFO slot wakes no worker, but displacing a future from it does.
fn displaced_from_a_private_slot() {
    wake_and_wait(&private_slot(), 2);
}

#[test]
fn a_future_displaced_from_a_private_slot_against_a_parking_worker() {
    check(Size::Medium, displaced_from_a_private_slot);
}

/// A future wakes a waiting one, gives way to it, and must be polled before that one can end.
fn giving_way_needs_a_thief() {
    run_with_late_worker(&private_slot(), |pool, other_worker| {
        let (event, meeting) = (Event::new(), Rendezvous::new(2));
        {
            let (event, meeting) = (event.clone(), meeting.clone());
            spawn(pool, async move {
                event.wait().await;
                meeting.meet();
            });
        }
        spawn(pool, async move {
            other_worker.start();
            event.set();
            yield_now().await;
            meeting.meet();
        });
    });
}

#[test]
fn a_future_that_gives_way_against_a_parking_worker() {
    check(Size::Medium, giving_way_needs_a_thief);
}

#[test]
fn bites_a_slot_that_hands_nothing_over() {
    must_fail(Plant::SlotExchangeRelaxed, 2, UNSEEN, slot_against_thief);
}

#[test]
fn bites_a_filled_slot_that_is_not_announced() {
    must_fail(Plant::SlotFillUnannounced, 2, DEADLOCK, a_slot_needs_a_thief);
}

#[test]
fn bites_a_displaced_future_that_is_not_announced() {
    must_fail(Plant::DisplacedUnannounced, 2, DEADLOCK, displaced_from_a_private_slot);
}

#[test]
fn bites_giving_way_that_is_not_announced() {
    must_fail(Plant::GivingWayUnannounced, 2, DEADLOCK, giving_way_needs_a_thief);
}

#[test]
fn bites_a_sleeper_that_ignores_slots() {
    must_fail(Plant::SleeperIgnoresSlots, 2, DEADLOCK, a_slot_needs_a_thief);
}
