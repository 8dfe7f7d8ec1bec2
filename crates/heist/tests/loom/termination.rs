//! Termination detection under loom: *done* is found neither early nor never.

use crate::support::{Size, Tally, check, explore, must_fail};
use heist::__internal::intake::Intake;
use heist::__internal::queue::{LocalQueue, Steal, Stealer};
use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, AtomicUsize, Ordering};
use heist::__internal::termination::{Ledger, Termination};

const EARLY: &str = "done before every task had ended";
const NEVER: &str = "every task has ended, and no thread found it done";

/// Two workers, both quiet; one task is accepted and waits. It spawns a child that the other worker
/// may steal. Meanwhile the pool is closed.
struct Pool {
    child: Child,
    intake: Intake,
    termination: Termination,
    /// A running task touches it, so that the model can interrupt the task there.
    at_work: AtomicUsize,
    ended: Tally,
    noticed: Tally,
}

const TASKS: usize = 2;

/// What the task spawns. The two kinds are counted in different ways.
#[derive(Clone, Copy)]
enum Child {
    Task,
    Future,
}

const ROOT_WORKER: usize = 0;
const THIEF: usize = 1;

impl Pool {
    fn notice(&self, done: bool) {
        if done {
            assert_eq!(self.ended.get(), TASKS, "{EARLY}");
            self.noticed.add();
        }
    }

    fn end_task(&self, ledger: &mut Ledger) {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        self.ended.add();
        ledger.consume();
    }

    fn spawn_child(&self, ledger: &mut Ledger, queue: &LocalQueue<()>) {
        match self.child {
            Child::Task => ledger.produce(&self.termination, 1, || queue.push(())),
            Child::Future => {
                self.termination.spawn_futures_on(ROOT_WORKER, 1);
                queue.push(());
            }
        }
    }

    fn end_child(&self, ledger: &mut Ledger, worker: usize) {
        match self.child {
            Child::Task => self.end_task(ledger),
            Child::Future => {
                self.at_work.fetch_add(1, Ordering::Relaxed);
                self.ended.add();
                self.termination.end_future_on(worker);
            }
        }
    }

    fn go_quiet(&self, ledger: &mut Ledger) {
        self.notice(ledger.go_quiet(&self.termination, &self.intake).done);
    }

    /// Runs the root and, unless the thief has it, its child.
    fn work_on_root(&self, mut ledger: Ledger, queue: &LocalQueue<()>) {
        ledger.leave_quiet(&self.termination);
        self.spawn_child(&mut ledger, queue);
        self.end_task(&mut ledger);
        if queue.pop().is_some() {
            self.end_child(&mut ledger, ROOT_WORKER);
        }
        self.go_quiet(&mut ledger);
    }

    fn steal_child(&self, mut ledger: Ledger, victim: &Stealer<()>) {
        if let Steal::Success(()) = victim.steal_half(&LocalQueue::new(), 1) {
            ledger.leave_quiet(&self.termination);
            self.end_child(&mut ledger, THIEF);
            self.go_quiet(&mut ledger);
        }
    }
}

fn two_workers_and_a_closer() {
    two_workers_and_a_closer_of(Child::Task);
}

fn a_future_and_a_closer() {
    two_workers_and_a_closer_of(Child::Future);
}

fn two_workers_and_a_closer_of(child: Child) {
    let (termination, mut ledgers) = Termination::new(2);
    let pool = Arc::new(Pool {
        child,
        intake: Intake::new(),
        termination,
        at_work: AtomicUsize::new(0),
        ended: Tally::default(),
        noticed: Tally::default(),
    });
    for ledger in &mut ledgers {
        pool.go_quiet(ledger);
    }
    assert!(pool.intake.try_accept(1));
    let queue = LocalQueue::new();
    let victim = queue.stealer();
    let (thief_ledger, root_ledger) = (ledgers.pop().unwrap(), ledgers.pop().unwrap());
    let root = {
        let pool = Arc::clone(&pool);
        loom::thread::spawn(move || pool.work_on_root(root_ledger, &queue))
    };
    let thief = {
        let pool = Arc::clone(&pool);
        loom::thread::spawn(move || pool.steal_child(thief_ledger, &victim))
    };
    pool.intake.close();
    pool.notice(pool.termination.closer_finds_done(&pool.intake));
    root.join().unwrap();
    thief.join().unwrap();
    assert!(pool.noticed.get() > 0, "{NEVER}");
}

#[test]
fn done_is_found_neither_early_nor_never() {
    check(Size::Small, two_workers_and_a_closer);
}

#[test]
fn done_is_found_neither_early_nor_never_with_a_future() {
    check(Size::Small, a_future_and_a_closer);
}

/// At this bound a planted `ProducedAfterPush` fails, so passing here is significant.
#[test]
fn done_is_found_neither_early_nor_never_with_four_preemptions() {
    explore(Some(4), two_workers_and_a_closer);
}

#[test]
fn bites_sums_reversed() {
    must_fail(Plant::SumsReversed, 2, EARLY, two_workers_and_a_closer);
}

#[test]
fn bites_consumed_relaxed() {
    must_fail(Plant::ConsumedRelaxed, 2, EARLY, two_workers_and_a_closer);
}

#[test]
fn bites_the_end_of_a_future_relaxed() {
    must_fail(Plant::FutureEndRelaxed, 2, EARLY, a_future_and_a_closer);
}

#[test]
fn bites_produced_after_the_push() {
    must_fail(Plant::ProducedAfterPush, 4, EARLY, two_workers_and_a_closer);
}

#[test]
fn bites_a_closer_that_only_loads_quiet() {
    must_fail(Plant::CloserOnlyLoads, 2, NEVER, two_workers_and_a_closer);
}

#[test]
fn bites_a_closer_that_does_not_check() {
    must_fail(Plant::CloserDoesNotCheck, 2, NEVER, two_workers_and_a_closer);
}
