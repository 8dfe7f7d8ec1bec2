//! Proves that the optional backstop does not disturb a pool, and that its counter is correct:
//! since no wake-up is ever lost, the backstop never finds work that a wake-up had not announced.

use crate::support::{check_all_run, job, start_jobs, wait_until, watched, workers};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn an_idle_pool_with_a_backstop_finds_nothing() {
    watched(|| {
        let backstop = Some(Duration::from_millis(1));
        let executor = start_jobs(workers(3).park_backstop(backstop));
        wait_until("all workers sleep", || executor.metrics().parks >= 3);
        thread::sleep(Duration::from_millis(200));
        assert_eq!(executor.metrics().parks, 3, "a backstop that finds nothing sleeps on");
        check_all_run(&executor.join(), 0);
    });
}

/// Tasks arrive at all distances from the end of the backstop's period: before it, after it, and
/// while the worker that it woke is searching.
#[test]
fn a_backstop_that_races_with_wake_ups_rescues_nothing() {
    watched(|| {
        for spin_iters in [0, 200] {
            let executor = start_jobs(
                workers(1).park_backstop(Some(Duration::from_millis(20))).spin_iters(spin_iters),
            );
            let handle = executor.handle();
            let rounds = 3_000;
            for round in 1..=rounds {
                executor.spawn(job(|_| {})).unwrap();
                wait_until("it has run", || handle.metrics().tasks_run() == round);
                let pause = Instant::now();
                while pause.elapsed() < Duration::from_micros(round % 300) {
                    std::hint::spin_loop();
                }
            }
            check_all_run(&executor.join(), rounds);
        }
    });
}
