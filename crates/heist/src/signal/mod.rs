//! Signals and gates: which of many queues have something to do, and who does it.
//!
//! A program with thousands of queues and a few consumers has two questions. *Is there anything in this queue that
//! nobody has been told of?* A [`SignalGate`] answers it: of many producers one announces the queue, one consumer at a
//! time empties it, and what comes in meanwhile is announced again. *Which queue is next?* A [`SignalWaker`] answers
//! that for 4,096 queues with two words: a summary of 64 [`Signal`]s, and 64 bits in each. Consumers that find nothing
//! wait for a permit.
//!
//! ```
//! use heist::signal::{SignalGate, SignalWaker};
//! use std::collections::VecDeque;
//! use std::sync::Mutex;
//!
//! struct Mailbox {
//!     gate: SignalGate,
//!     letters: Mutex<VecDeque<String>>,
//! }
//!
//! let waker = SignalWaker::new();
//! let mailboxes: Vec<Mailbox> = (0..1_000)
//!     .map(|queue| {
//!         let gate = SignalGate::new(waker.clone(), queue)?;
//!         Ok(Mailbox { gate, letters: Mutex::default() })
//!     })
//!     .collect::<Result<_, heist::signal::SignalIndexError>>()?;
//!
//! // A producer: publish, then schedule.
//! mailboxes[77].letters.lock().unwrap().push_back("hello".to_owned());
//! mailboxes[77].gate.schedule();
//!
//! // A consumer: take a ready queue, begin, and empty it.
//! let mut read = Vec::new();
//! while let Some(queue) = waker.take_ready() {
//!     let mailbox = &mailboxes[queue];
//!     let Some(guard) = mailbox.gate.begin() else { continue };
//!     read.extend(mailbox.letters.lock().unwrap().drain(..));
//!     guard.finish();
//! }
//! assert_eq!(read, ["hello"]);
//! # Ok::<(), heist::signal::SignalIndexError>(())
//! ```
//!
//! # Guarantees
//!
//! - **Nothing is stranded.** An item whose producer has called `schedule` is seen by the consumer that has begun, or
//!   its queue is ready, and a permit is out for it.
//! - **One consumer at a time**, by a [`GateGuard`]. A consumer that panics leaves its queue announced.
//! - **Fair.** Ready queues are taken in turn.
//!
//! States, pairings, the argument for the above, and the mistakes to avoid are in `PROTOCOL.md` beside this file.
//!
//! Raw gates bring no queue: any that many may push to will do. A [`GatedQueue`](crate::GatedQueue) is queue and gate
//! in one, and its consumer is a task of an executor; for most programs it is the better choice.

pub(crate) mod flags;
mod gate;
mod index;
mod permit;
pub(crate) mod queue;
#[cfg(heist_plant)]
mod rejected;
mod waker;
mod word;

pub use gate::{GateGuard, SignalGate};
pub use index::{QUEUES_MAX, SignalIndexError, SignalIndexKind};
pub use permit::SignalPermit;
pub use waker::SignalWaker;
pub use word::{AcquiredBit, SetBit, Signal};

/// One gate per queue: a million of them must not weigh much. Modelled atomics are larger.
#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
const _: () = assert!(size_of::<SignalGate>() <= 40);

/// Everything is shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Signal>();
    shared::<SignalWaker>();
    shared::<SignalGate>();
    shared::<GateGuard<'static>>();
    shared::<SignalPermit<'static>>();
    shared::<flags::GateFlags>();
};
