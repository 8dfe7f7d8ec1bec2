//! Counting semaphores: heist's budgets and device slots, and what people use instead.

mod asynchronous;
mod condvar;
mod heist;

pub(crate) use self::heist::{Borrowed, Budget, Slots};
pub(crate) use asynchronous::{AsyncLock, AsyncLockArc, TokioOwned, TokioSemaphore};
pub(crate) use condvar::Condvars;

/// A kind of semaphore.
pub(crate) trait BudgetPeer: Sync {
    /// With so many units, all available.
    fn new(total: usize) -> Self;

    /// Takes a unit if there is one and gives it back; says whether there was one.
    fn try_once(&self) -> bool;

    /// Takes a unit, after waiting for one if need be, and gives it back.
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
    fn every_kind_gives_back_what_it_takes() {
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
