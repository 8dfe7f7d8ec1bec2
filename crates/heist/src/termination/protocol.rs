//! The shipping algorithm: two sums that must be equal.

use crate::intake::Intake;
use crate::sync::plant::{self, Plant};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, CachePadded, Ordering};

/// One worker's published counters: monotonic, and written by that worker alone.
#[derive(Debug)]
struct PublishedCounts {
    produced: AtomicU64,
    consumed: AtomicU64,
    /// Futures have counters of their own: the code that spawns and ends them runs on the worker's
    /// thread, but cannot reach the worker's ledger.
    futures_spawned: AtomicU64,
    futures_ended: AtomicU64,
}

/// The shared half of termination detection.
#[derive(Debug)]
pub struct Termination {
    workers: Box<[CachePadded<PublishedCounts>]>,
    /// What running tasks produce without their worker's ledger: see
    /// [`Termination::produce_inside`].
    produced_inside: CachePadded<AtomicU64>,
    /// What ended on threads that are not workers.
    pub(super) consumed_outside: CachePadded<AtomicU64>,
    /// The number of workers that hold no work and do not search.
    quiet: CachePadded<AtomicUsize>,
    done: CachePadded<AtomicBool>,
}

/// One worker's own half: the only writer of its published counters. Not `Clone`, so it stays the
/// only one.
#[derive(Debug)]
pub struct Ledger {
    worker: usize,
    produced: u64,
    consumed: u64,
    consumed_published: u64,
    quiet: bool,
}

/// What a worker learns by going quiet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WentQuiet {
    /// The worker was the last one to go quiet, so it compared the sums.
    pub checked: bool,
    /// The worker had tasks to publish in its consumed counter.
    pub flushed: bool,
    /// The pool is done. The caller must send every worker home.
    pub done: bool,
}

impl Termination {
    /// Creates the counters of `workers` workers, none of them quiet, and each worker's ledger.
    pub fn new(workers: usize) -> (Self, Vec<Ledger>) {
        let published = || {
            CachePadded::new(PublishedCounts {
                produced: AtomicU64::new(0),
                consumed: AtomicU64::new(0),
                futures_spawned: AtomicU64::new(0),
                futures_ended: AtomicU64::new(0),
            })
        };
        let termination = Self {
            workers: (0..workers).map(|_| published()).collect(),
            produced_inside: CachePadded::new(AtomicU64::new(0)),
            consumed_outside: CachePadded::new(AtomicU64::new(0)),
            quiet: CachePadded::new(AtomicUsize::new(0)),
            done: CachePadded::new(AtomicBool::new(false)),
        };
        let ledger = |worker| Ledger {
            worker,
            produced: 0,
            consumed: 0,
            consumed_published: 0,
            quiet: false,
        };
        (termination, (0..workers).map(ledger).collect())
    }

    /// Returns `true` if the pool is done. For the thread that has just closed the intake.
    #[must_use]
    pub fn closer_finds_done(&self, intake: &Intake) -> bool {
        // A read-modify-write, although it changes nothing: a worker that goes quiet later sees the
        // closed intake through it, and this thread sees every worker that went quiet earlier. With
        // a plain load each may miss the other, and `join` on an idle pool hangs.
        let quiet = plant::pick!(
            CloserOnlyLoads => self.quiet.load(Ordering::Acquire),
            _ => self.quiet.fetch_add(0, Ordering::AcqRel),
        );
        quiet == self.workers.len() && self.sums_are_equal(intake)
    }

    /// Returns `true` if the intake is closed and every task that was accepted or produced has
    /// ended.
    pub(super) fn sums_are_equal(&self, intake: &Intake) -> bool {
        let state = intake.state();
        if state.accepting {
            return false;
        }
        plant::instead!(SumsReversed => self.reversed_sums_are_equal(state.accepted));
        // Consumed first: each task that this sum counts was produced before, so the second sum
        // counts it as well. Summed the other way round, an old `produced` could equal a newer
        // `consumed` by accident.
        let consumed = self.sum_consumed();
        let produced = state.accepted + self.sum_produced();
        assert!(
            consumed <= produced,
            "heist: {consumed} tasks consumed, but only {produced} were accepted or produced"
        );
        consumed == produced
    }

