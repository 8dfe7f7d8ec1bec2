//! Tests of signals and gates on real threads: fair selection, indices, waiting, and 4,096 gates
//! under load.

use crate::support::sync::Mutex;
use crate::support::{wait_until, watched};
use heist::__internal::sync::Arc;
use heist::AcquireError;
use heist::rng::XorShift64;
use heist::signal::{
    AcquiredBit, GateGuard, QUEUES_MAX, SetBit, SignalGate, SignalIndexError, SignalIndexKind,
    SignalPermit, SignalWaker,
};
use heist::{Executor, ExecutorConfig};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::{Duration, Instant};

fn announce_all(waker: &SignalWaker, ready: impl IntoIterator<Item = usize>) {
    for queue in ready {
        waker.announce(queue).unwrap();
    }
}

fn take_all(waker: &SignalWaker) -> Vec<usize> {
    std::iter::from_fn(|| waker.take_ready()).collect()
}

#[test]
fn every_ready_queue_is_taken_once_in_rotation() {
    let waker = SignalWaker::new();
    announce_all(&waker, 0..QUEUES_MAX);
    assert_eq!(waker.summary(), u64::MAX);
    assert_eq!(waker.permits(), 64, "one for each signal");
    assert_eq!(take_all(&waker), (0..QUEUES_MAX).collect::<Vec<_>>());
    assert_eq!((waker.summary(), waker.permits()), (0, 0));
}

#[test]
fn queues_that_are_always_ready_do_not_starve_another() {
    let waker = SignalWaker::new();
    // All queues except one become ready again as soon as they are taken. That one is ready once.
    let once = 1_234;
    announce_all(&waker, 0..QUEUES_MAX);
    let mut takes = vec![0; QUEUES_MAX];
    for _ in 0..3 * QUEUES_MAX {
        let queue = waker.take_ready().expect("nearly all are ready");
        takes[queue] += 1;
        if queue != once {
            assert!(waker.announce(queue).unwrap());
        }
    }
    assert_eq!(takes[once], 1);
    let others = takes.iter().enumerate().filter(|(queue, _)| *queue != once);
    assert!(others.clone().all(|(_, takes)| *takes >= 3), "the others were taken in rotation");
}

#[test]
fn a_newly_ready_queue_waits_at_most_for_those_that_are_ready() {
    let mut rng = XorShift64::new(7);
    for busy in [1, 2, 63, 64, 65, 500] {
        let waker = SignalWaker::new();
        let busy: BTreeSet<_> =
            std::iter::repeat_with(|| rng.below_usize(QUEUES_MAX)).take(busy).collect();
        announce_all(&waker, busy.iter().copied());
        for _ in 0..100 {
            let newcomer = rng.below_usize(QUEUES_MAX);
            if !busy.contains(&newcomer) {
                waker.announce(newcomer).unwrap();
            }
            let mut waited = 0;
            loop {
                let queue = waker.take_ready().expect("some are always ready");
                if busy.contains(&queue) {
                    waker.announce(queue).unwrap();
                }
                if queue == newcomer {
                    break;
                }
                waited += 1;
                assert!(waited <= busy.len(), "{newcomer} was overtaken");
            }
        }
    }
}

/// Returns the first ready queue at or after `start`, wrapping around: slow and obvious.
fn nearest_of(ready: &BTreeSet<usize>, start: usize) -> Option<usize> {
    let start = start % QUEUES_MAX;
    ready.range(start..).chain(ready.range(..start)).next().copied()
}

#[test]
fn behaves_like_an_ordered_set_with_a_cursor() {
    let mut rng = XorShift64::new(11);
    for spread in [3, 64, 130, QUEUES_MAX] {
        let waker = SignalWaker::new();
        let mut expected = BTreeSet::new();
        let mut cursor = 0;
        for _ in 0..20_000 {
            let queue = rng.below_usize(spread);
            match rng.below(3) {
                0 => assert_eq!(waker.announce(queue), Ok(expected.insert(queue))),
                1 => {
                    let taken = waker.take_ready();
                    assert_eq!(taken, nearest_of(&expected, cursor), "from {cursor}");
                    if let Some(queue) = taken {
                        expected.remove(&queue);
                        cursor = queue + 1;
                    }
                }
                _ => assert_eq!(waker.select(queue), nearest_of(&expected, queue)),
            }
            let signals: BTreeSet<_> = expected.iter().map(|queue| queue / 64).collect();
            assert_eq!(waker.permits(), signals.len() as u64, "one for each signal");
            assert_eq!(waker.summary(), signals.iter().map(|signal| 1_u64 << signal).sum::<u64>());
        }
    }
}

