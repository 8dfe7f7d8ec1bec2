//! What the suites of in-process contenders share: options, the loop over the cases, and the
//! output.

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::contender::Sampling;
use crate::disturbance::Disturbance;
use crate::report::{Measurement, Report, check_writable};

#[derive(Args, Debug)]
pub(crate) struct CommonOptions {
    /// Use smaller problems with the same number of runs.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also write the results to this file, as a JSON array of objects.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Interleaved runs of every contender in every case.
    #[arg(long, value_name = "N", default_value = "9")]
    runs: NonZeroUsize,
    /// Run only this contender, `heist` or a peer by its name in the table, for profiling.
    #[arg(long, value_name = "NAME")]
    alone: Option<String>,
}

impl CommonOptions {
    pub(crate) fn sampling(&self) -> Sampling {
        Sampling { runs: self.runs.get(), alone: self.alone.clone() }
    }
}

/// The results of a case.
#[derive(Debug, Default)]
pub(crate) struct CaseResults {
    pub(crate) measurements: Vec<Measurement>,
    /// Lines to print below the table.
    pub(crate) remarks: Vec<String>,
}

impl From<Vec<Measurement>> for CaseResults {
    fn from(measurements: Vec<Measurement>) -> Self {
        Self { measurements, remarks: Vec::new() }
    }
}

impl From<Measurement> for CaseResults {
    fn from(measurement: Measurement) -> Self {
        vec![measurement].into()
    }
}

/// Returns the name of a case on the command line.
pub(crate) fn name_of(case: &impl ValueEnum) -> String {
    let value = case.to_possible_value().expect("no case is hidden from the command line");
    value.get_name().to_owned()
}

/// Measures the selected cases, or all of them, and prints the table.
pub(crate) fn run<C: ValueEnum + PartialEq>(
    suite: &str,
    options: &CommonOptions,
    chosen: &[C],
    notes: &str,
    measure: impl FnMut(&C, &str) -> Result<CaseResults, String>,
) -> Result<(), String> {
    run_and_conclude(suite, options, chosen, notes, measure, |_report| Vec::new())
}

/// Does the same as [`run`], and ends with the lines that `conclude` derives from all cases
/// together.
pub(crate) fn run_and_conclude<C: ValueEnum + PartialEq>(
    suite: &str,
    options: &CommonOptions,
    chosen: &[C],
    notes: &str,
    mut measure: impl FnMut(&C, &str) -> Result<CaseResults, String>,
    conclude: impl FnOnce(&Report) -> Vec<String>,
) -> Result<(), String> {
    if let Some(path) = &options.json {
        check_writable(path)?;
    }
    // Otherwise a profiler would be reported as a disturbance.
    let disturbance = options.alone.is_none().then(Disturbance::watch);
    let mut report = Report::default();
    let mut remarks = Vec::new();
    for case in C::value_variants() {
        if !chosen.is_empty() && !chosen.contains(case) {
            continue;
        }
        let name = name_of(case);
        let started = Instant::now();
        match measure(case, &name) {
            Ok(findings) => {
                findings.measurements.iter().for_each(|one| report.add(one));
                remarks.extend(findings.measurements.iter().filter_map(without_peers));
                remarks.extend(findings.remarks);
            }
            Err(reason) => remarks.push(format!("`{name}` was skipped: {reason}")),
        }
        eprintln!("{name:<26}{:5.1} s", started.elapsed().as_secs_f64());
    }
    remarks.extend(disturbance.and_then(|disturbance| disturbance.warning()));
    // The file comes first, so that a closed stdout does not lose the results.
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    let mut text = format!(
        "{suite}, {} sizes, {} runs\n\n{}\n{notes}\n",
        if options.quick { "quick" } else { "full" },
        options.runs,
        report.markdown_table(),
    );
    let conclusions = conclude(&report).into_iter().chain(report.worst_ratio_line());
    for line in remarks.into_iter().chain(conclusions) {
        text.push_str(&line);
        text.push('\n');
    }
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot print the results: {error}"))
}

/// Returns a line for a measurement without peers, which the table cannot show.
fn without_peers(measurement: &Measurement) -> Option<String> {
    let (case, unit) = (&measurement.case, measurement.unit);
    let value = unit.show(measurement.ours.median());
    measurement.peers.is_empty().then(|| format!("`{case}` alone: {value} {unit}"))
}