    /// Counts tasks that a running task produces without its worker's ledger, because it pushes
    /// into a gated queue or waits for a permit. Call it before the tasks are published.
    ///
    /// The pool cannot be found done meanwhile: the calling worker is not quiet, and a blocking
    /// call that gets here is counted and has not ended.
    pub fn produce_inside(&self, count: u64) {
        // Relaxed, as `produced` is: the worker that consumes the task got it through a queue and
        // publishes its end with Release.
        self.produced_inside.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts futures as spawned by `worker`. Call it on that worker's thread, while the worker is
    /// not quiet, and before the futures are published.
    #[inline]
    pub fn spawn_futures_on(&self, worker: usize, count: u64) {
        let spawned = &self.workers[worker].futures_spawned;
        // Relaxed, as `produced` is.
        spawned.store(spawned.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// Counts a future as ended by `worker`. Call it on that worker's thread, while the worker is
    /// not quiet: no check is needed, because the worker will go quiet later.
    #[inline]
    pub fn end_future_on(&self, worker: usize) {
        let ended = &self.workers[worker].futures_ended;
        // Release, as for `consumed`: pairs with the Acquire of the sums.
        let order = plant::order(Plant::FutureEndRelaxed, Ordering::Release);
        ended.store(ended.load(Ordering::Relaxed) + 1, order);
    }

    /// Counts one task as ended on a thread that is not a worker. Returns `true` if the pool is
    /// done now; the caller must then send every worker home.
    ///
    /// This thread checks, because all workers may already be quiet.
    #[must_use]
    pub fn consume_outside(&self, intake: &Intake) -> bool {
        // Release: pairs with the Acquire of the sums. The read-modify-write of the quiet count in
        // the check orders this thread and the last worker to go quiet: one of the two sees the
        // other.
        self.consumed_outside.fetch_add(1, Ordering::Release);
        plant::instead!(EndOutsideUnchecked => false);
        self.closer_finds_done(intake)
    }

    pub(super) fn sum_consumed(&self) -> u64 {
        // Acquire pairs with the Release of `publish_consumed` and brings along every `produced`
        // store that led to these tasks.
        let by_worker = |worker: &CachePadded<PublishedCounts>| {
            worker.consumed.load(Ordering::Acquire) + worker.futures_ended.load(Ordering::Acquire)
        };
        let by_workers: u64 = self.workers.iter().map(by_worker).sum();
        by_workers + self.consumed_outside.load(Ordering::Acquire)
    }

    /// Returns how many tasks and futures were produced inside the pool, as far as this thread
    /// sees.
    pub(crate) fn sum_produced(&self) -> u64 {
        let by_worker = |worker: &CachePadded<PublishedCounts>| {
            worker.produced.load(Ordering::Relaxed) + worker.futures_spawned.load(Ordering::Relaxed)
        };
        let by_workers: u64 = self.workers.iter().map(by_worker).sum();
        by_workers + self.produced_inside.load(Ordering::Relaxed)
    }

    /// Declares the pool done. The caller then gives every worker a token.
    pub fn set_done(&self) {
        self.done.store(true, Ordering::Release);
    }

    /// Returns `true` once the pool was declared done. Workers call it after each token.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

impl Ledger {
    /// Counts `count` tasks as produced, **then** calls `push` to publish them. The other way
    /// round, a thief could run such a task and count it as consumed before it counts as produced.
    #[inline(always)]
    pub fn produce(&mut self, termination: &Termination, count: u64, push: impl FnOnce()) {
        self.produced += count;
        termination.workers[self.worker].produced.store(self.produced, Ordering::Relaxed);
        push();
    }

    /// Counts one task as ended. The count is published when the worker goes quiet; until then no
    /// check can succeed, so no other thread needs it.
    #[inline]
    pub fn consume(&mut self) {
        self.consumed += 1;
    }

    /// Publishes the worker's counts and marks it as quiet: it holds no task and is about to park.
    /// The last worker to go quiet compares the sums. Does nothing if the worker is already quiet.
    #[must_use]
    pub fn go_quiet(&mut self, termination: &Termination, intake: &Intake) -> WentQuiet {
        if self.quiet {
            return WentQuiet::default();
        }
        let flushed = self.publish_consumed(termination);
        self.quiet = true;
        // AcqRel: the last worker sees everything that the others published before they got here.
        let checked =
            termination.quiet.fetch_add(1, Ordering::AcqRel) == termination.workers.len() - 1;
        WentQuiet { checked, flushed, done: checked && termination.sums_are_equal(intake) }
    }

    /// Publishes the consumed tasks. Returns `true` if there were any to publish.
    pub(super) fn publish_consumed(&mut self, termination: &Termination) -> bool {
        let is_due = self.consumed != self.consumed_published;
        if is_due {
            // Release: pairs with the Acquire of the sums.
            let order = plant::order(Plant::ConsumedRelaxed, Ordering::Release);
            termination.workers[self.worker].consumed.store(self.consumed, order);
            self.consumed_published = self.consumed;
        }
        is_due
    }

    /// Marks the worker as busy: it has taken a task and is about to run it. Returns `true` if it
    /// was quiet.
    #[inline]
    pub fn leave_quiet(&mut self, termination: &Termination) -> bool {
        let was_quiet = self.quiet;
        if was_quiet {
            self.quiet = false;
            termination.quiet.fetch_sub(1, Ordering::AcqRel);
        }
        was_quiet
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_quiet_worker_of_a_closed_pool_finds_done() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(2);
        assert!(intake.try_accept(1));
        intake.close();

        assert!(!ledgers[1].go_quiet(&termination, &intake).checked);
        ledgers[0].produce(&termination, 1, || ());
        ledgers[0].consume();
        let quiet = ledgers[0].go_quiet(&termination, &intake);
        assert_eq!(quiet, WentQuiet { checked: true, flushed: true, done: false });
        assert!(!termination.closer_finds_done(&intake), "one task is still queued");

        ledgers[1].leave_quiet(&termination);
        ledgers[1].consume();
        assert!(ledgers[1].go_quiet(&termination, &intake).done);
        assert!(termination.closer_finds_done(&intake));
    }

    #[test]
    fn an_open_intake_is_never_done() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        let quiet = ledgers[0].go_quiet(&termination, &intake);
        assert_eq!(quiet, WentQuiet { checked: true, flushed: false, done: false });
        intake.close();
        assert!(termination.closer_finds_done(&intake));
    }

    #[test]
    fn a_pool_is_done_once_it_was_declared_done() {
        let (termination, _ledgers) = Termination::new(1);
        assert!(!termination.is_done());
        termination.set_done();
        assert!(termination.is_done());
    }

    #[test]
    fn a_quiet_worker_is_not_counted_again() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(2);
        let nothing = WentQuiet::default();
        assert_eq!(ledgers[0].go_quiet(&termination, &intake), nothing);
        assert_eq!(
            ledgers[0].go_quiet(&termination, &intake),
            nothing,
            "the other worker is not quiet"
        );
    }

    #[test]
    fn consumed_tasks_are_published_once() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        ledgers[0].consume();
        assert!(ledgers[0].go_quiet(&termination, &intake).flushed);
        ledgers[0].leave_quiet(&termination);
        assert!(!ledgers[0].go_quiet(&termination, &intake).flushed);
    }

    #[test]
    fn what_ends_outside_is_counted_and_checked() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        assert!(intake.try_accept(2));
        assert!(!termination.consume_outside(&intake), "the intake is open");
        intake.close();
        assert!(!ledgers[0].go_quiet(&termination, &intake).done, "one is left");
        assert!(termination.consume_outside(&intake));
    }

    #[test]
    fn what_a_task_produces_without_its_ledger_is_counted() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        assert!(intake.try_accept(1));
        intake.close();
        termination.produce_inside(1);
        ledgers[0].consume();
        assert!(!ledgers[0].go_quiet(&termination, &intake).done);
        ledgers[0].leave_quiet(&termination);
        ledgers[0].consume();
        assert!(ledgers[0].go_quiet(&termination, &intake).done);
    }

    #[test]
    #[should_panic(expected = "1 tasks consumed, but only 0 were accepted or produced")]
    fn a_task_consumed_twice_is_noticed() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        intake.close();
        ledgers[0].consume();
        let _ = ledgers[0].go_quiet(&termination, &intake);
    }
}
