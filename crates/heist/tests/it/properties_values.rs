//! Cancel tokens, histograms and the injector interval with random values, checked against models
//! that are slow and obvious. `PROPTEST_CASES` sets the number of cases.

use crate::support::cases;
use heist::__internal::policy::InjectorInterval;
use heist::CancelToken;
use heist::metrics::Histogram;
use proptest::collection::vec;
use proptest::prelude::*;

/// An action on a tree of tokens. Indices are taken modulo the number of tokens.
#[derive(Clone, Copy, Debug)]
enum TokenAction {
    Child(usize),
    Clone(usize),
    Cancel(usize),
    Check(usize),
}

fn token_action() -> impl Strategy<Value = TokenAction> {
    let of = 0..1_000_usize;
    prop_oneof![
        4 => of.clone().prop_map(TokenAction::Child),
        1 => of.clone().prop_map(TokenAction::Clone),
        1 => of.clone().prop_map(TokenAction::Cancel),
        2 => of.prop_map(TokenAction::Check),
    ]
}

/// The obvious model of a token: the path of names from the root down to it.
fn is_below(token: &[usize], cancelled: &[Vec<usize>]) -> bool {
    cancelled.iter().any(|path| token.starts_with(path))
}

/// Returns the value that `share` of the sorted values do not exceed, by counting.
fn exact_quantile(sorted: &[u64], share: f64) -> u64 {
    let enough = |count: usize| count as f64 >= share * sorted.len() as f64;
    let rank = (1..=sorted.len()).find(|&count| enough(count)).unwrap_or(sorted.len());
    sorted[rank - 1]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn cancel_tokens_behave_like_paths(actions in vec(token_action(), 0..100)) {
        let mut tokens = vec![(CancelToken::new(), Vec::new())];
        let mut cancelled = Vec::new();
        for (name, action) in actions.into_iter().enumerate() {
            let of = |index: usize| index % tokens.len();
            match action {
                TokenAction::Child(index) => {
                    let (parent, path) = &tokens[of(index)];
                    let path = path.iter().copied().chain([name]).collect();
                    tokens.push((parent.child(), path));
                }
                TokenAction::Clone(index) => tokens.push(tokens[of(index)].clone()),
                TokenAction::Cancel(index) => {
                    let (token, path) = &tokens[of(index)];
                    token.cancel();
                    cancelled.push(path.clone());
                }
                // Check now and not only at the end, because a check caches what it finds.
                TokenAction::Check(index) => {
                    let (token, path) = &tokens[of(index)];
                    prop_assert_eq!(token.is_cancelled(), is_below(path, &cancelled));
                }
            }
        }
        for (token, path) in &tokens {
            prop_assert_eq!(token.is_cancelled(), is_below(path, &cancelled));
        }
    }

    #[test]
    fn histograms_agree_with_sorted_lists(
        values in vec((any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift), 1..200),
        split in any::<prop::sample::Index>(),
        share in 0.0..=1.0_f64,
    ) {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&ns| histogram.record(ns));
            histogram
        };
        let histogram = of(&values);
        let (left, right) = values.split_at(split.index(values.len()));
        let mut merged = of(left);
        merged.merge(&of(right));
        prop_assert_eq!(&merged, &histogram);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        let sum: u64 = histogram.buckets().map(|(_, count)| count).sum();
        prop_assert_eq!(sum, histogram.count());
        for (from, count) in histogram.buckets() {
            let to = from.max(1).saturating_mul(2);
            let inside = |value: &&u64| **value >= from && (**value < to || to == u64::MAX);
            prop_assert_eq!(values.iter().filter(inside).count() as u64, count);
        }
        let mut sorted = values;
        sorted.sort_unstable();
        let exact = exact_quantile(&sorted, share);
        let answer = histogram.quantile(share).unwrap();
        prop_assert!(answer >= exact && answer / 2 <= exact, "{} for {}", answer, exact);
    }

    #[test]
    fn the_injector_interval_follows_the_average(
        samples in vec((any::<i64>(), 0..63_u32, 0..1_000_u32), 0..300),
    ) {
        let mut interval = InjectorInterval::default();
        // In floating point, where nothing overflows or is truncated.
        let mut average_ns = 50_000.0_f64;
        for (elapsed, shift, tasks) in samples {
            let elapsed_ns = elapsed >> shift;
            interval.update(elapsed_ns, tasks);
            if tasks > 0 {
                let sample = (elapsed_ns.max(0) as f64 / f64::from(tasks)).floor();
                average_ns = ((sample + 9.0 * average_ns) / 10.0).floor().max(1.0);
            }
            let ticks = (1_000_000.0 / average_ns).clamp(8.0, 255.0);
            let off = (f64::from(interval.ticks()) - ticks).abs();
            prop_assert!(off <= 1.0, "{} ticks, not {}", interval.ticks(), ticks);
        }
    }
}
