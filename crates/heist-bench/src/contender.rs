//! A contender that is no pool: a name, and a function that takes one sample.

use crate::measure::{Series, interleave};
use crate::ratio::Unit;
use crate::report::Measurement;

/// Somebody who takes part in a case.
pub(crate) struct Contender {
    name: &'static str,
    sample: Box<dyn FnMut() -> f64>,
}

impl Contender {
    pub(crate) fn new(name: &'static str, sample: impl FnMut() -> f64 + 'static) -> Self {
        Self { name, sample: Box::new(sample) }
    }
}

/// Samples all contenders, ours being the first, `runs` times in turn.
pub(crate) fn measure(
    case: &str,
    unit: Unit,
    runs: usize,
    mut contenders: Vec<Contender>,
) -> Measurement {
    let samples = interleave(runs, &mut contenders, |contender| (contender.sample)());
    let names = contenders.iter().map(|contender| contender.name);
    Measurement::ours_first(case, unit, names, samples.into_iter().map(Series::new))
}
