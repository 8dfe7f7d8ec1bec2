//! Signals and gates under loom: the real waker and gates, over queues that order nothing by
//! themselves.
//!
//! An item is a flag that its producer sets with a Release store and the consumer reads with an
//! Acquire load. There is no lock and no read-modify-write: a queue with either would hide what the
//! gate must do. At the end of each model, after all threads have ended, everything that is
//! announced is consumed; an item that is left then is stranded forever.

use crate::support::{DEADLOCK, Size, check, must_fail};
use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, AtomicU8, Ordering};
use heist::signal::{SignalGate, SignalWaker};

/// The failure of a model that loses an item.
const STRANDED: &str = "is stranded";

/// Each item is pushed once.
struct Slot(AtomicU8);

impl Slot {
    const EMPTY: u8 = 0;
    const FULL: u8 = 1;
    const TAKEN: u8 = 2;

    fn new() -> Self {
        Self(AtomicU8::new(Self::EMPTY))
    }

    fn push(&self) {
        self.0.store(Self::FULL, Ordering::Release);
    }

    fn take(&self) -> bool {
        let full = self.0.load(Ordering::Acquire) == Self::FULL;
        if full {
            self.0.store(Self::TAKEN, Ordering::Relaxed);
        }
        full
    }

    fn is_taken(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::TAKEN
    }
}

/// A queue with a gate, and room for all items that are ever pushed.
struct Gated {
    gate: SignalGate,
    slots: Vec<Slot>,
    /// The consumer's side of the queue. Loom checks that each consumer sees what the one before
    /// did to it.
    inside: loom::cell::UnsafeCell<()>,
}

impl Gated {
    fn produce(&self, item: usize) {
        self.slots[item].push();
        self.gate.schedule();
    }

    /// Takes all items. Returns how many there were.
    fn take_all(&self) -> usize {
        self.inside.with_mut(|_inside| self.slots.iter().filter(|slot| slot.take()).count())
    }
}

struct Queues {
    waker: Arc<SignalWaker>,
    queues: Vec<Gated>,
}

impl Queues {
    /// Creates queues of one signal, each with room for `items` items.
    fn new(queues: usize, items: usize) -> Arc<Self> {
        let indices: Vec<_> = (0..queues).collect();
        Self::at(&indices, items)
    }

    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "loom's threads are coroutines of one thread, and loom itself watches the cell inside"
    )]
    fn at(indices: &[usize], items: usize) -> Arc<Self> {
        let waker = SignalWaker::new();
        let gated = |&index: &usize| Gated {
            gate: SignalGate::new(Arc::clone(&waker), index).unwrap(),
            slots: (0..items).map(|_| Slot::new()).collect(),
            inside: loom::cell::UnsafeCell::new(()),
        };
        let queues = indices.iter().map(gated).collect();
        Arc::new(Self { waker, queues })
    }

    fn queue_at(&self, index: usize) -> &Gated {
        self.queues.iter().find(|queue| queue.gate.queue() == index).expect("a queue of this model")
    }

    fn produce(&self, queue: usize, item: usize) {
        self.queues[queue].produce(item);
    }

    /// Takes one turn as a consumer that polls. Returns `true` if a queue was ready.
    fn consume(&self) -> bool {
        let Some(queue) = self.waker.take_ready() else { return false };
        let queue = self.queue_at(queue);
        if let Some(guard) = queue.gate.begin() {
            queue.take_all();
            guard.finish();
        }
        true
    }

    /// For the end of a model: consumes what is announced, which must be everything.
    fn end(&self) {
        while self.consume() {}
        for (number, queue) in self.queues.iter().enumerate() {
            let taken = queue.slots.iter().all(Slot::is_taken);
            assert!(taken, "an item of queue {number} is stranded");
            assert!(queue.gate.is_idle(), "nothing is due, and no consumer executes");
        }
        assert_eq!(self.waker.summary(), 0, "no signal is marked");
        assert_eq!(self.waker.permits(), 0, "and no permit is left over");
    }
}

