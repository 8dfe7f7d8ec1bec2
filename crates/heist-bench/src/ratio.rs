//! Units, which direction is better in each, and ratios between two values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unit of a case's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    /// Millions of tasks per second: more is better.
    #[serde(rename = "Mtasks/s")]
    MillionTasksPerSecond,
    /// Millions of items per second: more is better.
    #[serde(rename = "Mitems/s")]
    MillionItemsPerSecond,
    /// Requests per second by the clock: more is better.
    #[serde(rename = "requests/s")]
    RequestsPerSecond,
    /// Requests per second of the server's CPU time: more is better.
    #[serde(rename = "requests/CPU s")]
    RequestsPerCpuSecond,
    /// Less is better.
    #[serde(rename = "us")]
    Microseconds,
    /// Less is better.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// CPU time: less is better, and 0 is possible.
    #[serde(rename = "ms CPU")]
    CpuMilliseconds,
    /// Context switches: less is better, and 0 is possible.
    #[serde(rename = "switches")]
    Switches,
    /// Bytes of memory: less is better.
    #[serde(rename = "bytes")]
    Bytes,
    /// Number of allocations: less is better.
    #[serde(rename = "allocations")]
    Allocations,
}

impl Unit {
    /// Returns how much better `ours` is than `theirs`: above 1 means that heist is better.
    ///
    /// Context switches are compared with 1 added to both sides, so that a perfect 0 has a finite
    /// ratio and 0 against 0 is a draw. CPU times are compared with a microsecond added, for the
    /// same reason.
    pub(crate) fn ratio(self, ours: f64, theirs: f64) -> f64 {
        match self {
            Self::MillionTasksPerSecond
            | Self::MillionItemsPerSecond
            | Self::RequestsPerSecond
            | Self::RequestsPerCpuSecond => ours / theirs,
            Self::Microseconds | Self::Nanoseconds | Self::Bytes | Self::Allocations => {
                theirs / ours
            }
            Self::CpuMilliseconds => (theirs + 1e-3) / (ours + 1e-3),
            Self::Switches => (theirs + 1.0) / (ours + 1.0),
        }
    }

    /// Formats a value for the table: three significant digits, or a whole number for counts.
    pub(crate) fn show(self, value: f64) -> String {
        let decimals = match value.abs() {
            _ if self == Self::Switches => 0,
            magnitude if magnitude >= 100.0 => 0,
            magnitude if magnitude >= 10.0 => 1,
            _ => 2,
        };
        format!("{value:.decimals$}")
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The same name as in the JSON file.
        self.serialize(f)
    }
}

/// Returns the geometric mean, the only mean of ratios that does not depend on which side is the
/// divisor. Returns `None` without values.
pub(crate) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    (!ratios.is_empty())
        .then(|| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_one_is_better_in_every_unit() {
        assert_eq!(Unit::MillionTasksPerSecond.ratio(30.0, 10.0), 3.0);
        assert_eq!(Unit::MillionItemsPerSecond.ratio(30.0, 10.0), 3.0);
        assert_eq!(Unit::RequestsPerSecond.ratio(30.0, 10.0), 3.0);
        assert_eq!(Unit::RequestsPerCpuSecond.ratio(30.0, 10.0), 3.0);
        assert_eq!(Unit::Microseconds.ratio(10.0, 30.0), 3.0);
        assert_eq!(Unit::Nanoseconds.ratio(10.0, 30.0), 3.0);
        assert_eq!(Unit::Bytes.ratio(10.0, 30.0), 3.0);
        assert_eq!(Unit::Allocations.ratio(10.0, 30.0), 3.0);
        assert!(Unit::CpuMilliseconds.ratio(10.0, 30.0) > 2.99);
        assert_eq!(Unit::Switches.ratio(0.0, 9.0), 10.0);
        assert_eq!(Unit::Switches.ratio(9.0, 0.0), 0.1);
    }

    #[test]
    fn nothing_on_either_side_is_a_draw() {
        assert_eq!(Unit::Switches.ratio(0.0, 0.0), 1.0);
        assert_eq!(Unit::CpuMilliseconds.ratio(0.0, 0.0), 1.0);
    }

    #[test]
    fn values_have_three_digits_and_counts_no_decimals() {
        assert_eq!(Unit::Microseconds.show(1234.5), "1234");
        assert_eq!(Unit::Microseconds.show(12.34), "12.3");
        assert_eq!(Unit::Microseconds.show(1.234), "1.23");
        assert_eq!(Unit::Switches.show(3.0), "3");
    }

    #[test]
    fn geometric_mean_of_reciprocals_is_one() {
        let mean = geometric_mean(&[4.0, 0.25]).expect("two values have a mean");
        assert!((mean - 1.0).abs() < 1e-12);
        let mean = geometric_mean(&[2.0, 4.0, 8.0]).expect("three values have a mean");
        assert!((mean - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }
}
