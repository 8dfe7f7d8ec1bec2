//! Fault injection for tests: makes chosen calls of the Linux layer fail.
//!
//! A plan belongs to one walk. The thread that starts the walk installs it
//! ([`FaultPlan::install`]), and the walk passes it on to its workers, so concurrent tests do not
//! disturb each other.

use rustix::io::Errno;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The calls that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    OpenFile,
    List,
    Stat,
}

/// Which use of which call fails, and with which error.
#[derive(Debug)]
pub(crate) struct FaultPlan {
    call: Call,
    /// The first use that fails, counted from 1.
    from: u64,
    /// How many uses in a row fail.
    times: u64,
    error: Errno,
    uses: AtomicU64,
}

thread_local! {
    static PLAN: RefCell<Option<Arc<FaultPlan>>> = const { RefCell::new(None) };
}

impl FaultPlan {
    pub(crate) fn new(call: Call, from: u64, times: u64, error: Errno) -> Arc<Self> {
        Arc::new(Self { call, from, times, error, uses: AtomicU64::new(0) })
    }

    /// Returns how often the call was made.
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Installs a plan on this thread.
    pub(crate) fn install(plan: Option<Arc<Self>>) {
        PLAN.set(plan);
    }

    /// Returns the plan of this thread.
    pub(crate) fn current() -> Option<Arc<Self>> {
        PLAN.with_borrow(Clone::clone)
    }
}

/// Fails if the plan says that this use of `call` fails.
pub(crate) fn check(call: Call) -> Result<(), Errno> {
    PLAN.with_borrow(|plan| {
        let Some(plan) = plan.as_ref().filter(|plan| plan.call == call) else { return Ok(()) };
        let this_use = 1 + plan.uses.fetch_add(1, Ordering::Relaxed);
        let fails = (plan.from..plan.from.saturating_add(plan.times)).contains(&this_use);
        if fails { Err(plan.error) } else { Ok(()) }
    })
}
