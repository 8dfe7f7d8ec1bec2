//! Unit tests of the budgets that need access to their inside.

use super::amount::{Amount, Layout};
use super::core::BudgetCore;
use super::permit::Permit;
use super::read_tokens::ReadTokens;
use super::waiter::Then;
use super::{AcquireError, BudgetError, BudgetUnit, CountBudget, ReadAmount};
use crate::rng::XorShift64;
use crate::sync::{Arc, Mutex};

const LAYOUTS: [Layout; 3] = [Layout::Count, Layout::Bytes, Layout::CountAndBytes];

/// Returns the largest value of each field, from the bottom.
fn most(layout: Layout) -> Vec<u64> {
    match layout {
        Layout::Count | Layout::Bytes => vec![(1 << 62) - 1],
        Layout::CountAndBytes => vec![(1 << 20) - 1, (1 << 41) - 1],
    }
}

fn values(layout: Layout, amount: Amount) -> Vec<u64> {
    match layout {
        Layout::Count => vec![layout.get(amount, BudgetUnit::Count)],
        Layout::Bytes => vec![layout.get(amount, BudgetUnit::Bytes)],
        Layout::CountAndBytes => {
            [BudgetUnit::Count, BudgetUnit::Bytes].map(|unit| layout.get(amount, unit)).to_vec()
        }
    }
}

/// Returns random values for all fields, preferring both ends of their range.
fn random_values(layout: Layout, rng: &mut XorShift64) -> Vec<u64> {
    let value = |most: u64, rng: &mut XorShift64| match rng.next_u64() % 5 {
        0 => 0,
        1 => most,
        2 => rng.next_u64() % 3,
        3 => most - rng.next_u64() % 3,
        _ => rng.next_u64() % (most + 1),
    };
    most(layout).into_iter().map(|most| value(most, rng)).collect()
}

#[test]
fn packed_amounts_behave_like_separate_fields() {
    let mut rng = XorShift64::new(7);
    for layout in LAYOUTS {
        let guards = layout.guards();
        for _ in 0..20_000 {
            let [left, right, limit] = [(); 3].map(|()| random_values(layout, &mut rng));
            let pack = |values: &[u64]| layout.total(values).unwrap();
            let (a, b, most_allowed) = (pack(&left), pack(&right), pack(&limit));
            let each = |with: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
                left.iter().zip(&right).map(|(&left, &right)| with(left, right)).collect()
            };
            assert_eq!(values(layout, a), left);
            assert_eq!(
                a.covers(b, guards),
                left.iter().zip(&right).all(|(left, right)| left >= right)
            );
            assert_eq!(values(layout, layout.max(a, b)), each(&u64::max));
            assert_eq!(values(layout, layout.min(a, b)), each(&u64::min));
            assert_eq!(values(layout, layout.saturating_sub(a, b)), each(&u64::saturating_sub));
            let sums = each(&|left, right| left + right);
            let sum_fits = sums.iter().zip(&most(layout)).all(|(sum, most)| sum <= most);
            assert_eq!(
                layout.checked_add(a, b).map(|sum| values(layout, sum)),
                sum_fits.then(|| sums.clone())
            );
            let covered = limit.iter().zip(&sums).all(|(limit, sum)| limit >= sum);
            assert_eq!(most_allowed.covers_sum(a.plus(b), guards), covered, "{limit:?} {sums:?}");
            if a.covers(b, guards) {
                assert_eq!(values(layout, a.minus(b)), each(&|left, right| left - right));
            }
            if most_allowed.covers(a, guards) {
                let expected: Vec<_> =
                    sums.iter().zip(&limit).map(|(&sum, &limit)| sum.min(limit)).collect();
                assert_eq!(values(layout, layout.add_up_to(a, b, most_allowed)), expected);
            }
            let too_large = layout.too_large(a, b);
            assert_eq!(too_large.is_none(), b.covers(a, guards));
        }
    }
}

