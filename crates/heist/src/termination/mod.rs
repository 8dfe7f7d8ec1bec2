//! When everything is done.
//!
//! Every worker counts, on a cache line of its own, the tasks that it produced and the tasks that it
//! consumed. The pool is done when the intake is closed and as many tasks were consumed as were accepted and
//! produced. The check costs a pass over all workers, so it is made only when it can succeed: by the last
//! worker to go quiet, and by whoever closes the intake of a pool that is quiet already. The order of every
//! step matters; `PROTOCOL.md` beside this file says why.
//!
//! Not guaranteed: that a sum read while work is under way means anything. Only equality does.

#[cfg(heist_plant)]
mod rejected;

use crate::intake::Intake;
use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, CachePadded, Ordering};

/// One worker's published counters: monotonic, and written by that worker alone.
#[derive(Debug)]
struct PublishedCounts {
    produced: AtomicU64,
    consumed: AtomicU64,
    /// Futures apart: they are spawned and end in code that has no ledger in hand, but the worker's thread under it.
    futures_spawned: AtomicU64,
    futures_ended: AtomicU64,
}

/// The shared half of termination detection.
#[derive(Debug)]
pub struct Termination {
    workers: Box<[CachePadded<PublishedCounts>]>,
    /// What running tasks produced by other ways than their worker's own: see [`Termination::produce_inside`].
    produced_inside: CachePadded<AtomicU64>,
    /// What ended on a thread that is no worker.
    consumed_outside: CachePadded<AtomicU64>,
    /// How many workers hold no work and do not search.
    quiet: CachePadded<AtomicUsize>,
    done: CachePadded<AtomicBool>,
    #[cfg(heist_plant)]
    rejected: Option<rejected::Scheme>,
}

/// One worker's own half: the only writer of its published counters. Not `Clone`, so there is only one.
#[derive(Debug)]
pub struct Ledger {
    worker: usize,
    produced: u64,
    consumed: u64,
    consumed_published: u64,
    quiet: bool,
    /// Produced minus consumed, as far as a rejected scheme has not published it.
    #[cfg(heist_plant)]
    delta: i64,
}

/// What a worker learnt by going quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WentQuiet {
    /// It was the last one, so it has checked the sums.
    pub checked: bool,
    /// Its consumed counter had to be published.
    pub flushed: bool,
    /// Everything is done. The caller must say so to everybody.
    pub done: bool,
}

