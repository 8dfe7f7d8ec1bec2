//! Runs random programs on the real budgets, one operation at a time, and compares them with a
//! model that is too simple to be wrong. After each operation, everything visible must be the same:
//! the amounts available, in use and forgotten, which requests were granted or refused, and in
//! which order.
//!
//! `tests/loom/budget.rs` checks what can happen between two operations.

mod model;

use crate::support::sync::Mutex;
use crate::support::watched;
use heist::__internal::budget::{Amount, BudgetCore, Layout, Permit, acquire};
use heist::AcquireError;
use heist::budget::{Acquire, BudgetUnit};
use heist::rng::XorShift64;
use model::{Answer, Asker, Figures, Habit, Model, Pair, Request, add, covers, subtract};
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// What the real budget has reported, in order.
#[derive(Default)]
struct Heard {
    woken: Vec<Request>,
    called: Vec<(Request, Answer)>,
    kept: Vec<Permit>,
}

type Ears = Arc<Mutex<Heard>>;

struct NotingWaker {
    request: Request,
    ears: Ears,
    panics: bool,
}

impl Wake for NotingWaker {
    fn wake(self: Arc<Self>) {
        self.ears.lock().unwrap().woken.push(self.request);
        if self.panics {
            // Not `panic!`, which would call the panic hook.
            resume_unwind(Box::new("deliberate panic in a waker"));
        }
    }
}

fn kind_of(outcome: &Result<Permit, AcquireError>) -> Answer {
    match outcome {
        Ok(_) => Answer::Granted,
        Err(AcquireError::TooLarge { .. }) => Answer::TooLarge,
        Err(AcquireError::Closed) => Answer::Closed,
        Err(error) => panic!("not an answer: {error}"),
    }
}

/// A real budget, its model, and everything that was taken from both.
struct Play {
    layout: Layout,
    rng: XorShift64,
    core: heist::__internal::sync::Arc<BudgetCore>,
    model: Model,
    ears: Ears,
    permits: Vec<Permit>,
    /// The futures that are not done: waiting, or answered and not polled since.
    futures: BTreeMap<Request, (Acquire<Permit>, Waker)>,
    next_request: Request,
}

impl Play {
    fn new(layout: Layout, seed: u64) -> Self {
        let mut rng = XorShift64::new(seed);
        let total = random_total(layout, &mut rng, [0, 0]);
        Self {
            layout,
            rng,
            core: BudgetCore::new(layout, pack(layout, total)),
            model: Model::new(total),
            ears: Ears::default(),
            permits: Vec::new(),
            futures: BTreeMap::new(),
            next_request: 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.rng.next_u64() % bound as u64) as usize
    }

    fn one_in(&mut self, rounds: usize) -> bool {
        self.below(rounds) == 0
    }

    /// Returns mostly an amount that can be granted, sometimes nothing, and sometimes too much.
    fn random_wanted(&mut self) -> Pair {
        let most = if self.one_in(20) { add(self.model.total, [2, 2]) } else { [3, 5] };
        let values = most.map(|most| self.rng.next_u64() % (most + 1));
        let any_count = self.one_in(5);
        match self.layout {
            Layout::Count => [values[0], 0],
            Layout::Bytes => [0, values[1]],
            Layout::CountAndBytes if any_count => values,
            // Like a request to the public budget of reads.
            Layout::CountAndBytes => [1, values[1]],
        }
    }

    fn request(&mut self) -> Request {
        self.next_request += 1;
        self.next_request
    }

    fn waker(&mut self, request: Request) -> Waker {
        let panics = self.one_in(10);
        Waker::from(Arc::new(NotingWaker { request, ears: Arc::clone(&self.ears), panics }))
    }

    /// Removes a random permit from those that we hold.
    fn take_permit(&mut self) -> Option<(Permit, Pair)> {
        let index = self.below(self.permits.len().max(1));
        let permit = (index < self.permits.len()).then(|| self.permits.swap_remove(index))?;
        let held = unpack(self.layout, permit.amount());
        Some((permit, held))
    }

    fn any_future(&mut self) -> Option<Request> {
        let index = self.below(self.futures.len().max(1));
        self.futures.keys().nth(index).copied()
    }

