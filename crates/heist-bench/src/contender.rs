//! A contender that is not a pool: a name, and a function that takes one sample.

use crate::measure::{Series, interleave};
use crate::ratio::Unit;
use crate::report::Measurement;

/// A participant in a case. A sample is one value, or one value for each row of the case in the
/// table.
pub(crate) struct Contender<S = f64> {
    name: &'static str,
    sample: Box<dyn FnMut() -> S>,
}

impl<S> Contender<S> {
    pub(crate) fn new(name: &'static str, sample: impl FnMut() -> S + 'static) -> Self {
        Self { name, sample: Box::new(sample) }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn sample(&mut self) -> S {
        (self.sample)()
    }
}

/// How many samples to take, and of which contenders.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    pub(crate) runs: usize,
    /// Samples only the contender with this name, for profiling.
    pub(crate) alone: Option<String>,
}

impl Sampling {
    /// Samples the selected contenders in turns and returns their names and samples.
    fn names_and_samples<S>(
        &self,
        mut contenders: Vec<Contender<S>>,
    ) -> (Vec<&'static str>, Vec<Vec<S>>) {
        if let Some(alone) = &self.alone
            && contenders.iter().any(|contender| contender.name == alone)
        {
            contenders.retain(|contender| contender.name == alone);
        }
        let samples = interleave(self.runs, &mut contenders, Contender::sample);
        (contenders.iter().map(Contender::name).collect(), samples)
    }
}

/// Samples all contenders in turns; heist is the first.
pub(crate) fn measure(
    case: &str,
    unit: Unit,
    sampling: &Sampling,
    contenders: Vec<Contender>,
) -> Measurement {
    let (names, samples) = sampling.names_and_samples(contenders);
    Measurement::ours_first(case, unit, names, samples.into_iter().map(Series::new))
}

/// Does the same for samples of several values; each value gets a name, a unit and a row.
pub(crate) fn measure_rows<const ROWS: usize>(
    rows: [(String, Unit); ROWS],
    sampling: &Sampling,
    contenders: Vec<Contender<[f64; ROWS]>>,
) -> Vec<Measurement> {
    let (names, samples) = sampling.names_and_samples(contenders);
    let measurement = |(row, (case, unit)): (usize, (String, Unit))| {
        let of_row = |samples: &Vec<[f64; ROWS]>| Series::new(samples.iter().map(|all| all[row]));
        Measurement::ours_first(case, unit, names.iter().copied(), samples.iter().map(of_row))
    };
    rows.into_iter().enumerate().map(measurement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(runs: usize, alone: Option<&str>) -> Vec<Measurement> {
        let rows = [("first".to_owned(), Unit::Bytes), ("second".to_owned(), Unit::Microseconds)];
        let sampling = Sampling { runs, alone: alone.map(str::to_owned) };
        let contenders =
            vec![Contender::new("ours", || [1.0, 2.0]), Contender::new("theirs", || [3.0, 4.0])];
        measure_rows(rows, &sampling, contenders)
    }

    #[test]
    fn every_row_has_the_values_of_its_own_column() {
        let rows = two(3, None);
        let summary: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.case.as_str(),
                    row.ours.median(),
                    row.peers[0].0.as_str(),
                    row.peers[0].1.median(),
                )
            })
            .collect();
        assert_eq!(summary, [("first", 1.0, "theirs", 3.0), ("second", 2.0, "theirs", 4.0)]);
    }

    #[test]
    fn a_contender_that_runs_alone_has_no_peers() {
        let rows = two(1, Some("theirs"));
        assert!(rows.iter().all(|row| row.peers.is_empty()));
        assert_eq!(rows[1].ours.median(), 4.0);
        assert_eq!(
            two(1, Some("unknown"))[0].peers.len(),
            1,
            "an unknown name excludes no contender"
        );
    }
}
