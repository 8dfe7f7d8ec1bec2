//! The intake word under loom: nothing is accepted after it was closed, and no acceptance is lost.

use crate::support::{Size, Tally, check, must_fail};
use heist::__internal::intake::{Intake, IntakeState};
use heist::__internal::sync::Arc;
use heist::__internal::sync::plant::Plant;
use heist::__internal::termination::Termination;

const ACCEPTED_AFTER_CLOSE: &str = "accepted after the intake was closed";

fn spawn_against_close() {
    let intake = Arc::new(Intake::new());
    let spawner = {
        let intake = Arc::clone(&intake);
        loom::thread::spawn(move || intake.try_accept(1))
    };
    assert!(intake.close());
    let at_close = intake.state();
    let accepted = spawner.join().unwrap();
    assert_eq!(at_close, intake.state(), "{ACCEPTED_AFTER_CLOSE}");
    assert_eq!(at_close, IntakeState { accepting: false, accepted: u64::from(accepted) });
}

#[test]
fn a_spawn_against_a_close() {
    check(Size::Small, spawn_against_close);
}

#[test]
fn two_spawns_are_both_counted() {
    check(Size::Small, || {
        let intake = Arc::new(Intake::new());
        let other = {
            let intake = Arc::clone(&intake);
            loom::thread::spawn(move || intake.try_accept(1))
        };
        assert!(intake.try_accept(1));
        assert!(other.join().unwrap());
        assert_eq!(intake.state(), IntakeState { accepting: true, accepted: 2 });
    });
}

/// A worker runs the only task and goes quiet while the pool is closed: the worker or the closer
/// finds it done.
#[test]
fn a_completion_against_a_join() {
    check(Size::Small, || {
        let intake = Arc::new(Intake::new());
        let (termination, mut ledgers) = Termination::new(1);
        let termination = Arc::new(termination);
        assert!(intake.try_accept(1));
        let noticed = Tally::default();
        let worker = {
            let (intake, termination) = (Arc::clone(&intake), Arc::clone(&termination));
            let mut ledger = ledgers.remove(0);
            let noticed = noticed.clone();
            loom::thread::spawn(move || {
                ledger.consume();
                if ledger.go_quiet(&termination, &intake).done {
                    noticed.add();
                }
            })
        };
        intake.close();
        if termination.closer_finds_done(&intake) {
            noticed.add();
        }
        worker.join().unwrap();
        assert!(noticed.get() > 0, "everything has ended, and no thread found it done");
    });
}

/// A spawn, a completion and a close at once. The worker may or may not see the second task in
/// time; but *done* must be found only after all accepted tasks have ended.
#[test]
fn a_spawn_a_completion_and_a_close() {
    check(Size::Small, || {
        let intake = Arc::new(Intake::new());
        let (termination, mut ledgers) = Termination::new(1);
        let termination = Arc::new(termination);
        assert!(intake.try_accept(1));
        let spawner = {
            let intake = Arc::clone(&intake);
            loom::thread::spawn(move || intake.try_accept(1))
        };
        let worker = {
            let (intake, termination) = (Arc::clone(&intake), Arc::clone(&termination));
            let mut ledger = ledgers.remove(0);
            loom::thread::spawn(move || {
                ledger.consume();
                let done = ledger.go_quiet(&termination, &intake).done;
                (ledger, done)
            })
        };
        intake.close();
        let closer_done = termination.closer_finds_done(&intake);
        let second_accepted = spawner.join().unwrap();
        let (mut ledger, worker_done) = worker.join().unwrap();
        if second_accepted {
            assert!(!closer_done && !worker_done, "done while an accepted task waits");
            ledger.leave_quiet(&termination);
            ledger.consume();
            assert!(ledger.go_quiet(&termination, &intake).done);
        } else {
            assert!(closer_done || worker_done);
        }
    });
}

#[test]
fn bites_checking_and_counting_in_two_steps() {
    must_fail(Plant::AcceptInTwoSteps, 2, ACCEPTED_AFTER_CLOSE, spawn_against_close);
}
