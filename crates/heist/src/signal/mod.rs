//! Signals and gates: which of many queues have work, and which consumer handles each of them.
//!
//! A program with thousands of queues and a few consumers has to answer two questions.
//!
//! - *Does this queue hold anything that no consumer knows about yet?* A [`SignalGate`] answers
//!   this. Of many producers, one announces the queue; one consumer at a time empties it; and the
//!   gate announces the queue again if more items arrive in the meantime.
//! - *Which queue is next?* A [`SignalWaker`] answers this for 4,096 queues in two steps: a summary
//!   word with one mark for each of 64 [`Signal`]s, and 64 bits in each signal. A consumer that
//!   finds no ready queue waits for a permit.
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
//! // A producer publishes an item first, and then schedules the gate.
//! mailboxes[77].letters.lock().unwrap().push_back("hello".to_owned());
//! mailboxes[77].gate.schedule();
//!
//! // A consumer takes a ready queue, begins, and empties the queue.
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
//! - **Nothing is stranded.** Once a producer has returned from `schedule`, either the consumer
//!   that has begun sees its item, or the queue is ready and a permit exists for it.
//! - **One consumer at a time.** A [`GateGuard`] ensures this. If the consumer panics, the gate
//!   announces its queue again.
//! - **Fairness.** Consumers take ready queues in rotation.
//!
//! `PROTOCOL.md` beside this file lists the states and the memory-order pairings, proves these
//! guarantees, and describes the mistakes to avoid.
//!
//! A `SignalGate` does not contain a queue. You can combine it with any queue that accepts several
//! producers. A [`GatedQueue`](crate::GatedQueue) contains both the queue and its gate, and runs
//! its consumer as a task of an executor; it is the better choice for most programs.

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

/// A program may create a million gates, so each one must stay small. Modelled atomics are larger.
#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
const _: () = assert!(size_of::<SignalGate>() <= 40);

/// All of these types are shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Signal>();
    shared::<SignalWaker>();
    shared::<SignalGate>();
    shared::<GateGuard<'static>>();
    shared::<SignalPermit<'static>>();
    shared::<flags::GateFlags>();
};
