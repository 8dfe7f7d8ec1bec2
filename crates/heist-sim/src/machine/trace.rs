//! A readable record of a schedule.

use super::ThreadId;
use heist::__internal::sync::machine::Change;
use std::panic::Location;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A word was read.
    Load,
    /// A store was sent on its way.
    Store,
    /// A store arrived.
    Flush,
    /// A read-modify-write.
    Modify,
    /// A lock was taken, or found taken.
    Lock,
    /// A lock was given back.
    Unlock,
    /// A token was taken, or found missing.
    TakeToken,
    /// A token was delivered.
    GiveToken,
    /// A full fence.
    Fence,
    /// A pause in a loop that waits.
    Pause,
    /// The thread went to sleep.
    Wait,
    /// A word from the scenario.
    Say,
}

impl From<Change> for EventKind {
    fn from(change: Change) -> Self {
        match change {
            Change::Modify => Self::Modify,
            Change::Lock => Self::Lock,
            Change::Unlock => Self::Unlock,
            Change::TakeToken => Self::TakeToken,
            Change::GiveToken => Self::GiveToken,
        }
    }
}

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Event {
    /// At which step.
    pub step: u64,
    /// At which simulated time.
    pub now_ns: u64,
    /// By whom.
    pub thread: ThreadId,
    /// What.
    pub kind: EventKind,
    /// On which word.
    pub address: usize,
    /// What it held then.
    pub value: u64,
    /// The line of source.
    pub caller: Option<&'static Location<'static>>,
    /// What the scenario has to say.
    pub text: Option<String>,
}
