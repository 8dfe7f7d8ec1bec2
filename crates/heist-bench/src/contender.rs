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

/// How often, and whom.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    pub(crate) runs: usize,
    /// Only this one, if it takes part: for a profiler.
    pub(crate) alone: Option<String>,
}

/// Samples all contenders, ours being the first, in turn.
pub(crate) fn measure(
    case: &str,
    unit: Unit,
    sampling: &Sampling,
    mut contenders: Vec<Contender>,
) -> Measurement {
    if let Some(alone) = &sampling.alone
        && contenders.iter().any(|contender| contender.name == alone)
    {
        contenders.retain(|contender| contender.name == alone);
    }
    let samples = interleave(sampling.runs, &mut contenders, |contender| (contender.sample)());
    let names = contenders.iter().map(|contender| contender.name);
    Measurement::ours_first(case, unit, names, samples.into_iter().map(Series::new))
}
