//! A suite's output: a Markdown table, notes, the worst ratio, and the JSON file.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde::Serialize;

use crate::measure::Series;
use crate::ratio::Unit;

/// The samples of one case: heist's and those of each peer.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) case: String,
    pub(crate) unit: Unit,
    pub(crate) ours: Series,
    pub(crate) peers: Vec<(String, Series)>,
}

impl Measurement {
    /// Pairs names with samples; heist comes first in both.
    pub(crate) fn ours_first<'a>(
        case: impl Into<String>,
        unit: Unit,
        names: impl IntoIterator<Item = &'a str>,
        samples: impl IntoIterator<Item = Series>,
    ) -> Self {
        let mut named = names.into_iter().map(str::to_owned).zip(samples);
        let (_, ours) = named.next().expect("heist runs in every case");
        Self { case: case.into(), unit, ours, peers: named.collect() }
    }
}

/// heist's median against that of one peer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) case: String,
    pub(crate) peer: String,
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
    pub(crate) unit: Unit,
    /// Above 1: heist is better.
    pub(crate) ratio: f64,
    #[serde(skip)]
    our_spread_percent: Option<f64>,
    #[serde(skip)]
    their_spread_percent: Option<f64>,
}

/// All comparisons of a suite, in the order in which they were measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    comparisons: Vec<Comparison>,
}

impl Report {
    pub(crate) fn add(&mut self, measurement: &Measurement) {
        let ours = measurement.ours.median();
        for (peer, series) in &measurement.peers {
            let theirs = series.median();
            self.comparisons.push(Comparison {
                case: measurement.case.clone(),
                peer: peer.clone(),
                ours,
                theirs,
                unit: measurement.unit,
                ratio: measurement.unit.ratio(ours, theirs),
                our_spread_percent: measurement.ours.spread_percent(),
                their_spread_percent: series.spread_percent(),
            });
        }
    }

    /// Returns the ratio of one case against one peer, if it was measured.
    pub(crate) fn ratio(&self, case: &str, peer: &str) -> Option<f64> {
        self.comparisons.iter().find(|row| row.case == case && row.peer == peer).map(|r| r.ratio)
    }

    /// Returns the comparisons in which the peer is better by enough to show in the table.
    pub(crate) fn losses(&self, peer: &str) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |row| row.ratio < 0.995 && row.peer == peer)
    }

    pub(crate) fn markdown_table(&self) -> String {
        let mut table = String::from(
            "| case | peer | heist | peer's | unit | ratio | spread heist | spread peer |\n\
             |---|---|---:|---:|---|---:|---:|---:|\n",
        );
        for row in &self.comparisons {
            // Writing to a String cannot fail.
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} | {:.2} | {} | {} |",
                row.case,
                row.peer,
                row.unit.show(row.ours),
                row.unit.show(row.theirs),
                row.unit,
                row.ratio,
                percent(row.our_spread_percent),
                percent(row.their_spread_percent),
            );
        }
        table
    }

    /// Returns the last line of a suite's output.
    pub(crate) fn worst_ratio_line(&self) -> Option<String> {
        let worst = self.comparisons.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
        Some(format!("worst ratio: {:.2} ({}, {})", worst.ratio, worst.case, worst.peer))
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.comparisons).expect("plain numbers and strings") + "\n"
    }

    pub(crate) fn write_json(&self, path: &Path) -> Result<(), String> {
        fs::write(path, self.to_json()).map_err(|error| cannot_write(path, &error))
    }
}

/// Checks before a long run that its results can be written. Does not change an existing file.
pub(crate) fn check_writable(path: &Path) -> Result<(), String> {
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write the results to {}: {error}", path.display())
}

fn percent(spread: Option<f64>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| format!("{spread:.0} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Report {
        let mut report = Report::default();
        report.add(&Measurement::ours_first(
            "tree",
            Unit::MillionTasksPerSecond,
            ["heist", "rayon", "tokio"],
            [[30.0, 30.0, 33.0], [10.0, 10.0, 10.0], [40.0, 40.0, 40.0]].map(Series::new),
        ));
        report.add(&Measurement::ours_first(
            "idle",
            Unit::Switches,
            ["heist", "rayon"],
            [[0.0], [3.0]].map(Series::new),
        ));
        report
    }

    #[test]
    fn json_is_an_array_of_flat_objects_with_the_promised_keys() {
        let json: serde_json::Value = serde_json::from_str(&sample().to_json()).expect("is JSON");
        let rows = json.as_array().expect("is an array");
        assert_eq!(rows.len(), 3);
        for row in rows {
            let object = row.as_object().expect("holds objects");
            let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
            keys.sort_unstable();
            assert_eq!(keys, ["case", "ours", "peer", "ratio", "theirs", "unit"]);
        }
        assert_eq!(
            rows[0],
            serde_json::json!({
                "case": "tree", "peer": "rayon", "ours": 30.0, "theirs": 10.0,
                "unit": "Mtasks/s", "ratio": 3.0,
            })
        );
    }

    #[test]
    fn worst_ratio_names_case_and_peer() {
        let line = sample().worst_ratio_line();
        assert_eq!(line.as_deref(), Some("worst ratio: 0.75 (tree, tokio)"));
        assert_eq!(Report::default().worst_ratio_line(), None);
    }

    #[test]
    fn table_has_a_row_for_each_comparison() {
        let table = sample().markdown_table();
        assert_eq!(table.lines().count(), 2 + 3);
        assert!(
            table.contains("| tree | rayon | 30.0 | 10.0 | Mtasks/s | 3.00 | 5 % | 0 % |"),
            "{table}"
        );
        assert!(table.contains("| idle | rayon | 0 | 3 | switches | 4.00 | - | - |"), "{table}");
    }

    #[test]
    fn losses_are_only_those_against_the_given_peer() {
        let cases = |peer| sample().losses(peer).map(|row| row.case.clone()).collect::<Vec<_>>();
        assert_eq!(cases("tokio"), ["tree"]);
        assert!(cases("rayon").is_empty());
    }

    #[test]
    fn ratios_are_found_by_case_and_peer() {
        assert_eq!(sample().ratio("tree", "rayon"), Some(3.0));
        assert_eq!(sample().ratio("tree", "channel"), None);
    }
}