    /// Performs one operation on both, and returns its name for the report.
    fn step(&mut self) -> &'static str {
        match self.below(100) {
            0..15 => self.try_acquire(),
            15..30 => self.ask_by_future(),
            30..45 => self.ask_by_callback(),
            45..51 => self.ask_without_patience(),
            51..69 => self.drop_permit(),
            69..74 => self.split(),
            74..79 => self.merge(),
            79..80 => self.forget(),
            80..86 => self.drop_future(),
            86..95 => self.poll_future(),
            _ => self.set_total(),
        }
    }

    fn try_acquire(&mut self) -> &'static str {
        let wanted = self.random_wanted();
        let outcome = BudgetCore::try_acquire(&self.core, pack(self.layout, wanted));
        let expected = self.model.try_acquire(wanted);
        match outcome {
            Err(AcquireError::NotNow) => assert_eq!(expected, None, "try_acquire"),
            outcome => {
                assert_eq!(Some(kind_of(&outcome)), expected, "try_acquire");
                self.permits.extend(outcome);
            }
        }
        "try_acquire"
    }

    /// Acquires like a thread whose timeout has already passed.
    fn ask_without_patience(&mut self) -> &'static str {
        let wanted = self.random_wanted();
        let wanted_packed = pack(self.layout, wanted);
        let outcome = BudgetCore::acquire_blocking(&self.core, wanted_packed, Some(Duration::ZERO));
        let expected = self.model.try_acquire(wanted);
        match outcome {
            Err(AcquireError::TimedOut) => assert_eq!(expected, None, "acquire_timeout"),
            outcome => {
                assert_eq!(Some(kind_of(&outcome)), expected, "acquire_timeout");
                self.permits.extend(outcome);
            }
        }
        "acquire_timeout"
    }

    fn ask_by_future(&mut self) -> &'static str {
        let (request, wanted) = (self.request(), self.random_wanted());
        let waker = self.waker(request);
        let mut future = acquire(&self.core, pack(self.layout, wanted));
        let outcome = poll(&mut future, &waker);
        let expected = self.model.acquire(request, wanted, Asker::Future);
        match outcome {
            Poll::Pending => {
                assert_eq!(expected, None, "acquire_async");
                self.futures.insert(request, (future, waker));
            }
            Poll::Ready(outcome) => {
                assert_eq!(Some(kind_of(&outcome)), expected, "acquire_async");
                self.permits.extend(outcome);
            }
        }
        "acquire_async"
    }

    fn ask_by_callback(&mut self) -> &'static str {
        let (request, wanted) = (self.request(), self.random_wanted());
        let habit = [Habit::Keep, Habit::Drop, Habit::Panic][self.below(3)];
        let ears = Arc::clone(&self.ears);
        let then = Box::new(move |outcome| {
            let mut heard = ears.lock().unwrap();
            heard.called.push((request, kind_of(&outcome)));
            if habit == Habit::Keep {
                heard.kept.extend(outcome);
                return;
            }
            drop(heard);
            if habit == Habit::Panic {
                // Unwinding drops the permit.
                resume_unwind(Box::new("deliberate panic in a callback"));
            }
        });
        BudgetCore::acquire_with(&self.core, pack(self.layout, wanted), then);
        self.model.acquire(request, wanted, Asker::Callback(habit));
        "acquire_with"
    }

    fn drop_permit(&mut self) -> &'static str {
        if let Some((permit, held)) = self.take_permit() {
            if self.one_in(4) {
                let amount = permit.into_amount();
                self.core.release(amount);
            } else {
                drop(permit);
            }
            self.model.release(held);
        }
        "drop of a permit"
    }

    fn split(&mut self) -> &'static str {
        if let Some((mut permit, held)) = self.take_permit() {
            let part = self.random_wanted();
            match permit.split(pack(self.layout, part)) {
                None => assert!(!covers(held, part), "split"),
                Some(split_off) => {
                    assert_eq!(unpack(self.layout, split_off.amount()), part, "split");
                    let rest = unpack(self.layout, permit.amount());
                    assert_eq!(rest, subtract(held, part), "split");
                    self.permits.push(split_off);
                }
            }
            self.permits.push(permit);
        }
        "split"
    }

    fn merge(&mut self) -> &'static str {
        if self.permits.len() >= 2
            && let Some((mut permit, held)) = self.take_permit()
            && let Some((other, others)) = self.take_permit()
        {
            permit.merge(other).expect("of the same budget");
            assert_eq!(unpack(self.layout, permit.amount()), add(held, others), "merge");
            self.permits.push(permit);
        }
        "merge"
    }

    fn forget(&mut self) -> &'static str {
        if let Some((permit, held)) = self.take_permit() {
            permit.forget();
            self.model.forget(held);
        }
        "forget"
    }

    fn drop_future(&mut self) -> &'static str {
        if let Some(request) = self.any_future() {
            drop(self.futures.remove(&request));
            self.model.cancel(request);
        }
        "drop of a future"
    }

    fn poll_future(&mut self) -> &'static str {
        let Some(request) = self.any_future() else { return "poll" };
        let new_waker = self.one_in(2).then(|| self.waker(request));
        let (future, waker) = self.futures.get_mut(&request).expect("it is there");
        if let Some(new_waker) = new_waker {
            *waker = new_waker;
        }
        let answer = self.model.futures.iter().find(|(answered, _)| *answered == request);
        let expected = answer.map(|(_, answer)| *answer);
        match poll(future, waker) {
            Poll::Pending => assert_eq!(expected, None, "poll"),
            Poll::Ready(outcome) => {
                assert_eq!(Some(kind_of(&outcome)), expected, "poll");
                self.permits.extend(outcome);
                self.futures.remove(&request);
                self.model.in_futures.remove(&request);
            }
        }
        "poll"
    }

    fn set_total(&mut self) -> &'static str {
        let total = random_total(self.layout, &mut self.rng, self.model.forgotten);
        self.core.set_total(pack(self.layout, total));
        self.model.set_total(total);
        "set_total"
    }

    /// Checks that everything visible is as it should be.
    fn check(&mut self, operation: &str) {
        let mut heard = self.ears.lock().unwrap();
        self.permits.append(&mut heard.kept);
        assert_eq!(heard.called, self.model.callbacks, "calls after {operation}");
        let expected: Vec<_> = self.model.futures.iter().map(|(request, _)| *request).collect();
        assert_eq!(heard.woken, expected, "wake-ups after {operation}");
        drop(heard);
        let unpack = |amount| unpack(self.layout, amount);
        let figures = Figures {
            total: unpack(self.core.total()),
            available: unpack(self.core.available()),
            in_use: unpack(self.core.in_use()),
            forgotten: unpack(self.core.forgotten()),
            high_water: unpack(self.core.high_water()),
            waiting: self.core.waiting(),
            closed: self.core.is_closed(),
        };
        assert_eq!(figures, self.model.figures(), "after {operation}");
        let held = self.permits.iter().map(|permit| unpack(permit.amount())).fold([0, 0], add);
        let in_futures = self.model.in_futures.values().copied().fold([0, 0], add);
        assert_eq!(add(held, in_futures), figures.in_use, "what is held after {operation}");
    }

    /// Closes the budget, continues for a while, and gives everything back.
    fn end(mut self) {
        self.core.close();
        self.model.close();
        self.check("close");
        for _ in 0..20 {
            let operation = self.step();
            self.check(operation);
        }
        while let Some(request) = self.any_future() {
            drop(self.futures.remove(&request));
            self.model.cancel(request);
            self.check("drop of a future");
        }
        while let Some((permit, held)) = self.take_permit() {
            drop(permit);
            self.model.release(held);
            self.check("drop of a permit");
        }
        assert_eq!(self.model.in_use, [0, 0]);
    }
}

