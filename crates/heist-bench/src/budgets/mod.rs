//! Counting semaphores: heist's budgets and device slots, and their common alternatives.

mod asynchronous;
mod condvar;
mod heist;

pub(crate) use self::heist::{Borrowed, Budget, Slots};
pub(crate) use asynchronous::{AsyncLock, AsyncLockArc, TokioOwned, TokioSemaphore};
pub(crate) use condvar::Condvars;

/// A counting semaphore under test.
pub(crate) trait BudgetPeer: Sync {
    /// Creates a semaphore with `total` units, all available.
    fn new(total: usize) -> Self;

    /// Takes a unit without waiting and returns it. Returns `false` if none was available.
    fn try_once(&self) -> bool;

    /// Takes a unit, waiting for one if necessary, and returns it.
    fn once(&self);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::start_together;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn gives_back_what_it_takes<P: BudgetPeer>() {
        let budget = P::new(1);
        for _ in 0..3 {
            assert!(budget.try_once());
            budget.once();
        }
        let cycles = AtomicU64::new(0);
        start_together(3, |_| {
            for _ in 0..200 {
                budget.once();
                budget.try_once();
                cycles.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(cycles.into_inner(), 600);
        assert!(budget.try_once());
    }

    #[test]
    fn every_semaphore_gets_its_units_back() {
        gives_back_what_it_takes::<Budget>();
        gives_back_what_it_takes::<Borrowed>();
        gives_back_what_it_takes::<Slots>();
        gives_back_what_it_takes::<TokioSemaphore>();
        gives_back_what_it_takes::<TokioOwned>();
        gives_back_what_it_takes::<AsyncLock>();
        gives_back_what_it_takes::<AsyncLockArc>();
        gives_back_what_it_takes::<Condvars>();
    }
}
