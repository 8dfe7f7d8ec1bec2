//! Interleaved sampling, and the statistics of the samples.
//!
//! Contenders take turns within a round, so that a change of clock frequency or a noisy neighbour
//! affects all of them alike. The starting contender changes from round to round and the direction
//! alternates: no contender always runs first or always inherits the caches of the same
//! predecessor.

/// The samples of one contender in one case.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    sorted: Vec<f64>,
}

impl Series {
    pub(crate) fn new(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        assert!(!sorted.is_empty(), "a series needs at least one sample");
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the value below which the given share of the samples lies, interpolated between
    /// neighbours.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let position = share * (self.sorted.len() - 1) as f64;
        let below = self.sorted[position.floor() as usize];
        let above = self.sorted[position.ceil() as usize];
        below + (above - below) * position.fract()
    }

    /// Returns the interquartile range in per cent of the median, or `None` if that is meaningless:
    /// for a single sample or a median of 0.
    pub(crate) fn spread_percent(&self) -> Option<f64> {
        let median = self.median();
        (self.sorted.len() > 1 && median != 0.0)
            .then(|| 100.0 * (self.quantile(0.75) - self.quantile(0.25)) / median)
    }
}

/// Samples every contender once per round, for `runs` rounds after an unrecorded one that warms up
/// caches and the allocator. Returns each contender's samples, in the order of `contenders`.
pub(crate) fn interleave<C, S>(
    runs: usize,
    contenders: &mut [C],
    mut sample: impl FnMut(&mut C) -> S,
) -> Vec<Vec<S>> {
    for contender in contenders.iter_mut() {
        sample(contender);
    }
    let mut samples: Vec<Vec<S>> = contenders.iter().map(|_| Vec::with_capacity(runs)).collect();
    for round in 0..runs {
        for turn in order(round, contenders.len()) {
            samples[turn].push(sample(&mut contenders[turn]));
        }
    }
    samples
}

/// Returns the order in which contenders run in the given round.
fn order(round: usize, contenders: usize) -> Vec<usize> {
    let mut turns: Vec<usize> = (0..contenders).collect();
    turns.rotate_left(round % contenders.max(1));
    if round % 2 == 1 {
        turns.reverse();
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(Series::new([3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Series::new([4.0, 1.0, 3.0, 2.0]).median(), 2.5);
        assert_eq!(Series::new([7.0]).median(), 7.0);
    }

    #[test]
    fn quantiles_interpolate_and_reach_both_ends() {
        let series = Series::new([10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(series.quantile(0.0), 10.0);
        assert_eq!(series.quantile(0.25), 20.0);
        assert_eq!(series.quantile(0.9), 46.0);
        assert_eq!(series.quantile(1.0), 50.0);
    }

    #[test]
    fn spread_is_the_interquartile_range_in_per_cent() {
        let series = Series::new([10.0, 20.0, 30.0, 40.0, 50.0]);
        let spread = series.spread_percent().expect("five samples have a spread");
        assert!((spread - 100.0 * 20.0 / 30.0).abs() < 1e-9);
        assert_eq!(Series::new([5.0]).spread_percent(), None);
        assert_eq!(Series::new([0.0, 0.0, 0.0]).spread_percent(), None);
    }

    #[test]
    fn every_contender_runs_once_per_round() {
        for round in 0..12 {
            let mut turns = order(round, 5);
            turns.sort_unstable();
            assert_eq!(turns, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn no_contender_always_runs_first_or_after_the_same_other() {
        let rounds: Vec<Vec<usize>> = (0..9).map(|round| order(round, 5)).collect();
        for contender in 0..5 {
            assert!(rounds.iter().any(|turns| turns[0] != contender));
            let mut predecessors: Vec<usize> = rounds
                .iter()
                .flat_map(|turns| turns.windows(2))
                .filter(|pair| pair[1] == contender)
                .map(|pair| pair[0])
                .collect();
            predecessors.sort_unstable();
            predecessors.dedup();
            assert!(predecessors.len() > 1, "{contender} only ever follows {predecessors:?}");
        }
    }

    #[test]
    fn interleave_records_the_runs_but_not_the_warm_up() {
        let mut contenders = [0, 100];
        let samples = interleave(3, &mut contenders, |calls| {
            *calls += 1;
            *calls
        });
        assert_eq!(samples, [vec![2, 3, 4], vec![102, 103, 104]]);
    }
}