#[test]
fn indices_out_of_range_are_errors() {
    let waker = SignalWaker::new();
    fn refused<T>(result: Result<T, SignalIndexError>) -> Option<(SignalIndexKind, usize)> {
        result.err().map(|error| (error.kind, error.index))
    }
    let queue = Some((SignalIndexKind::Queue, 4_096));
    let signal = |index| Some((SignalIndexKind::Signal, index));
    let bit = |index| Some((SignalIndexKind::Bit, index));
    assert_eq!(refused(waker.announce(4_096)), queue);
    assert_eq!(refused(SignalGate::new(waker.clone(), 4_096)), queue);
    assert_eq!(refused(SignalGate::at(waker.clone(), 64, 0)), signal(64));
    assert_eq!(refused(SignalGate::at(waker.clone(), 63, usize::MAX)), bit(usize::MAX));
    assert_eq!(refused(waker.signal(64)), signal(64));
    assert_eq!(refused(waker.mark_active(65)), signal(65));
    assert_eq!(refused(waker.clear_if_empty(66)), signal(66));
    assert_eq!((waker.summary(), waker.permits()), (0, 0), "nothing has changed");
    waker.announce(4_095).unwrap();
    let permit = waker.try_acquire().unwrap();
    assert_eq!(refused(permit.clear(64)), signal(64));
    assert_eq!(waker.permits(), 1, "the permit was passed on");
    assert_eq!(waker.select(usize::MAX), Some(4_095), "the start wraps around");
}

#[test]
fn the_steps_of_the_protocol_one_by_one() {
    let waker = SignalWaker::new();
    let signal = waker.signal(3).unwrap();
    assert_eq!(signal.index(), 3);
    assert_eq!(signal.set(7), Ok(SetBit::WasEmpty));
    assert_eq!(waker.take_ready(), None, "the signal is not marked yet");
    assert_eq!(waker.mark_active(3), Ok(true));
    assert_eq!(waker.mark_active(3), Ok(false), "it is already marked");
    assert_eq!(signal.set(9), Ok(SetBit::WasNotEmpty));
    assert_eq!(waker.permits(), 1);

    let permit = waker.try_acquire().unwrap();
    assert!(waker.try_acquire().is_none());
    assert_eq!(waker.select(0), Some(3 * 64 + 7));
    assert_eq!(signal.acquire(7), Ok(AcquiredBit::LeftOthers));
    drop(permit);
    assert_eq!(waker.permits(), 1, "the permit was passed on");

    assert_eq!(waker.clear_if_empty(3), Ok(false), "the signal is not empty");
    assert_eq!((waker.summary(), waker.permits()), (1 << 3, 1));
    let permit = waker.try_acquire().unwrap();
    assert_eq!(signal.acquire(9), Ok(AcquiredBit::WasLast));
    permit.clear(3).unwrap();
    assert_eq!((waker.summary(), waker.permits()), (0, 0), "the permit was used up with the mark");

    waker.announce(200).unwrap();
    assert_eq!(signal.acquire(8), Ok(AcquiredBit::WasLast));
    assert_eq!(waker.clear_if_empty(3), Ok(true));
    assert_eq!((waker.summary(), waker.permits()), (0, 0), "the same without holding a permit");
}

#[test]
fn permits_that_belong_to_no_queue_are_used_up_and_not_missed() {
    let waker = SignalWaker::new();
    waker.release(3);
    waker.announce(5).unwrap();
    assert_eq!(waker.permits(), 4);
    assert_eq!(waker.take_ready(), Some(5));
    assert_eq!(waker.take_ready(), None);
    waker.announce(6).unwrap();
    assert_eq!(waker.take_ready(), Some(6));
    while waker.permits() > 0 {
        assert_eq!(waker.take_ready(), None);
    }
    waker.release(u64::MAX);
    waker.release(u64::MAX);
    assert!(waker.permits() >= 64, "saturated, but enough for every signal");
    waker.announce(7).unwrap();
    assert_eq!(waker.take_ready(), Some(7));
}