#[test]
fn totals_up_to_the_most_that_can_be_counted() {
    let most = (1 << 62) - 1;
    assert_eq!(CountBudget::new(most).unwrap().total(), most);
    let error = BudgetError::TotalTooLarge { unit: BudgetUnit::Count, total: most + 1, most };
    assert_eq!(CountBudget::new(most + 1).unwrap_err(), error);
    let reads = ReadTokens::new((1 << 20) - 1, (1 << 41) - 1).unwrap();
    assert_eq!(reads.total(), ReadAmount { count: (1 << 20) - 1, bytes: (1 << 41) - 1 });
    for (count, bytes, unit) in [(1 << 20, 0, BudgetUnit::Count), (0, 1 << 41, BudgetUnit::Bytes)] {
        let BudgetError::TotalTooLarge { unit: found, .. } =
            ReadTokens::new(count, bytes).unwrap_err();
        assert_eq!(found, unit);
    }
    let counted = [0, 5, most, u64::MAX]
        .map(|count| Layout::Count.get(Amount::counted(count), BudgetUnit::Count));
    assert_eq!(counted, [0, 5, most, most]);
}

#[test]
fn amounts_released_beyond_the_total_are_lost() {
    let core = BudgetCore::with_nothing_available(3).unwrap();
    assert_eq!(
        BudgetCore::try_acquire(&core, Amount::counted(1)).unwrap_err(),
        AcquireError::NotNow
    );
    core.release(Amount::counted(2));
    core.release(Amount::counted(2));
    assert_eq!(core.available(), Amount::counted(3));
    core.release(Amount::counted(u64::MAX));
    assert_eq!(core.available(), Amount::counted(3));
    let taken = BudgetCore::try_acquire(&core, Amount::counted(3)).unwrap().into_amount();
    assert_eq!(taken, Amount::counted(3));
    assert_eq!(core.available(), Amount::ZERO, "`into_amount` gives nothing back");
    // Two releases that together satisfy a waiting request: nothing is lost.
    let granted = Arc::new(Mutex::new(None));
    let grants = Arc::clone(&granted);
    BudgetCore::acquire_with(
        &core,
        Amount::counted(2),
        Box::new(move |permit| *grants.lock() = permit.ok()),
    );
    core.release(Amount::counted(1));
    assert!(granted.lock().is_none());
    core.release(Amount::counted(1));
    assert_eq!(granted.lock().as_ref().map(Permit::amount), Some(Amount::counted(2)));
}

#[test]
fn an_amount_taken_out_of_its_permit_is_released_later() {
    let budget = CountBudget::new(4).unwrap();
    let permits = [1, 2].map(|count| budget.try_acquire(count).unwrap());
    let sum = permits
        .into_iter()
        .fold(Amount::ZERO, |sum, permit| sum.plus(permit.into_core().into_amount()));
    assert_eq!((budget.available(), budget.in_use()), (1, 3));
    budget.core().release(sum);
    assert_eq!((budget.available(), budget.in_use(), budget.high_water()), (4, 0, 3));
}

/// Callbacks that record their number and their answer.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

type Call = (usize, Result<Permit, AcquireError>);

impl Calls {
    fn then(&self, number: usize) -> Then {
        let calls = self.clone();
        Box::new(move |answer| calls.0.lock().push((number, answer)))
    }

    fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.lock())
    }

    fn numbers(&self) -> Vec<usize> {
        self.0.lock().iter().map(|(number, _)| *number).collect()
    }
}

