//! A thousand mailboxes, three producers, two consumers: nobody polls a mailbox, and no mailbox has a thread.
//!
//! Each mailbox is a queue with a gate. A producer pushes a letter and *then* schedules the gate; only the first of
//! many has anything to do there. A consumer sleeps until some mailbox is ready, takes it, and reads a batch. If the
//! mailbox is empty then, it finishes; if not, it gives the mailbox back and lets others have their turn first.
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

/// How many letters are read from one mailbox before others get their turn.
const BATCH: usize = 16;

/// A queue and its gate. Any queue will do that several threads may push to.
struct Mailbox {
    gate: SignalGate,
    letters: Mutex<VecDeque<u64>>,
}

impl Mailbox {
    fn letters(&self) -> MutexGuard<'_, VecDeque<u64>> {
        // Whoever panicked with the lock has pushed a letter or has not.
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Statistics {
    /// Letters that were read, and their sum: to see that none is missing.
    read: AtomicU64,
    sum: AtomicU64,
    /// Letters whose producer had to announce the mailbox: it was idle.
    announced: AtomicU64,
    batches: AtomicU64,
    /// Batches that left letters behind, for a later turn.
    yielded: AtomicU64,
}

fn produce(producer: u64, mailboxes: &[Mailbox], statistics: &Statistics) {
    let mut rng = XorShift64::new(producer + 1);
    for letter in 0..LETTERS_PER_PRODUCER {
        let mailbox = &mailboxes[rng.below_usize(mailboxes.len())];
        // First publish, then schedule. The other way round, a consumer might come, find nothing, and go.
        mailbox.letters().push_back(letter);
        if mailbox.gate.schedule() {
            statistics.announced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn consume(waker: &SignalWaker, mailboxes: &[Mailbox], stop: &AtomicBool, statistics: &Statistics) {
    // Sleeps while nothing is ready. An error would mean that this thread belongs to an executor, which must not be
    // blocked; ours does not.
    while let Ok(permit) = waker.acquire() {
        // The permit says that some mailbox is ready, and this picks one; all that are ready get their turn. Rarely it
        // was taken before its producer had told everybody; and at the end a permit stands for nothing, to wake us.
        let Some(queue) = permit.take_ready() else {
            if stop.load(Ordering::Acquire) {
                return;
            }
            continue;
        };
        let mailbox = &mailboxes[queue];
        // From here on this mailbox is ours alone, until the guard is finished. If reading panicked, dropping the
        // guard would give the mailbox back, and another consumer would read the rest.
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
            // A letter that came in since is not lost: its producer found us at work, and this announces the mailbox
            // again.
            guard.finish();
        } else {
            statistics.yielded.fetch_add(1, Ordering::Relaxed);
            guard.finish_and_schedule();
        }
        let before = statistics.read.fetch_add(batch.len() as u64, Ordering::AcqRel);
        if before + batch.len() as u64 == PRODUCERS * LETTERS_PER_PRODUCER {
            // That was the last letter. The others may sleep: a permit each wakes them, for nothing but to look.
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
    println!("  {} times a producer announced a mailbox,", get(&statistics.announced));
    println!("  {} batches were read,", get(&statistics.batches));
    println!("  {} of them left letters for a later turn.", get(&statistics.yielded));

    assert!(mailboxes.iter().all(|mailbox| mailbox.letters().is_empty()));
    let expected = PRODUCERS * (0..LETTERS_PER_PRODUCER).sum::<u64>();
    assert_eq!(get(&statistics.sum), expected, "every letter was read once");
    Ok(())
}
