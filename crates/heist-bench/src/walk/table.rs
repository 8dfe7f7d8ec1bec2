//! The results of all contenders on one tree, as a Markdown table and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::stopwatch::Lap;
use crate::measure::Series;

/// The result of one contender on one tree.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WalkRow {
    pub(crate) tree: String,
    pub(crate) section: String,
    pub(crate) contender: String,
    /// Median elapsed time.
    pub(crate) wall_seconds: f64,
    /// The median over the rounds of the ratio to the floor's time in the same round. Above 1:
    /// slower than the floor.
    pub(crate) ratio: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_bytes: f64,
    pub(crate) right: bool,
    /// The verdict in words, with the exit code if it is not 0.
    pub(crate) answer: String,
    pub(crate) rounds: Vec<Lap>,
}

/// What is known of a contender besides its laps.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub(crate) tree: String,
    pub(crate) section: String,
    pub(crate) contender: String,
    pub(crate) right: bool,
    pub(crate) answer: String,
}

impl WalkRow {
    /// Summarizes a contender's laps. `floor` holds the floor's laps in the same rounds.
    pub(crate) fn new(entrant: Entrant, rounds: Vec<Lap>, floor: &[Lap]) -> Self {
        let Entrant { tree, section, contender, right, answer } = entrant;
        let median = |value: fn(&Lap) -> f64| Series::new(rounds.iter().map(value)).median();
        Self {
            tree,
            section,
            contender,
            wall_seconds: median(|lap| lap.wall_seconds),
            ratio: median_ratio(&rounds, floor),
            cpu_seconds: median(|lap| lap.cpu_seconds),
            peak_bytes: median(|lap| lap.peak_bytes as f64),
            right,
            answer,
            rounds,
        }
    }
}

/// Takes the ratio round by round, because a disturbance slows down both in the same round.
fn median_ratio(laps: &[Lap], floor: &[Lap]) -> f64 {
    let ratios = laps.iter().zip(floor).map(|(lap, floor)| lap.wall_seconds / floor.wall_seconds);
    Series::new(ratios).median()
}

/// Returns the table of one section on one tree, the fastest first. Wrong answers come last,
/// because a wrong answer can be arbitrarily fast.
pub(crate) fn markdown(rows: &[WalkRow]) -> String {
    let mut rows: Vec<&WalkRow> = rows.iter().collect();
    rows.sort_by(|a, b| b.right.cmp(&a.right).then(a.ratio.total_cmp(&b.ratio)));
    let mut table = String::from(
        "| contender | time | ratio to floor | CPU | peak memory | answer |\n\
         |---|---:|---:|---:|---:|---|\n",
    );
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} ms | {:.2} | {} ms | {:.1} MiB | {} |",
            row.contender,
            milliseconds(row.wall_seconds),
            row.ratio,
            milliseconds(row.cpu_seconds),
            row.peak_bytes / f64::from(1 << 20),
            row.answer,
        );
    }
    table
}

/// Formats milliseconds with at least three digits.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::stopwatch::End;

    fn laps(seconds: &[f64]) -> Vec<Lap> {
        let lap = |wall_seconds| Lap {
            wall_seconds,
            cpu_seconds: 2.0 * wall_seconds,
            peak_bytes: 3 << 20,
            end: End::Code(0),
        };
        seconds.iter().copied().map(lap).collect()
    }

    fn row(contender: &str, seconds: &[f64], floor: &[f64]) -> WalkRow {
        let entrant = Entrant {
            tree: "wide".to_owned(),
            section: "sizes".to_owned(),
            contender: contender.to_owned(),
            right: true,
            answer: "right".to_owned(),
        };
        WalkRow::new(entrant, laps(seconds), &laps(floor))
    }

    #[test]
    fn the_ratio_is_the_median_of_ratios_and_not_the_ratio_of_medians() {
        // The medians are 3 and 2, but the ratios per round are 1.5, 4 and 1.6.
        let row = row("du", &[1.5, 8.0, 3.2], &[1.0, 2.0, 2.0]);
        assert!((row.ratio - 1.6).abs() < 1e-9, "{}", row.ratio);
        assert_eq!(row.wall_seconds, 3.2);
        assert_eq!(row.cpu_seconds, 6.4);
    }

    #[test]
    fn the_fastest_comes_first_and_wrong_answers_last() {
        let wrong =
            WalkRow { right: false, answer: "wrong".into(), ..row("wrong", &[0.001], &[0.1]) };
        let rows = [wrong, row("slow", &[0.3], &[0.1]), row("fast", &[0.0112], &[0.1])];
        let table = markdown(&rows);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| fast | 11.2 ms | 0.11 | 22.4 ms | 3.0 MiB | right |",
                "| slow | 300 ms | 3.00 | 600 ms | 3.0 MiB | right |",
                "| wrong | 1.00 ms | 0.01 | 2.00 ms | 3.0 MiB | wrong |",
            ]
        );
    }
}
