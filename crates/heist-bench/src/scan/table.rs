//! The results of all contenders on one tree, as a Markdown table and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::measure::Series;
use crate::walk::stopwatch::{End, Lap};

/// The result of one contender on one tree.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScanRow {
    pub(crate) tree: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) contender: String,
    /// Median over the rounds.
    pub(crate) cpu_seconds: f64,
    pub(crate) wall_seconds: f64,
    pub(crate) peak_bytes: f64,
    /// The median over the rounds of the ratio of CPU time to that of the read-only pass. Above 1:
    /// more expensive than reading.
    pub(crate) cpu_ratio: Option<f64>,
    /// Findings that the first run printed; `None` if the contender does not report findings.
    pub(crate) findings: Option<usize>,
    /// What went wrong, if anything.
    pub(crate) trouble: Option<String>,
    pub(crate) rounds: Vec<Lap>,
}

/// The scanned tree.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) name: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl ScanRow {
    /// Summarizes a contender's laps. `floor` holds the laps of the read-only pass in the same
    /// rounds, if it took part.
    pub(crate) fn new(
        ground: &Ground,
        contender: &str,
        findings: Option<usize>,
        rounds: Vec<Lap>,
        floor: Option<&[Lap]>,
    ) -> Self {
        let median = |value: fn(&Lap) -> f64| Series::new(rounds.iter().map(value)).median();
        let cpu_ratio = floor.map(|floor| {
            let ratio = |(lap, floor): (&Lap, &Lap)| lap.cpu_seconds / floor.cpu_seconds;
            Series::new(rounds.iter().zip(floor).map(ratio)).median()
        });
        Self {
            tree: ground.name.clone(),
            files: ground.files,
            bytes: ground.bytes,
            contender: contender.to_owned(),
            cpu_seconds: median(|lap| lap.cpu_seconds),
            wall_seconds: median(|lap| lap.wall_seconds),
            peak_bytes: median(|lap| lap.peak_bytes as f64),
            cpu_ratio,
            findings,
            trouble: rounds.iter().find_map(|lap| trouble(lap.end)),
            rounds,
        }
    }

    /// Returns microseconds of CPU time per file.
    fn per_file(&self) -> f64 {
        1e6 * self.cpu_seconds / self.files.max(1) as f64
    }
}

/// Describes an abnormal end. Scanners exit with several codes on success, depending on whether
/// they found anything.
pub(crate) fn trouble(end: End) -> Option<String> {
    match end {
        // 183 is trufflehog's code for findings; kingfisher uses 200 and above.
        End::Code(0 | 1 | 183 | 200..=205) => None,
        End::Code(code) => Some(format!("exit code {code}")),
        End::Signal(signal) => Some(format!("killed by signal {signal}")),
        End::TimeLimit => Some("stopped at the time limit".to_owned()),
    }
}

/// Returns the table of one tree, sorted by CPU time; failed runs come last.
pub(crate) fn markdown(rows: &[ScanRow]) -> String {
    let mut rows: Vec<&ScanRow> = rows.iter().collect();
    rows.sort_by(|a, b| {
        let in_trouble = a.trouble.is_some().cmp(&b.trouble.is_some());
        in_trouble.then(a.cpu_seconds.total_cmp(&b.cpu_seconds))
    });
    let mut table = String::from(
        "| contender | CPU | CPU to read-only | CPU per file | MB per CPU second | time | peak memory | findings |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let findings = match (&row.trouble, row.findings) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(count)) => count.to_string(),
            (None, None) => "-".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} | {} | {:.1} µs | {:.0} | {} | {:.1} MiB | {findings} |",
            row.contender,
            seconds(row.cpu_seconds),
            row.cpu_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            row.per_file(),
            row.bytes as f64 / 1e6 / row.cpu_seconds.max(1e-9),
            seconds(row.wall_seconds),
            row.peak_bytes / f64::from(1 << 20),
        );
    }
    table
}

/// Formats seconds with at least three digits, in milliseconds below a second.
fn seconds(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0} s"),
        10.0.. => format!("{value:.1} s"),
        1.0.. => format!("{value:.2} s"),
        0.1.. => format!("{:.0} ms", value * 1e3),
        0.01.. => format!("{:.1} ms", value * 1e3),
        _ => format!("{:.2} ms", value * 1e3),
    }
}

/// Compares each contender's results on two trees of the same size.
pub(crate) fn comparison(first: &[ScanRow], second: &[ScanRow]) -> String {
    let mut text = String::new();
    for row in first {
        if let Some(other) = second.iter().find(|other| other.contender == row.contender) {
            let _ = writeln!(
                text,
                "{}: {} costs {:.2} times the CPU time of {}",
                row.contender,
                row.tree,
                row.cpu_seconds / other.cpu_seconds,
                other.tree
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laps(seconds: &[f64], end: End) -> Vec<Lap> {
        let lap = |cpu_seconds| Lap {
            wall_seconds: cpu_seconds / 2.0,
            cpu_seconds,
            peak_bytes: 3 << 20,
            end,
        };
        seconds.iter().copied().map(lap).collect()
    }

    fn row(contender: &str, seconds: &[f64], end: End) -> ScanRow {
        let ground = Ground { name: "dense".to_owned(), files: 1_000, bytes: 50_000_000 };
        let floor = laps(&vec![0.5; seconds.len()], End::Code(0));
        ScanRow::new(&ground, contender, Some(7), laps(seconds, end), Some(&floor))
    }

    #[test]
    fn ratios_compare_cpu_time_and_findings_are_not_a_failure() {
        let table = markdown(&[
            row("hangs", &[0.1], End::TimeLimit),
            row("slow", &[2.0, 1.0, 3.0], End::Code(1)),
            row("fast", &[0.5], End::Code(0)),
        ]);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| fast | 500 ms | 1.00 | 500.0 µs | 100 | 250 ms | 3.0 MiB | 7 |",
                "| slow | 2.00 s | 4.00 | 2000.0 µs | 25 | 1.00 s | 3.0 MiB | 7 |",
                "| hangs | 100 ms | 0.20 | 100.0 µs | 500 | 50.0 ms | 3.0 MiB | stopped at the time limit |",
            ]
        );
    }

    #[test]
    fn trees_are_compared_contender_by_contender() {
        let prose = ScanRow { tree: "prose".into(), ..row("heist", &[0.5], End::Code(0)) };
        let text = comparison(&[row("heist", &[2.0], End::Code(0))], &[prose]);
        assert_eq!(text, "heist: dense costs 4.00 times the CPU time of prose\n");
    }
}
