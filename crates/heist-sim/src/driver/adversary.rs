//! A driver that delays the threads that would make progress.
//!
//! A thread usually looks first and then acts on what it saw. The adversary lets all threads look
//! before any of them acts, so that they act on outdated information.

use super::{Action, Driver, View};
use crate::machine::{EventKind, Status, ThreadId};
use heist::rng::XorShift64;

/// The largest number of steps in a row for which a thread is delayed. The limit lets every thread
/// progress in the end.
const PATIENCE_MAX: usize = 400;

/// A driver that prefers operations that change nothing.
#[derive(Debug)]
pub struct Adversary {
    rng: XorShift64,
    /// The number of steps for which a thread is delayed in this schedule, at most.
    patience: u64,
    /// The step since which each thread has been delayed.
    delayed_since: Vec<Option<u64>>,
}

impl Adversary {
    /// Creates a driver for one schedule.
    pub fn new(seed: u64) -> Self {
        let mut rng = XorShift64::new(seed);
        let patience = 1 + rng.below_usize(PATIENCE_MAX) as u64;
        Self { rng, patience, delayed_since: Vec::new() }
    }

    /// Returns how much the next operation of a thread would change. The smallest goes first.
    fn progress(view: &View<'_>, thread: ThreadId) -> u32 {
        if view.threads[thread].status == Status::Working {
            return 5;
        }
        match view.threads[thread].pending.kind {
            EventKind::Load | EventKind::Say => 0,
            // A store stays in its thread's buffer, so other threads do not see it yet.
            EventKind::Store => 1,
            EventKind::Pause => 2,
            EventKind::Lock | EventKind::TakeToken => 3,
            _ => 4,
        }
    }
}

impl Driver for Adversary {
    fn choose(&mut self, view: &View<'_>) -> Action {
        self.delayed_since.resize(view.threads.len(), None);
        // Let a store arrive now and then.
        if !view.buffered.is_empty() && self.rng.below(32) == 0 {
            return Action::Flush(view.buffered[self.rng.below_usize(view.buffered.len())]);
        }
        let Some(&first) = view.runnable.first() else {
            return view.default_action().expect("something can happen");
        };
        // Without some randomness, every schedule of a scenario would be the same.
        let chosen = if self.rng.below(16) == 0 {
            view.runnable[self.rng.below_usize(view.runnable.len())]
        } else {
            let overdue = view.runnable.iter().find(|thread| {
                self.delayed_since[**thread]
                    .is_some_and(|since| view.step.saturating_sub(since) > self.patience)
            });
            let least = || {
                let rank = |thread: &&ThreadId| (Self::progress(view, **thread), **thread);
                *view.runnable.iter().min_by_key(rank).unwrap_or(&first)
            };
            overdue.copied().unwrap_or_else(least)
        };
        for thread in view.runnable {
            let delayed = &mut self.delayed_since[*thread];
            if *thread == chosen {
                *delayed = None;
            } else {
                delayed.get_or_insert(view.step);
            }
        }
        Action::Run(chosen)
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
