//! Tests of what the policies promise.

use super::*;

const NO_TIME: Duration = Duration::ZERO;

fn nonzero(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

/// Returns the number of units until the next yield, if each takes `unit`. Panics after `limit`
/// units.
fn slice_len(policy: &mut impl YieldPolicy, unit: Duration, limit: u32) -> u32 {
    (1..=limit)
        .find(|_| policy.should_yield(unit))
        .unwrap_or_else(|| panic!("no yield in {limit} units of {unit:?}"))
}

/// Lets the average settle at `unit`, and begins a new slice.
fn settle(policy: &mut Adaptive, unit: Duration) {
    for _ in 0..200 {
        policy.should_yield(unit);
    }
    policy.reset();
}

#[test]
fn never_never_yields_and_always_always_does() {
    for unit in [NO_TIME, Duration::from_secs(1), Duration::MAX] {
        assert!(!Never.should_yield(unit));
        assert!(Always.should_yield(unit));
    }
}

#[test]
fn every_n_yields_at_each_nth_unit() {
    for n in [1, 2, 3, 64, 1000] {
        let mut policy = EveryN::new(nonzero(n));
        for _ in 0..3 {
            assert_eq!(slice_len(&mut policy, NO_TIME, n), n);
        }
    }
    assert_eq!(slice_len(&mut EveryN::default(), Duration::MAX, 64), 64);
}

#[test]
fn every_n_with_the_largest_interval_does_not_overflow() {
    let mut policy = EveryN { interval: NonZeroU32::MAX, units: u32::MAX - 2 };
    assert!(!policy.should_yield(NO_TIME));
    assert!(policy.should_yield(NO_TIME));
    assert!(!policy.should_yield(NO_TIME));
}

#[test]
fn reset_begins_a_new_slice() {
    let mut every_n = EveryN::new(nonzero(3));
    let mut git = Git::new().with_interval(GitPhase::CommitWalk, nonzero(3));
    let policies: [&mut dyn YieldPolicy; 2] = [&mut every_n, &mut git];
    for mut policy in policies {
        policy.should_yield(NO_TIME);
        policy.should_yield(NO_TIME);
        policy.reset();
        assert_eq!(slice_len(&mut policy, NO_TIME, 3), 3);
    }
}

#[test]
fn boxed_policies_are_policies() {
    let mut boxed: Box<dyn YieldPolicy> = Box::new(EveryN::new(nonzero(2)));
    assert_eq!(slice_len(&mut boxed, NO_TIME, 2), 2);
    boxed.should_yield(NO_TIME);
    boxed.reset();
    assert_eq!(slice_len(&mut boxed, NO_TIME, 2), 2);
}

#[test]
fn adaptive_slices_last_about_the_target() {
    for (target_us, unit_us) in [(1000, 1), (1000, 10), (1000, 300), (5000, 70), (100, 100)] {
        let target = Duration::from_micros(target_us);
        let unit = Duration::from_micros(unit_us);
        let mut policy = Adaptive::new(target);
        settle(&mut policy, unit);
        let units = slice_len(&mut policy, unit, 2000);
        let spent = unit * units;
        assert!(
            spent + unit > target.mul_f64(0.95) && spent < target + unit,
            "{units} units of {unit:?} for {target:?}"
        );
        assert!(policy.interval().abs_diff(units) <= 1, "{policy:?} gave {units} units");
    }
}

#[test]
fn adaptive_follows_a_change_by_a_hundred_both_ways() {
    let (cheap, costly) = (Duration::from_micros(10), Duration::from_millis(1));
    let mut policy = Adaptive::default();

    settle(&mut policy, cheap);
    let when_cheap = policy.interval();
    assert!((90..=100).contains(&when_cheap), "{when_cheap}");

    // Up: the very first expensive unit ends the slice, although 100 units were forecast.
    policy.should_yield(cheap);
    assert!(policy.should_yield(costly));
    settle(&mut policy, costly);
    assert_eq!(policy.interval(), 1);
    assert_eq!(slice_len(&mut policy, costly, 1), 1);

    // Down: within a factor of two after the promised 35 units, and finally back where it was.
    for _ in 0..35 {
        policy.should_yield(cheap);
    }
    assert!(policy.interval() >= 50, "{}", policy.interval());
    settle(&mut policy, cheap);
    assert!(policy.interval().abs_diff(when_cheap) <= 1);
    assert!(slice_len(&mut policy, cheap, 101) >= 90);
}

#[test]
fn the_average_follows_a_change_without_the_watch_on_time() {
    // The same rise, but with units so short that the watch on the time spent does not act first.
    let mut policy = Adaptive::new(Duration::from_millis(100));
    settle(&mut policy, Duration::from_micros(100));
    assert!(policy.interval() >= 950, "{}", policy.interval());
    for _ in 0..34 {
        policy.should_yield(Duration::from_millis(10));
        policy.reset();
    }
    assert!((10..=11).contains(&policy.interval()), "{}", policy.interval());
}

#[test]
fn no_adaptive_slice_exceeds_its_target_by_more_than_a_unit() {
    // Costs that no average can forecast: mostly nothing, occasionally a lot.
    let target = Duration::from_millis(1);
    let mut policy = Adaptive::default();
    let mut before_last_unit = NO_TIME;
    let mut yields = 0;
    for i in 0..10_000_u64 {
        let unit = Duration::from_micros(if i % 37 == 0 { i % 900 } else { i % 3 });
        if policy.should_yield(unit) {
            before_last_unit = NO_TIME;
            yields += 1;
        } else {
            before_last_unit += unit;
            assert!(before_last_unit < target);
        }
    }
    assert!(yields > 10);
}

#[test]
fn one_stall_does_not_shrink_later_adaptive_slices() {
    let cheap = Duration::from_micros(10);
    let mut policy = Adaptive::default();
    settle(&mut policy, cheap);
    assert!(policy.should_yield(Duration::from_secs(3600)));
    assert!(policy.interval() >= 5, "{}", policy.interval());
    for _ in 0..20 {
        policy.should_yield(cheap);
    }
    assert!(policy.interval() >= 50, "{}", policy.interval());
}

#[test]
fn adaptive_starts_from_an_estimate() {
    assert_eq!(Adaptive::default().interval(), 20); // 1 ms in units of 50 µs
    assert_eq!(Adaptive::new(Duration::from_micros(1)).interval(), 1);
}

#[test]
fn the_maximum_bounds_slices_of_units_that_take_no_time() {
    let mut policy = Adaptive::default();
    for _ in 0..5 {
        policy.reset();
        settle(&mut policy, NO_TIME);
        assert_eq!(slice_len(&mut policy, NO_TIME, 1024), 1024);
    }
    let mut policy = Adaptive::default().with_max_units(nonzero(7));
    assert_eq!(slice_len(&mut policy, NO_TIME, 7), 7);
    let mut policy = Adaptive::default().with_max_units(NonZeroU32::MIN);
    assert_eq!(slice_len(&mut policy, NO_TIME, 1), 1);
}

#[test]
fn a_zero_target_yields_after_every_unit() {
    let mut policy = Adaptive::new(NO_TIME);
    for unit in [NO_TIME, Duration::from_nanos(1), Duration::MAX, NO_TIME, NO_TIME] {
        assert!(policy.should_yield(unit));
    }
    for _ in 0..100 {
        assert!(policy.should_yield(NO_TIME));
    }
}

#[test]
fn adaptive_does_not_overflow() {
    let extremes = [NO_TIME, Duration::from_nanos(1), Duration::from_secs(1), Duration::MAX];
    for target in extremes {
        let mut policy = Adaptive::new(target).with_max_units(NonZeroU32::MAX);
        for i in 0..1000 {
            policy.should_yield(extremes[i * 7 % 4]);
            policy.should_yield(Duration::MAX);
            assert!(policy.interval() >= 1);
            assert!(policy.weighted_average_ns <= policy.target_ns * Adaptive::AVERAGE_OVER);
        }
    }
}

#[test]
fn reset_keeps_what_adaptive_has_learnt() {
    let mut policy = Adaptive::default();
    settle(&mut policy, Duration::from_micros(5));
    let learnt = policy.interval();
    policy.reset();
    assert_eq!(policy.interval(), learnt);
    assert_eq!((policy.units, policy.spent_ns), (0, 0));
}

#[test]
fn each_git_phase_has_its_own_interval() {
    for (phase, units) in GitPhase::ALL.into_iter().zip([512, 128, 32, 8]) {
        let mut policy = Git::default();
        assert_eq!(policy.phase(), GitPhase::CommitWalk);
        policy.enter(phase);
        assert_eq!(policy.phase(), phase);
        for _ in 0..3 {
            assert_eq!(slice_len(&mut policy, NO_TIME, units), units, "{phase:?}");
        }
    }
}

#[test]
fn git_phases_are_listed_in_the_order_of_their_numbers() {
    for (index, phase) in GitPhase::ALL.into_iter().enumerate() {
        assert_eq!(phase as usize, index);
    }
}

#[test]
fn git_intervals_are_exact() {
    for n in (1..=300).chain([1000, 1023, 65_537, 99_991]) {
        let mut policy = Git::new().with_interval(GitPhase::CommitWalk, nonzero(n));
        assert_eq!(slice_len(&mut policy, NO_TIME, n), n);
    }
    // Too many units to count one by one, so start with all of them used except the last two.
    for n in [u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1, 3_000_000_019] {
        let mut policy = Git::new().with_interval(GitPhase::CommitWalk, nonzero(n));
        let share = Git::WHOLE_SLICE.div_ceil(u64::from(n));
        policy.used = share.checked_mul(u64::from(n - 2)).unwrap();
        assert!(!policy.should_yield(NO_TIME), "unit {} of {n}", n - 1);
        assert!(policy.should_yield(NO_TIME), "unit {n} of {n}");
    }
}

#[test]
fn alternating_git_phases_still_yield() {
    let mut policy = Git::default();
    let mut rounds = 0;
    let yielded_in = 'rounds: loop {
        rounds += 1;
        for phase in GitPhase::ALL {
            policy.enter(phase);
            if policy.should_yield(NO_TIME) {
                break 'rounds phase;
            }
        }
        assert!(rounds < 100, "no yield");
    };
    // A round uses 1/512 + 1/128 + 1/32 + 1/8 = 85/512 of a slice. Six rounds leave 2/512, of which
    // the next commit takes one and the next pair of trees the rest.
    assert_eq!((rounds, yielded_in), (7, GitPhase::TreeDiff));
}

#[test]
fn a_partly_used_slice_stays_partly_used_in_another_phase() {
    let mut policy = Git::default();
    for _ in 0..256 {
        assert!(!policy.should_yield(NO_TIME));
    }
    policy.enter(GitPhase::BlobScan);
    assert_eq!(slice_len(&mut policy, NO_TIME, 8), 4);
}