/// A consumer that sleeps until a queue is ready, and leaves when it has `items` items.
fn consume_until(queues: &Queues, items: usize) {
    let mut taken = 0;
    while taken < items {
        let permit = queues.waker.acquire().unwrap();
        let Some(queue) = permit.take_ready() else { continue };
        let queue = queues.queue_at(queue);
        if let Some(guard) = queue.gate.begin() {
            taken += queue.take_all();
            guard.finish();
        }
    }
}

fn spawn(
    queues: &Arc<Queues>,
    body: impl FnOnce(&Queues) + 'static,
) -> loom::thread::JoinHandle<()> {
    let queues = Arc::clone(queues);
    loom::thread::spawn(move || body(&queues))
}

/// The gate is scheduled and a consumer is about to begin when another producer comes.
fn schedule_against_a_consumer() {
    let queues = Queues::new(1, 2);
    queues.produce(0, 0);
    let consumer = spawn(&queues, |queues| {
        queues.consume();
    });
    queues.produce(0, 1);
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn a_schedule_against_a_consumer() {
    check(Size::Small, schedule_against_a_consumer);
}

#[test]
fn bites_a_gate_that_loads_and_stores() {
    must_fail(Plant::GateTrustsLoads, 2, STRANDED, schedule_against_a_consumer);
}

/// The load alone is enough to lose an item, whatever `begin` does.
#[test]
fn bites_a_schedule_that_trusts_a_load() {
    must_fail(Plant::ScheduleTrustsLoad, 2, STRANDED, schedule_against_a_consumer);
}

#[test]
fn bites_a_finish_that_forgets_the_summary() {
    must_fail(Plant::FinishForgetsSummary, 2, STRANDED, schedule_against_a_consumer);
}

fn two_producers_and_a_consumer() {
    let queues = Queues::new(1, 2);
    let first = spawn(&queues, |queues| queues.produce(0, 0));
    let second = spawn(&queues, |queues| queues.produce(0, 1));
    consume_until(&queues, 2);
    first.join().unwrap();
    second.join().unwrap();
    queues.end();
}

#[test]
fn two_producers_against_a_consumer() {
    check(Size::Medium, two_producers_and_a_consumer);
}

/// One queue, and consumers that take turns with it.
fn two_consumers_of_one_queue() {
    let queues = Queues::new(1, 2);
    queues.produce(0, 0);
    let consumer = spawn(&queues, |queues| {
        queues.consume();
    });
    queues.produce(0, 1);
    queues.consume();
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn a_consumer_sees_what_the_one_before_did() {
    check(Size::Small, two_consumers_of_one_queue);
}

#[test]
fn bites_a_finish_that_hands_nothing_over() {
    must_fail(Plant::FinishHandsNothingOver, 2, "Causality violation", two_consumers_of_one_queue);
}

/// A consumer gives its queue back with more to do, and takes it again. `otherwise` handles the
/// case that it cannot, although no other consumer could have begun.
fn finish_and_schedule(otherwise: fn()) {
    let queues = Queues::new(1, 2);
    queues.produce(0, 0);
    let producer = spawn(&queues, |queues| queues.produce(0, 1));
    assert_eq!(queues.waker.take_ready(), Some(0));
    let queue = &queues.queues[0];
    let guard = queue.gate.begin().unwrap();
    queue.slots[0].take();
    guard.finish_and_schedule();
    assert_eq!(queues.waker.take_ready(), Some(0), "it was announced");
    let guard = queue.gate.begin();
    let has_begun = guard.is_some();
    if let Some(guard) = guard {
        queue.take_all();
        guard.finish();
    }
    producer.join().unwrap();
    if has_begun {
        queues.end();
    } else {
        otherwise();
    }
}

#[test]
fn a_finish_and_schedule_against_a_schedule() {
    check(Size::Small, || finish_and_schedule(|| unreachable!("no other consumer begins")));
}

/// A plain store beside read-modify-writes also makes loom report a failure that cannot happen: it
/// lets the consumer's own next exchange see the producer's update, which came before the store.
/// This model skips such runs. What is left is the real failure: the consumer begins again, reads
/// what it stored itself, and has never synchronised with the producer, whose item it misses.
#[test]
fn bites_a_finish_and_schedule_that_stores() {
    must_fail(Plant::FinishAndScheduleStores, 2, STRANDED, || finish_and_schedule(|| {}));
}

fn finish_and_schedule_against_two_producers() {
    let queues = Queues::new(1, 3);
    queues.produce(0, 0);
    let first = spawn(&queues, |queues| queues.produce(0, 1));
    let second = spawn(&queues, |queues| queues.produce(0, 2));
    assert_eq!(queues.waker.take_ready(), Some(0));
    let guard = queues.queues[0].gate.begin().unwrap();
    guard.finish_and_schedule();
    queues.consume();
    first.join().unwrap();
    second.join().unwrap();
    queues.end();
}

#[test]
fn a_finish_and_schedule_against_two_schedules() {
    check(Size::Medium, finish_and_schedule_against_two_producers);
}

/// The consumer empties a signal while a producer sets another bit of it.
fn clear_against_a_set() {
    let queues = Queues::new(2, 1);
    queues.produce(0, 0);
    let producer = spawn(&queues, |queues| queues.produce(1, 0));
    queues.consume();
    producer.join().unwrap();
    queues.end();
}

#[test]
fn a_clear_against_a_set() {
    check(Size::Small, clear_against_a_set);
}

#[test]
fn bites_a_summary_that_is_cleared_after_a_look() {
    must_fail(Plant::SummaryClearRaces, 2, STRANDED, clear_against_a_set);
}

/// A bit that is set beside others brings neither a mark nor a permit: it alone announces its gate.
fn gate_is_seen_scheduled() {
    let queues = Queues::new(2, 1);
    queues.produce(0, 0);
    let producer = spawn(&queues, |queues| queues.produce(1, 0));
    while let Some(queue) = queues.waker.take_ready() {
        let gate = &queues.queues[queue].gate;
        assert!(gate.is_scheduled(), "gate {queue} is announced, and looks idle");
        if let Some(guard) = gate.begin() {
            queues.queues[queue].take_all();
            guard.finish();
        }
    }
    producer.join().unwrap();
    queues.end();
}

#[test]
fn a_taken_bit_shows_its_gate_scheduled() {
    check(Size::Small, gate_is_seen_scheduled);
}

#[test]
fn bites_bits_that_order_nothing() {
    must_fail(Plant::SignalBitsRelaxed, 2, "looks idle", gate_is_seen_scheduled);
}

/// The consumer is fast: it takes the bit before the producer has marked the signal, so that the
/// mark comes late and the signal is empty. The next producer of that signal must still wake a
/// consumer.
fn a_mark_comes_late() {
    let queues = Queues::new(3, 1);
    queues.produce(0, 0);
    let producer = spawn(&queues, |queues| queues.produce(1, 0));
    queues.consume();
    queues.consume();
    producer.join().unwrap();
    while queues.consume() {}
    queues.produce(2, 0);
    queues.end();
}

#[test]
fn a_mark_that_comes_late() {
    check(Size::Small, a_mark_comes_late);
}

#[test]
fn bites_an_empty_signal_that_is_left_marked() {
    must_fail(Plant::EmptySignalLeftMarked, 2, STRANDED, a_mark_comes_late);
}

/// Two consumers for two queues of one signal, while a third queue is announced.
fn two_consumers_and_a_producer() {
    let queues = Queues::new(3, 1);
    queues.produce(0, 0);
    queues.produce(1, 0);
    let producer = spawn(&queues, |queues| queues.produce(2, 0));
    let consumer = spawn(&queues, |queues| {
        queues.consume();
    });
    queues.consume();
    producer.join().unwrap();
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn two_consumers_against_a_producer() {
    check(Size::Medium, two_consumers_and_a_producer);
}

/// The same with two signals: a consumer with the permit of one may empty the other, and each
/// permit must go with exactly one mark.
fn two_consumers_of_two_signals() {
    let queues = Queues::at(&[0, 1, 64], 1);
    queues.produce(0, 0);
    queues.produce(2, 0);
    let producer = spawn(&queues, |queues| queues.produce(1, 0));
    let consumer = spawn(&queues, |queues| {
        queues.consume();
    });
    queues.consume();
    producer.join().unwrap();
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn two_consumers_against_a_producer_with_two_signals() {
    check(Size::Medium, two_consumers_of_two_signals);
}

/// A consumer panics: its guard is dropped, with items in the queue.
fn guard_dropped_by_a_panic() {
    let queues = Queues::new(1, 2);
    queues.produce(0, 0);
    let consumer = spawn(&queues, |queues| {
        assert_eq!(queues.waker.take_ready(), Some(0));
        drop(queues.queues[0].gate.begin().unwrap());
    });
    queues.produce(0, 1);
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn a_guard_dropped_by_a_panic() {
    check(Size::Small, guard_dropped_by_a_panic);
}

#[test]
fn bites_a_dropped_guard_that_only_finishes() {
    must_fail(Plant::GuardDropForgets, 2, STRANDED, guard_dropped_by_a_panic);
}

#[test]
fn bites_a_permit_that_is_not_passed_on() {
    must_fail(Plant::PermitNotPassedOn, 2, STRANDED, two_consumers_and_a_producer);
}

/// The consumer waits, or is about to wait, when the permit is released.
fn release_against_acquire() {
    let queues = Queues::new(1, 1);
    let consumer = spawn(&queues, |queues| consume_until(queues, 1));
    queues.produce(0, 0);
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn a_release_against_an_acquire() {
    check(Size::Small, release_against_acquire);
}

/// The consumer sleeps between the items: each item must wake it again.
fn sleeper_and_two_queues() {
    let queues = Queues::new(2, 1);
    let consumer = spawn(&queues, |queues| consume_until(queues, 2));
    queues.produce(0, 0);
    queues.produce(1, 0);
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn a_sleeper_is_woken_for_each_of_two_queues() {
    check(Size::Medium, sleeper_and_two_queues);
}

#[test]
fn bites_a_sleeper_whose_summary_is_cleared_after_a_look() {
    must_fail(Plant::SummaryClearRaces, 2, DEADLOCK, sleeper_and_two_queues);
}

fn sleeper_and_two_items() {
    let queues = Queues::new(1, 2);
    let consumer = spawn(&queues, |queues| consume_until(queues, 2));
    queues.produce(0, 0);
    queues.produce(0, 1);
    consumer.join().unwrap();
    queues.end();
}

#[test]
fn a_sleeper_is_woken_for_what_comes_in_while_it_executes() {
    check(Size::Medium, sleeper_and_two_items);
}

#[test]
fn bites_a_sleeper_whose_finish_forgets_the_summary() {
    must_fail(Plant::FinishForgetsSummary, 2, DEADLOCK, sleeper_and_two_items);
}

/// Two sleeping consumers, and two queues that one producer announces one after the other: no
/// consumer keeps sleeping beside a ready queue.
fn two_sleepers_and_two_queues() {
    let queues = Queues::new(2, 1);
    let first = spawn(&queues, |queues| consume_until(queues, 1));
    let second = spawn(&queues, |queues| consume_until(queues, 1));
    queues.produce(0, 0);
    queues.produce(1, 0);
    first.join().unwrap();
    second.join().unwrap();
    queues.end();
}

#[test]
fn two_sleepers_are_woken_for_two_queues() {
    check(Size::Large, two_sleepers_and_two_queues);
}

#[test]
fn bites_a_sleeper_whose_permit_is_not_passed_on() {
    must_fail(Plant::PermitNotPassedOn, 2, DEADLOCK, two_sleepers_and_two_queues);
}
