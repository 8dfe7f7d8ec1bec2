//! What it costs to take a unit of a budget and to give it back, alone and with others.

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

/// How the budgets are used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    /// One thread, `try_acquire` and back.
    Alone,
    /// Threads that try all the time. A refusal counts as an operation too, or it does not.
    Trying { threads: usize, total: usize, window: Duration, refusals_count: bool },
    /// Threads that wait for a unit and give it back at once. All of them count, or the one that gets it least.
    Waiting { threads: usize, total: usize, window: Duration, slowest_counts: bool },
}

/// The budget itself.
pub(crate) fn measure_budget(case: &str, sampling: &Sampling, usage: Use) -> Measurement {
    measure_ours::<Budget>(case, sampling, usage)
}

/// The budget of a device, which has to be found first.
pub(crate) fn measure_slots(case: &str, sampling: &Sampling, usage: Use) -> Measurement {
    measure_ours::<Slots>(case, sampling, usage)
}

fn measure_ours<Ours: BudgetPeer + 'static>(
    case: &str,
    sampling: &Sampling,
    usage: Use,
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

fn contender<P: BudgetPeer + 'static>(name: &'static str, usage: Use) -> Contender {
    Contender::new(name, move || sample::<P>(usage))
}

fn sample<P: BudgetPeer>(usage: Use) -> f64 {
    match usage {
        Use::Alone => {
            let budget = P::new(1);
            let started = Instant::now();
            for _ in 0..PAIRS {
                black_box(black_box(&budget).try_once());
            }
            started.elapsed().as_nanos() as f64 / f64::from(PAIRS)
        }
        Use::Trying { threads, total, window, refusals_count } => {
            let budget = P::new(total);
            contend(threads, window, || budget.try_once() || refusals_count).ns_per_operation()
        }
        Use::Waiting { threads, total, window, slowest_counts } => {
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
