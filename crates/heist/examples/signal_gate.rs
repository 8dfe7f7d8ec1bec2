//! A thousand mailboxes, three producers and two consumers, without polling and without a thread
//! per mailbox.
//!
//! This example shows [`SignalGate`] and [`SignalWaker`]. Each mailbox is a queue with a gate. A
//! producer pushes a letter and *then* schedules the gate; if the mailbox is already scheduled,
//! that is all. A consumer sleeps until some mailbox is ready, takes it, and reads a batch of
//! letters. If the mailbox is empty then, the consumer finishes. Otherwise it gives the mailbox
//! back, so that other mailboxes are read first.
//!
//! ```text
//! cargo run --release --example signal_gate
//! ```

use heist::rng::XorShift64;
use heist::signal::{SignalGate, SignalIndexError, SignalWaker};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

const MAILBOXES: usize = 1_000;
const PRODUCERS: u64 = 3;
const CONSUMERS: u64 = 2;
const LETTERS_PER_PRODUCER: u64 = 100_000;

/// The number of letters to read from one mailbox before looking at others.
const BATCH: usize = 16;

/// A queue and its gate. Any queue works that several threads can push to.
struct Mailbox {
    gate: SignalGate,
    letters: Mutex<VecDeque<u64>>,
}

impl Mailbox {
    fn letters(&self) -> MutexGuard<'_, VecDeque<u64>> {
        // Even after a panic the queue is intact: a letter was pushed or it was not.
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Statistics {
    /// The letters that were read, and their sum, to check that none is missing.
    read: AtomicU64,
    sum: AtomicU64,
    /// Letters whose producer had to announce the mailbox because it was idle.
    announced: AtomicU64,
    batches: AtomicU64,
    /// Batches that left letters behind.
    yielded: AtomicU64,
}

fn produce(producer: u64, mailboxes: &[Mailbox], statistics: &Statistics) {
    let mut rng = XorShift64::new(producer + 1);
    for letter in 0..LETTERS_PER_PRODUCER {
        let mailbox = &mailboxes[rng.below_usize(mailboxes.len())];
        // Publish first, then schedule. In the other order, a consumer could come, find nothing,
        // and go away.
        mailbox.letters().push_back(letter);
        if mailbox.gate.schedule() {
            statistics.announced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn consume(waker: &SignalWaker, mailboxes: &[Mailbox], stop: &AtomicBool, statistics: &Statistics) {
    // Sleeps while no mailbox is ready. An error would mean that this thread is an executor's
    // worker, which must not block; it is not.
    while let Ok(permit) = waker.acquire() {
        // The permit means that some mailbox is ready, and this takes one. It rarely returns
        // `None`: if another consumer took the mailbox before its producer had finished announcing
        // it, or at the end, when a permit only wakes this thread.
        let Some(queue) = permit.take_ready() else {
            if stop.load(Ordering::Acquire) {
                return;
            }
            continue;
        };
        let mailbox = &mailboxes[queue];
        // Until the guard is finished, no other consumer reads this mailbox. If reading panicked,
        // dropping the guard would announce the mailbox again, and another consumer would read the
        // rest.
        let Some(guard) = mailbox.gate.begin() else { continue };
        let (batch, is_empty) = {
            let mut letters = mailbox.letters();
            let count = letters.len().min(BATCH);
            let batch: Vec<u64> = letters.drain(..count).collect();
            (batch, letters.is_empty())
        };
        statistics.sum.fetch_add(batch.iter().sum(), Ordering::Relaxed);
        statistics.batches.fetch_add(1, Ordering::Relaxed);
        if is_empty {
            // A letter that has arrived since is not lost: its producer found this consumer at
            // work, so `finish` announces the mailbox again.
            guard.finish();
        } else {
            statistics.yielded.fetch_add(1, Ordering::Relaxed);
            guard.finish_and_schedule();
        }
        let before = statistics.read.fetch_add(batch.len() as u64, Ordering::AcqRel);
        if before + batch.len() as u64 == PRODUCERS * LETTERS_PER_PRODUCER {
            // That was the last letter. The consumers may be asleep, so release a permit for each;
            // they wake up and see `stop`.
            stop.store(true, Ordering::Release);
            waker.release(CONSUMERS);
        }
    }
}

fn main() -> Result<(), SignalIndexError> {
    let waker = SignalWaker::new();
    let mailboxes = (0..MAILBOXES)
        .map(|queue| {
            Ok(Mailbox { gate: SignalGate::new(waker.clone(), queue)?, letters: Mutex::default() })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let (stop, statistics) = (AtomicBool::new(false), Statistics::default());

    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let (mailboxes, statistics) = (&mailboxes, &statistics);
            scope.spawn(move || produce(producer, mailboxes, statistics));
        }
        for _ in 0..CONSUMERS {
            scope.spawn(|| consume(&waker, &mailboxes, &stop, &statistics));
        }
    });

    let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!("{} letters through {MAILBOXES} mailboxes:", get(&statistics.read));
    println!("  producers announced a mailbox {} times,", get(&statistics.announced));
    println!("  consumers read {} batches,", get(&statistics.batches));
    println!("  {} of which left letters behind for later.", get(&statistics.yielded));

    assert!(mailboxes.iter().all(|mailbox| mailbox.letters().is_empty()));
    let expected = PRODUCERS * (0..LETTERS_PER_PRODUCER).sum::<u64>();
    assert_eq!(get(&statistics.sum), expected, "every letter was read exactly once");
    Ok(())
}
