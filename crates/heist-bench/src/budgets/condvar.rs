//! The hand-written budget: a count behind a lock, a condition variable, and owned permits.
//!
//! It is not fair: the first thread to take the lock gets the unit, however long others have
//! waited. It counts its waiters, because notifying a condition variable without waiters still
//! costs a system call.

use std::hint::black_box;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::BudgetPeer;

pub(crate) struct Condvars(Arc<CondvarState>);

struct CondvarState {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    available: usize,
    waiting: usize,
}

impl CondvarState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns its unit when it is dropped.
struct CondvarPermit(Arc<CondvarState>);

impl Drop for CondvarPermit {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.available += 1;
        let has_waiters = state.waiting > 0;
        drop(state);
        if has_waiters {
            self.0.changed.notify_one();
        }
    }
}

impl BudgetPeer for Condvars {
    fn new(total: usize) -> Self {
        let state = Mutex::new(State { available: total, waiting: 0 });
        Self(Arc::new(CondvarState { state, changed: Condvar::new() }))
    }

    #[inline]
    fn try_once(&self) -> bool {
        let mut state = self.0.lock();
        if state.available == 0 {
            return false;
        }
        state.available -= 1;
        drop(state);
        drop(black_box(CondvarPermit(Arc::clone(&self.0))));
        true
    }

    #[inline]
    fn once(&self) {
        let mut state = self.0.lock();
        while state.available == 0 {
            state.waiting += 1;
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state.available -= 1;
        drop(state);
        drop(black_box(CondvarPermit(Arc::clone(&self.0))));
    }
}
