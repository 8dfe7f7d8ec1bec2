//! The cost of taking and returning a unit of a budget, with and without contention.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::budgets::{
    AsyncLock, AsyncLockArc, Borrowed, Budget, BudgetPeer, Condvars, Slots, TokioOwned,
    TokioSemaphore,
};
use crate::contender::{Contender, Sampling, measure};
use crate::race::contend;
use crate::ratio::Unit;
use crate::report::Measurement;

const PAIRS: u32 = 500_000;

/// How threads use the budget.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BudgetUse {
    /// One thread calls `try_acquire` and drops the permit.
    Alone,
    /// Several threads call `try_acquire` in a loop. `refusals_count` says whether a refused
    /// attempt counts as an operation.
    Trying { threads: usize, total: usize, window: Duration, refusals_count: bool },
    /// Several threads wait for a unit and return it at once. `slowest_counts` reports the thread
    /// that succeeded least often instead of all threads together.
    Waiting { threads: usize, total: usize, window: Duration, slowest_counts: bool },
}

/// Measures the budget itself.
pub(crate) fn measure_budget(case: &str, sampling: &Sampling, usage: BudgetUse) -> Measurement {
    measure_ours::<Budget>(case, sampling, usage)
}

/// Measures a device's budget, which has to be looked up first.
pub(crate) fn measure_slots(case: &str, sampling: &Sampling, usage: BudgetUse) -> Measurement {
    measure_ours::<Slots>(case, sampling, usage)
}

fn measure_ours<Ours: BudgetPeer + 'static>(
    case: &str,
    sampling: &Sampling,
    usage: BudgetUse,
) -> Measurement {
    let contenders = vec![
        contender::<Ours>("heist", usage),
        contender::<Borrowed>("heist borrowed", usage),
        contender::<TokioSemaphore>("tokio", usage),
        contender::<TokioOwned>("tokio owned", usage),
        contender::<AsyncLock>("async-lock", usage),
        contender::<AsyncLockArc>("async-lock arc", usage),
        contender::<Condvars>("mutex and condvar", usage),
    ];
    measure(case, Unit::Nanoseconds, sampling, contenders)
}

fn contender<P: BudgetPeer + 'static>(name: &'static str, usage: BudgetUse) -> Contender {
    Contender::new(name, move || sample::<P>(usage))
}

fn sample<P: BudgetPeer>(usage: BudgetUse) -> f64 {
    match usage {
        BudgetUse::Alone => {
            let budget = P::new(1);
            let started = Instant::now();
            for _ in 0..PAIRS {
                black_box(black_box(&budget).try_once());
            }
            started.elapsed().as_nanos() as f64 / f64::from(PAIRS)
        }
        BudgetUse::Trying { threads, total, window, refusals_count } => {
            let budget = P::new(total);
            contend(threads, window, || budget.try_once() || refusals_count).ns_per_operation()
        }
        BudgetUse::Waiting { threads, total, window, slowest_counts } => {
            let budget = P::new(total);
            let contended = contend(threads, window, || {
                budget.once();
                true
            });
            if slowest_counts {
                contended.ns_per_operation_of_slowest()
            } else {
                contended.ns_per_operation()
            }
        }
    }
}