impl Termination {
    /// Counters for `workers` workers, none of them quiet, and each one's ledger.
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
            #[cfg(heist_plant)]
            rejected: rejected::Scheme::planted(workers),
        };
        let ledger = |worker| Ledger {
            worker,
            produced: 0,
            consumed: 0,
            consumed_published: 0,
            quiet: false,
            #[cfg(heist_plant)]
            delta: 0,
        };
        (termination, (0..workers).map(ledger).collect())
    }

    /// The closer's check, after it has closed the intake: done already?
    ///
    /// The read-modify-write is the point. A worker that goes quiet after it sees the closed intake through
    /// it; one that went quiet before is seen here. With a plain load both may miss each other, and `join`
    /// on an idle pool hangs.
    #[must_use]
    pub fn closer_finds_done(&self, intake: &Intake) -> bool {
        if planted(Plant::CloserDoesNotCheck) {
            return false;
        }
        #[cfg(heist_plant)]
        if let Some(scheme) = &self.rejected {
            return scheme.closer_finds_done(self, intake);
        }
        let quiet = if planted(Plant::CloserOnlyLoads) {
            self.quiet.load(Ordering::Acquire)
        } else {
            self.quiet.fetch_add(0, Ordering::AcqRel)
        };
        quiet == self.workers.len() && self.sums_are_equal(intake)
    }

    /// Whether the intake is closed and every task that ever came in or was spawned has ended.
    fn sums_are_equal(&self, intake: &Intake) -> bool {
        let state = intake.state();
        if state.accepting {
            return false;
        }
        if planted(Plant::SumsReversed) {
            return self.reversed_sums_are_equal(state.accepted);
        }
        // Consumed first: what was consumed before this moment was produced before it, so the sums can only
        // be equal if nothing was left over in between. Produced first would compare an old "produced" with
        // a newer "consumed", and they can be equal by accident.
        let consumed = self.sum_consumed();
        let produced = state.accepted + self.sum_produced();
        assert!(
            consumed <= produced,
            "heist: {consumed} tasks consumed, but only {produced} were accepted or produced"
        );
        consumed == produced
    }

    fn reversed_sums_are_equal(&self, accepted: u64) -> bool {
        let produced = self.sum_produced();
        self.sum_consumed() == accepted + produced
    }

    /// Counts tasks that a running task produces without its worker's ledger in hand (it pushes into a gated queue, or
    /// waits for a permit). To be called before the tasks are published. Never refused: the worker that calls is not
    /// quiet, so nobody finds the pool done meanwhile. Nor is it while a blocking call runs, which is counted and has
    /// not ended.
    pub fn produce_inside(&self, count: u64) {
        // Relaxed, as `produced`: whoever consumes the task got it through a queue, and publishes that with Release;
        // and so does a blocking call, by its end.
        self.produced_inside.fetch_add(count, Ordering::Relaxed);
        #[cfg(heist_plant)]
        if let Some(scheme) = &self.rejected {
            scheme.count_at_once(count as i64);
        }
    }

    /// Counts futures as spawned by worker `worker`, on whose thread this must be, and which must not be quiet. To be
    /// called before they are published.
    #[inline]
    pub fn spawn_futures_on(&self, worker: usize, count: u64) {
        let spawned = &self.workers[worker].futures_spawned;
        // Relaxed, as `produced`.
        spawned.store(spawned.load(Ordering::Relaxed) + count, Ordering::Relaxed);
        #[cfg(heist_plant)]
        if let Some(scheme) = &self.rejected {
            scheme.count_at_once(count as i64);
        }
    }

    /// Counts a future as ended on the thread of worker `worker`, which must not be quiet. Nobody needs to check: that
    /// worker will go quiet.
    #[inline]
    pub fn end_future_on(&self, worker: usize) {
        let ended = &self.workers[worker].futures_ended;
        let order = if planted(Plant::FutureEndRelaxed) {
            Ordering::Relaxed
        } else {
            // Pairs with the Acquire of the sums, as `consumed`.
            Ordering::Release
        };
        ended.store(ended.load(Ordering::Relaxed) + 1, order);
        #[cfg(heist_plant)]
        if let Some(scheme) = &self.rejected {
            scheme.count_at_once(-1);
        }
    }

    /// Counts one task as ended on a thread that is no worker. Says whether everything is done now: the check is this
    /// thread's duty, because the workers may all be quiet already. The caller must then say so to everybody.
    #[must_use]
    pub fn consume_outside(&self, intake: &Intake) -> bool {
        // Release: pairs with the Acquire of the sums. The RMW on the quiet count in the check orders this against the
        // last worker to go quiet: either it sees this, or we see it.
        self.consumed_outside.fetch_add(1, Ordering::Release);
        #[cfg(heist_plant)]
        if let Some(scheme) = &self.rejected {
            scheme.count_at_once(-1);
        }
        if planted(Plant::EndOutsideUnchecked) {
            return false;
        }
        self.closer_finds_done(intake)
    }

    fn sum_consumed(&self) -> u64 {
        // Acquire pairs with the Release of `go_quiet`: it brings every `produced` that led to these.
        let by_worker = |worker: &CachePadded<PublishedCounts>| {
            worker.consumed.load(Ordering::Acquire) + worker.futures_ended.load(Ordering::Acquire)
        };
        let by_workers: u64 = self.workers.iter().map(by_worker).sum();
        by_workers + self.consumed_outside.load(Ordering::Acquire)
    }

    /// How many tasks and futures were spawned inside, as far as this thread can see.
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

    /// Whether done must also be asked of the queues: in none but the rejected schemes.
    #[inline(always)]
    pub fn asks_the_queues(&self) -> bool {
        #[cfg(heist_plant)]
        if let Some(scheme) = &self.rejected {
            return scheme.asks_the_queues();
        }
        false
    }

    /// Whether the pool was declared done. Workers read it after each token.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

