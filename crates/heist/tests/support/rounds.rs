//! Runs random rounds for a soak: how many, with which seeds, and how to repeat a failing one.

use super::watched;
use std::thread;
use std::time::{Duration, Instant};

/// How often a long soak reports its progress.
const PROGRESS: Duration = Duration::from_secs(10);

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name)
        .ok()
        .map(|value| value.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Runs `round` with one seed after the other, each under the watchdog, and prints the seed of a
/// round that fails.
///
/// The first seed is `HEIST_SOAK_SEED`, or 0. The soak ends after `HEIST_SOAK_MINUTES` or
/// `HEIST_SOAK_ROUNDS`, whichever comes first. If only the seed is set, it repeats that one round.
/// If none of the three is set, it runs `in_ci` rounds.
pub(crate) fn soak(name: &str, in_ci: u64, round: fn(u64)) {
    let minutes: Option<f64> = from_environment("HEIST_SOAK_MINUTES");
    let seed: Option<u64> = from_environment("HEIST_SOAK_SEED");
    let rounds: Option<u64> = from_environment("HEIST_SOAK_ROUNDS");
    let time_max = minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes));
    let rounds_max = match (time_max, rounds, seed) {
        (_, Some(rounds), _) => rounds,
        (Some(_), None, _) => u64::MAX,
        (None, None, Some(_)) => 1,
        (None, None, None) => in_ci,
    };

    let first = seed.unwrap_or(0);
    let began = Instant::now();
    let mut reported = began;
    let mut done = 0;
    while done < rounds_max && time_max.is_none_or(|time_max| began.elapsed() < time_max) {
        let seed = first.wrapping_add(done);
        let failing = FailingSeed { name, seed };
        watched(move || round(seed));
        drop(failing);
        done += 1;
        if reported.elapsed() >= PROGRESS {
            reported = Instant::now();
            eprintln!("soak of {name}: {done} rounds after {} s", began.elapsed().as_secs());
        }
    }
    let seconds = began.elapsed().as_secs();
    eprintln!("soak of {name}: {done} rounds from seed {first} on passed in {seconds} s");
}

/// Prints the seed of a round that fails or hangs.
struct FailingSeed<'a> {
    name: &'a str,
    seed: u64,
}

impl Drop for FailingSeed<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("soak of {}: failed; repeat with HEIST_SOAK_SEED={}", self.name, self.seed);
        }
    }
}