fn poll(future: &mut Acquire<Permit>, waker: &Waker) -> Poll<Result<Permit, AcquireError>> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Returns a small total, so that requests always wait, but with room for the forgotten amount.
fn random_total(layout: Layout, rng: &mut XorShift64, forgotten: Pair) -> Pair {
    let mut up_to = |most: u64| rng.next_u64() % (most + 1);
    let total = add(forgotten, [up_to(6), up_to(12)]);
    match layout {
        Layout::Count => [total[0], 0],
        Layout::Bytes => [0, total[1]],
        Layout::CountAndBytes => total,
    }
}

fn pack(layout: Layout, values: Pair) -> Amount {
    match layout {
        Layout::Count => layout.total(&values[..1]),
        Layout::Bytes => layout.total(&values[1..]),
        Layout::CountAndBytes => layout.total(&values),
    }
    .expect("small amounts fit")
}

fn unpack(layout: Layout, amount: Amount) -> Pair {
    [BudgetUnit::Count, BudgetUnit::Bytes].map(|unit| layout.get(amount, unit))
}

/// Runs programs of `steps` operations each, with different seeds.
fn play(layout: Layout, programs: u64, steps: usize) {
    for seed in 1..=programs {
        let mut play = Play::new(layout, seed);
        for number in 0..steps {
            let operation = play.step();
            play.check(&format!("operation {number} of seed {seed}, {operation}"));
        }
        play.end();
    }
}

/// 100,000 operations in total.
const PROGRAMS: u64 = 170;
const STEPS: usize = 200;

#[test]
fn counts_behave_as_the_model_does() {
    watched(|| play(Layout::Count, PROGRAMS, STEPS));
}

#[test]
fn bytes_behave_as_the_model_does() {
    watched(|| play(Layout::Bytes, PROGRAMS, STEPS));
}

#[test]
fn reads_behave_as_the_model_does() {
    watched(|| play(Layout::CountAndBytes, PROGRAMS, STEPS));
}

/// The model notices every planted bug that shows without a second thread.
#[cfg(heist_plant)]
#[test]
fn bites_every_planted_bug_of_budgets() {
    use heist::__internal::sync::plant::{self, Plant};
    use std::thread;

    let bugs = [
        Plant::GrantBeyondTotal,
        Plant::TryOvertakes,
        Plant::CancelLosesGrant,
        Plant::GiveUpSilent,
        Plant::CloseForgetsWaiters,
    ];
    // Installs the hook that keeps the panics of silent threads quiet.
    let name = crate::support::silent(crate::support::workers(1)).thread_name;
    for bug in bugs {
        for layout in [Layout::Count, Layout::Bytes, Layout::CountAndBytes] {
            let player = thread::Builder::new().name(name.clone()).spawn(move || {
                plant::set(Some(bug));
                play(layout, PROGRAMS, STEPS);
            });
            let outcome = player.expect("a thread").join();
            assert!(
                outcome.is_err(),
                "{bug:?} was planted, but the model of {layout:?} noticed nothing"
            );
        }
    }
}