impl Ledger {
    /// Counts `count` tasks as produced, **then** lets `push` publish them: a thief that runs such a task and
    /// counts it as consumed must not be seen without the production.
    #[inline(always)]
    pub fn produce(&mut self, termination: &Termination, count: u64, push: impl FnOnce()) {
        self.produced += count;
        #[cfg(heist_plant)]
        if let Some(scheme) = &termination.rejected {
            scheme.count(&mut self.delta, count as i64);
        }
        let produced = &termination.workers[self.worker].produced;
        if planted(Plant::ProducedAfterPush) {
            push();
            return produced.store(self.produced, Ordering::Relaxed);
        }
        produced.store(self.produced, Ordering::Relaxed);
        push();
    }

    /// Counts one task as ended. Published when the worker goes quiet, not before: until then this worker is
    /// known to be busy, so nobody needs the figure.
    #[inline]
    #[cfg_attr(not(heist_plant), expect(unused_variables, reason = "for the rejected schemes"))]
    pub fn consume(&mut self, termination: &Termination) {
        self.consumed += 1;
        #[cfg(heist_plant)]
        if let Some(scheme) = &termination.rejected {
            scheme.count(&mut self.delta, -1);
        }
    }

    /// The worker holds no task and is about to park: publishes its counts and, as the last worker to get
    /// here, checks whether everything is done. Does nothing if the worker is quiet already.
    #[must_use]
    pub fn go_quiet(&mut self, termination: &Termination, intake: &Intake) -> WentQuiet {
        if self.quiet {
            return WentQuiet { checked: false, flushed: false, done: false };
        }
        let flushed = self.consumed != self.consumed_published;
        if flushed {
            let order = if planted(Plant::ConsumedRelaxed) {
                Ordering::Relaxed
            } else {
                // Pairs with the Acquire of the sums.
                Ordering::Release
            };
            termination.workers[self.worker].consumed.store(self.consumed, order);
            self.consumed_published = self.consumed;
        }
        self.quiet = true;
        #[cfg(heist_plant)]
        if let Some(scheme) = &termination.rejected {
            let (checked, done) =
                scheme.went_quiet(termination, intake, self.worker, &mut self.delta);
            return WentQuiet { checked, flushed, done };
        }
        // AcqRel: the last one has everything that the others published before they got here.
        let checked =
            termination.quiet.fetch_add(1, Ordering::AcqRel) == termination.workers.len() - 1;
        WentQuiet { checked, flushed, done: checked && termination.sums_are_equal(intake) }
    }

    /// The worker has taken a task and is about to run it. Says whether it was quiet.
    #[inline]
    pub fn leave_quiet(&mut self, termination: &Termination) -> bool {
        let was_quiet = self.quiet;
        if was_quiet {
            self.quiet = false;
            #[cfg(heist_plant)]
            if let Some(scheme) = &termination.rejected {
                scheme.left_quiet(self.worker);
                return true;
            }
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
        ledgers[0].consume(&termination);
        let quiet = ledgers[0].go_quiet(&termination, &intake);
        assert_eq!(quiet, WentQuiet { checked: true, flushed: true, done: false });
        assert!(!termination.closer_finds_done(&intake), "one task is still queued");

        ledgers[1].leave_quiet(&termination);
        ledgers[1].consume(&termination);
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
    fn a_pool_is_done_when_it_was_declared_so_and_not_before() {
        let (termination, _ledgers) = Termination::new(1);
        assert!(!termination.is_done());
        termination.set_done();
        assert!(termination.is_done());
    }

    #[test]
    fn a_worker_that_is_quiet_already_is_not_counted_again() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(2);
        let nothing = WentQuiet { checked: false, flushed: false, done: false };
        assert_eq!(ledgers[0].go_quiet(&termination, &intake), nothing);
        assert_eq!(ledgers[0].go_quiet(&termination, &intake), nothing, "the other one is not");
    }

    #[test]
    fn what_was_consumed_is_published_once() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        ledgers[0].consume(&termination);
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
        ledgers[0].consume(&termination);
        assert!(!ledgers[0].go_quiet(&termination, &intake).done);
        ledgers[0].leave_quiet(&termination);
        ledgers[0].consume(&termination);
        assert!(ledgers[0].go_quiet(&termination, &intake).done);
    }

    #[test]
    #[should_panic(expected = "1 tasks consumed, but only 0 were accepted or produced")]
    fn a_task_consumed_twice_is_noticed() {
        let intake = Intake::new();
        let (termination, mut ledgers) = Termination::new(1);
        intake.close();
        ledgers[0].consume(&termination);
        let _ = ledgers[0].go_quiet(&termination, &intake);
    }
}