#[test]
fn a_late_mark_is_cleared_by_the_consumer_that_finds_the_signal_empty() {
    let waker = SignalWaker::new();
    let signal = waker.signal(0).unwrap();
    assert_eq!(signal.set(1), Ok(SetBit::WasEmpty));
    assert_eq!(signal.acquire(1), Ok(AcquiredBit::WasLast), "taken before its producer's mark");
    assert_eq!(waker.mark_active(0), Ok(true));
    // A second signal is ready. Work comes before tidying.
    waker.announce(64).unwrap();
    assert_eq!(waker.take_ready(), Some(64));
    assert_eq!((waker.summary(), waker.permits()), (1, 1));
    assert_eq!(waker.take_ready(), None);
    assert_eq!((waker.summary(), waker.permits()), (0, 0));
    waker.announce(1).unwrap();
    assert_eq!(waker.take_ready(), Some(1));
}

#[test]
fn a_blocking_acquire_sleeps_until_a_queue_is_ready() {
    watched(|| {
        let waker = SignalWaker::new();
        thread::scope(|scope| {
            let consumer = scope.spawn(|| waker.acquire().unwrap().take_ready());
            thread::sleep(Duration::from_millis(20));
            assert!(!consumer.is_finished());
            waker.announce(77).unwrap();
            assert_eq!(consumer.join().unwrap(), Some(77));
        });
    });
}

#[test]
fn a_timed_acquire_gives_up_and_leaves_the_permit_to_others() {
    watched(|| {
        let waker = SignalWaker::new();
        let started = Instant::now();
        let timeout = Duration::from_millis(20);
        assert_eq!(waker.acquire_timeout(timeout).unwrap_err(), AcquireError::TimedOut);
        assert!(started.elapsed() >= timeout);
        waker.announce(1).unwrap();
        let permit = waker.acquire_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(permit.take_ready(), Some(1));
    });
}

#[test]
fn a_blocking_acquire_on_a_worker_is_an_error_unless_it_need_not_wait() {
    watched(|| {
        let waker = SignalWaker::new();
        let (answers, all_answers) = channel();
        let on_worker = Arc::clone(&waker);
        let executor = Executor::new(
            ExecutorConfig::new(1),
            |_worker| (),
            move |queue: Option<usize>, _ctx| {
                let taken = on_worker.acquire().map(SignalPermit::take_ready);
                answers.send((queue, taken)).unwrap();
            },
        )
        .unwrap();
        executor.spawn(None).unwrap();
        assert_eq!(all_answers.recv().unwrap(), (None, Err(AcquireError::OnWorker)));
        waker.announce(9).unwrap();
        executor.spawn(Some(9)).unwrap();
        let answer = all_answers.recv().unwrap();
        assert_eq!(answer, (Some(9), Ok(Some(9))), "there was no need to wait");
        executor.join();
    });
}

#[derive(Default)]
struct CountsWakes(AtomicUsize);

impl Wake for CountsWakes {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_async_acquire_is_woken_and_passes_its_permit_on_when_it_is_dropped() {
    let waker = SignalWaker::new();
    let wakes = std::sync::Arc::new(CountsWakes::default());
    let task = wakes.clone().into();
    let mut cx = Context::from_waker(&task);
    let mut second = pin!(waker.acquire_async());
    {
        let mut first = pin!(waker.acquire_async());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        waker.announce(4).unwrap();
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "the first is granted the permit");
        assert!(waker.try_acquire().is_none());
    }
    assert_eq!(wakes.0.load(Ordering::SeqCst), 2, "after it was dropped, the second is granted it");
    let Poll::Ready(Ok(permit)) = second.as_mut().poll(&mut cx) else { panic!("granted") };
    assert_eq!(permit.take_ready(), Some(4));
    assert_eq!((waker.summary(), waker.permits()), (0, 0));
}

#[test]
fn all_types_can_be_shared_between_threads_and_gates_are_small() {
    fn shared<T: Send + Sync>() {}
    shared::<SignalWaker>();
    shared::<SignalGate>();
    shared::<GateGuard<'_>>();
    shared::<SignalPermit<'_>>();
    fn sendable<T: Send>(_: T) {}
    sendable(SignalWaker::new().acquire_async());
    assert!(size_of::<SignalGate>() <= 40);
}

/// An item: its producer, and its number for that producer and that queue.
type Item = (usize, u32);

struct Mailbox {
    gate: SignalGate,
    into: Sender<Item>,
    occupied: AtomicBool,
    /// The consumer's end and the counts by producer. The lock is never contended, because only one
    /// consumer has begun.
    out_of: Mutex<(Receiver<Item>, BTreeMap<usize, u32>)>,
}

struct Load {
    waker: Arc<SignalWaker>,
    mailboxes: Vec<Mailbox>,
    consumed: AtomicUsize,
    stop: AtomicBool,
}

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 2;
const ITEMS_PER_PRODUCER: usize = 40_000;

