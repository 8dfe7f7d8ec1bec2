//! Drivers decide which thread makes the next operation.
//!
//! The machine asks its driver before every operation. Every answer that the machine allows is a
//! possible behaviour of real hardware, so a driver cannot cause false alarms. Drivers differ in
//! how soon they reach rare interleavings.

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

/// An action of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The thread makes its next operation.
    Run(ThreadId),
    /// The oldest store in the thread's buffer becomes visible to other threads.
    Flush(ThreadId),
    /// The thread's wait ends because its timeout is over.
    Expire(ThreadId),
    /// The thread's wait ends spuriously.
    WakeSpuriously(ThreadId),
}

/// What a driver can see of the machine.
pub struct View<'m> {
    /// The thread that made the last operation, if it can continue.
    pub current: Option<ThreadId>,
    /// The threads that can continue.
    pub runnable: &'m [ThreadId],
    /// All threads.
    pub threads: &'m [Thread],
    /// The threads whose store buffers are not empty.
    pub buffered: &'m [ThreadId],
    /// The threads that became runnable since the driver was last asked.
    pub woken: &'m [ThreadId],
    /// The number of threads that wait with a deadline.
    pub waits_with_timeout: usize,
    /// The number of steps made so far.
    pub step: u64,
}

impl View<'_> {
    /// Returns the action of the default schedule, or `None` if nothing can happen. The running
    /// thread continues, unless it works in a task or pauses while another thread has something to
    /// do; then the next thread in order runs. Stores arrive as late as possible.
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

    /// Returns whether a thread is inside the code under test and not only pausing.
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

    /// Returns the threads that wait, which a driver may wake spuriously.
    fn waiting(&self) -> impl Iterator<Item = ThreadId> {
        let waits =
            |thread: &ThreadId| matches!(self.threads[*thread].status, Status::Waiting { .. });
        (0..self.threads.len()).filter(waits)
    }

    /// Returns whether an action is possible now.
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

/// Decides which action comes next.
pub trait Driver {
    /// Chooses one of the possible actions. The machine calls this only if there is one.
    fn choose(&mut self, view: &View<'_>) -> Action;

    /// Returns the driver itself, so that its creator can read what it has recorded.
    fn as_any(&mut self) -> &mut dyn std::any::Any;
}