#[test]
fn callbacks_are_called_at_once_or_when_they_are_granted() {
    let budget = CountBudget::new(2).unwrap();
    let calls = Calls::default();
    for number in 0..3 {
        BudgetCore::acquire_with(budget.core(), Amount::counted(2), calls.then(number));
    }
    BudgetCore::acquire_with(budget.core(), Amount::counted(3), calls.then(3));
    BudgetCore::acquire_with(budget.core(), Amount::counted(0), calls.then(4));
    let mut first = calls.take();
    assert_eq!(first.len(), 2, "one granted at once, and one refused at once");
    let error = AcquireError::TooLarge { unit: BudgetUnit::Count, wanted: 3, total: 2 };
    assert_eq!(first.pop().map(|(number, answer)| (number, answer.unwrap_err())), Some((3, error)));
    assert_eq!(budget.waiting(), 3);
    drop(first);
    let second = calls.take();
    assert_eq!(second.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1]);
    drop(second);
    assert_eq!(calls.numbers(), [2, 4], "even a request for nothing waits in the queue");
    budget.close();
    BudgetCore::acquire_with(budget.core(), Amount::counted(0), calls.then(5));
    assert_eq!(calls.take().pop().unwrap().1.unwrap_err(), AcquireError::Closed);
    assert_eq!((budget.available(), budget.waiting()), (2, 0));
}

/// Nested calls of this depth would overflow any stack.
#[test]
fn callbacks_that_release_at_once_do_not_overflow_the_stack() {
    const WAITERS: usize = 100_000;
    let budget = CountBudget::new(1).unwrap();
    let holder = budget.try_acquire(1).unwrap();
    let calls = Arc::new(Mutex::new(0));
    for number in 0..WAITERS {
        let calls = Arc::clone(&calls);
        BudgetCore::acquire_with(
            budget.core(),
            Amount::counted(1),
            Box::new(move |permit| {
                let mut calls = calls.lock();
                assert_eq!(*calls, number);
                *calls += 1;
                drop(calls);
                drop(permit);
            }),
        );
    }
    assert_eq!(budget.waiting(), WAITERS);
    drop(holder);
    assert_eq!((*calls.lock(), budget.available(), budget.high_water()), (WAITERS, 1, 1));
}

#[test]
fn callbacks_of_a_dropped_budget_are_refused() {
    let budget = CountBudget::new(1).unwrap();
    budget.try_acquire(1).unwrap().forget();
    let calls = Calls::default();
    BudgetCore::acquire_with(budget.core(), Amount::counted(1), calls.then(0));
    assert!(calls.numbers().is_empty());
    drop(budget);
    assert_eq!(calls.take().pop().unwrap().1.unwrap_err(), AcquireError::Closed);
}

#[test]
fn a_callback_that_panics_loses_nothing() {
    let budget = CountBudget::new(1).unwrap();
    let holder = budget.try_acquire(1).unwrap();
    let calls = Calls::default();
    let panicking = || -> Then { Box::new(|_permit| panic!("deliberate panic in a callback")) };
    BudgetCore::acquire_with(budget.core(), Amount::counted(1), panicking());
    BudgetCore::acquire_with(budget.core(), Amount::counted(1), calls.then(1));
    drop(holder);
    assert_eq!(calls.numbers(), [1], "the permit of the panicking callback came back");
    drop(calls.take());
    BudgetCore::acquire_with(budget.core(), Amount::counted(1), panicking());
    assert_eq!(budget.available(), 1);
}

/// heist's code never panics while it holds the lock. If it did, the budget must stay usable.
#[cfg(not(any(heist_shuttle, heist_sim)))]
#[test]
fn a_poisoned_lock_is_recovered() {
    let budget = CountBudget::new(1).unwrap();
    let held = budget.try_acquire(1).unwrap();
    let core = Arc::clone(budget.core());
    let poisons = crate::sync::thread::spawn(move || {
        let _locked = core.state.lock();
        // No panic message, which would only clutter the output.
        std::panic::resume_unwind(Box::new("poisons"));
    });
    assert!(poisons.join().is_err());
    // Every one of these takes the lock.
    assert_eq!((budget.waiting(), budget.in_use(), budget.high_water()), (0, 1, 1));
    let mut waiting = std::pin::pin!(budget.acquire_async(1));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    assert_eq!(budget.try_acquire(1).unwrap_err(), AcquireError::NotNow);
    drop(held);
    assert!(waiting.as_mut().poll(&mut cx).is_ready());
    budget.set_total(2).unwrap();
    budget.close();
    assert_eq!(budget.try_acquire(1).unwrap_err(), AcquireError::Closed);
}