impl Load {
    fn new(queues: usize) -> Self {
        let waker = SignalWaker::new();
        let mailbox = |queue| {
            let (into, out_of) = channel();
            Mailbox {
                gate: SignalGate::new(waker.clone(), queue).unwrap(),
                into,
                occupied: AtomicBool::new(false),
                out_of: Mutex::new((out_of, BTreeMap::new())),
            }
        };
        let mailboxes = (0..queues).map(mailbox).collect();
        Self { waker, mailboxes, consumed: AtomicUsize::new(0), stop: AtomicBool::new(false) }
    }

    fn produce(&self, producer: usize) {
        let mut rng = XorShift64::new(producer as u64 + 1);
        let mut numbers = vec![0; self.mailboxes.len()];
        for _ in 0..ITEMS_PER_PRODUCER {
            let queue = rng.below_usize(self.mailboxes.len());
            self.mailboxes[queue].into.send((producer, numbers[queue])).unwrap();
            self.mailboxes[queue].gate.schedule();
            numbers[queue] += 1;
            // Let the queues run empty from time to time, so that consumers go to sleep and must be
            // woken.
            if rng.below(1_000) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn consume(&self, consumer: usize) {
        let mut rng = XorShift64::new(consumer as u64 + 100);
        while !self.stop.load(Ordering::Acquire) {
            let Some(queue) = self.waker.acquire().unwrap().take_ready() else { continue };
            let mailbox = &self.mailboxes[queue];
            let Some(guard) = mailbox.gate.begin() else { continue };
            // One in a hundred batches ends in a panic, after its first item.
            let panics = rng.below(100) == 0;
            let batch = rng.below_usize(8) + 1;
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let guard = guard;
                if self.empty(mailbox, batch, panics) {
                    guard.finish();
                } else {
                    guard.finish_and_schedule();
                }
            }));
            assert!(outcome.is_ok() || panics, "an unexpected panic");
        }
    }

    /// Takes up to a batch of items. Returns `true` if the queue was empty then.
    fn empty(&self, mailbox: &Mailbox, batch: usize, panics: bool) -> bool {
        assert!(!mailbox.occupied.swap(true, Ordering::AcqRel), "one consumer at a time");
        let mut inside = mailbox.out_of.lock().unwrap();
        let (out_of, numbers) = &mut *inside;
        let mut taken = 0;
        for (producer, number) in out_of.try_iter().take(if panics { 1 } else { batch }) {
            let next = numbers.entry(producer).or_default();
            assert_eq!(number, *next, "in the order of producer {producer}");
            *next += 1;
            taken += 1;
        }
        drop(inside);
        mailbox.occupied.store(false, Ordering::Release);
        self.consumed.fetch_add(taken, Ordering::SeqCst);
        if panics {
            resume_unwind(Box::new("deliberate panic"));
        }
        taken < batch
    }
}

/// Checks that every item is consumed exactly once and in order, by one consumer at a time,
/// although batches end early and consumers panic.
fn load_on(queues: usize) {
    watched(move || {
        let load = Load::new(queues);
        let load = &load;
        thread::scope(|scope| {
            let producers =
                (0..PRODUCERS).map(|producer| scope.spawn(move || load.produce(producer)));
            let producers: Vec<_> = producers.collect();
            let consumers =
                (0..CONSUMERS).map(|consumer| scope.spawn(move || load.consume(consumer)));
            let consumers: Vec<_> = consumers.collect();
            wait_until("everything was consumed", || {
                load.consumed.load(Ordering::SeqCst) == PRODUCERS * ITEMS_PER_PRODUCER
            });
            load.stop.store(true, Ordering::Release);
            load.waker.release(CONSUMERS as u64);
            // Joined one by one: ThreadSanitizer does not see a scope wait for its threads.
            for thread in producers.into_iter().chain(consumers) {
                thread.join().unwrap();
            }
        });
        let came_out = |mailbox: &Mailbox| mailbox.out_of.lock().unwrap().1.values().sum::<u32>();
        let total: u32 = load.mailboxes.iter().map(came_out).sum();
        assert_eq!(total as usize, PRODUCERS * ITEMS_PER_PRODUCER);
    });
}

#[test]
fn random_producers_and_two_consumers_over_4096_gates() {
    load_on(QUEUES_MAX);
}

#[test]
fn random_producers_and_two_consumers_over_one_gate() {
    load_on(1);
}

#[test]
fn random_producers_and_two_consumers_over_two_signals() {
    load_on(66);
}
