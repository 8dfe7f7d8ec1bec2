//! The record of a schedule.

use super::ThreadId;
use heist::__internal::sync::machine::Change;
use std::panic::Location;

/// The kinds of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A load.
    Load,
    /// A store, which enters the thread's buffer.
    Store,
    /// A store became visible to all threads.
    Flush,
    /// A read-modify-write.
    Modify,
    /// A lock was acquired, or found locked.
    Lock,
    /// A lock was released.
    Unlock,
    /// A token was taken, or found missing.
    TakeToken,
    /// A token was given.
    GiveToken,
    /// A full fence.
    Fence,
    /// A pause in a spin loop.
    Pause,
    /// The thread went to sleep.
    Wait,
    /// A message from the scenario.
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

/// One event in the record of a schedule.
#[derive(Clone, Debug)]
pub struct Event {
    /// The step.
    pub step: u64,
    /// The simulated time.
    pub now_ns: u64,
    /// The thread.
    pub thread: ThreadId,
    /// The kind of event.
    pub kind: EventKind,
    /// The address of the word.
    pub address: usize,
    /// The value of the word afterwards.
    pub value: u64,
    /// The line of source code.
    pub caller: Option<&'static Location<'static>>,
    /// The message, for [`EventKind::Say`].
    pub text: Option<String>,
}
