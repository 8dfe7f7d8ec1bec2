//! Drivers decide who goes next.
//!
//! A driver is asked before every operation. Whatever it answers is a possible behaviour of the machine; what makes
//! one better than another is how soon it meets the rare ones.

mod adversary;
mod exhaustive;
mod faulty;
mod pct;
mod random;
mod replay;
mod timed;

pub use adversary::Adversary;
pub use exhaustive::{Exhaustive, Frontier};
pub use faulty::Faulty;
pub use pct::Pct;
pub use random::Random;
pub use replay::Replay;
pub use timed::Timed;

use crate::machine::{EventKind, Status, Thread, ThreadId};
use serde::{Deserialize, Serialize};

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A thread makes its next operation.
    Run(ThreadId),
    /// The oldest store in a thread's buffer arrives.
    Flush(ThreadId),
    /// A thread's wait ends, because the time is over.
    Expire(ThreadId),
    /// A thread's wait ends for no reason.
    WakeSpuriously(ThreadId),
}

/// What a driver sees.
pub struct View<'m> {
    /// The thread that asks, if it could go on.
    pub current: Option<ThreadId>,
    /// The threads that could.
    pub runnable: &'m [ThreadId],
    /// All threads.
    pub threads: &'m [Thread],
    /// Those with stores that are on their way.
    pub buffered: &'m [ThreadId],
    /// Those that have become runnable since the driver was asked last.
    pub woken: &'m [ThreadId],
    /// How many threads wait with a deadline.
    pub waits_with_timeout: usize,
    /// How many steps were made.
    pub step: u64,
}

impl View<'_> {
    /// What happens if nobody decides: the running thread goes on, unless it is at work or pauses while another one
    /// has something to do; then the next one in turn. Stores arrive as late as they can. `None`: nothing can happen.
    pub fn default_action(&self) -> Option<Action> {
        if let Some(current) = self.current
            && self.is_busy(current)
        {
            return Some(Action::Run(current));
        }
        let from = self.current.map_or(0, |current| current + 1);
        let in_turn = |thread: &&ThreadId| {
            let distance = (**thread + self.threads.len() - from) % self.threads.len();
            (!self.is_busy(**thread), distance)
        };
        if let Some(next) = self.runnable.iter().min_by_key(in_turn) {
            return Some(Action::Run(*next));
        }
        self.earliest_deadline().map(Action::Expire)
    }

    /// Whether a thread is inside the code under test, and not just pausing.
    fn is_busy(&self, thread: ThreadId) -> bool {
        let thread = &self.threads[thread];
        thread.status == Status::Ready && thread.pending.kind != EventKind::Pause
    }

    fn deadline_ns(&self, thread: ThreadId) -> Option<u64> {
        match self.threads[thread].status {
            Status::Waiting { deadline_ns, .. } => deadline_ns,
            _ => None,
        }
    }

    fn earliest_deadline(&self) -> Option<ThreadId> {
        if self.waits_with_timeout == 0 {
            return None;
        }
        let threads = 0..self.threads.len();
        threads
            .filter(|thread| self.deadline_ns(*thread).is_some())
            .min_by_key(|thread| self.deadline_ns(*thread))
    }

    /// The threads that wait, and may be woken for no reason.
    fn waiting(&self) -> impl Iterator<Item = ThreadId> {
        let waits =
            |thread: &ThreadId| matches!(self.threads[*thread].status, Status::Waiting { .. });
        (0..self.threads.len()).filter(waits)
    }

    /// Whether an action is possible now.
    pub fn allows(&self, action: Action) -> bool {
        match action {
            Action::Run(thread) => self.runnable.contains(&thread),
            Action::Flush(thread) => self.buffered.contains(&thread),
            Action::Expire(thread) => {
                thread < self.threads.len() && self.deadline_ns(thread).is_some()
            }
            Action::WakeSpuriously(thread) => self.waiting().any(|waiting| waiting == thread),
        }
    }
}

/// Decides who goes next.
pub trait Driver {
    /// Picks one of the actions that are possible. There is one, or this is not called.
    fn choose(&mut self, view: &View<'_>) -> Action;

    /// This driver, to be asked what it has learnt.
    fn as_any(&mut self) -> &mut dyn std::any::Any;
}
