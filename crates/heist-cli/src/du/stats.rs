//! The output of `--stats`.

use crate::units::{Unit, grouped};
use heist_walk::usage::Usage;
use std::time::Duration;

/// Formats the lines of `--stats`.
pub(crate) fn stats(usage: &Usage, walked: Duration, written: Duration) -> String {
    let (totals, metrics) = (&usage.totals, &usage.metrics);
    let rate = totals.entries() as f64 / walked.as_secs_f64().max(1e-9);
    let count = |number: u64| grouped(number);
    let rows = [
        (
            "entries",
            format!(
                "{} ({} directories, {} others)",
                count(totals.entries()),
                count(totals.directories),
                count(totals.files)
            ),
        ),
        ("excluded", count(totals.excluded)),
        ("errors", count(usage.errors)),
        (
            "sizes",
            format!(
                "{} allocated, {} apparent (hard links counted each time)",
                Unit::HUMAN.show(totals.allocated),
                Unit::HUMAN.show(totals.bytes)
            ),
        ),
        ("walk", format!("{:.3} s, {} entries/s", walked.as_secs_f64(), count(rate as u64))),
        ("output", format!("{:.3} s", written.as_secs_f64())),
        ("threads", usage.threads.to_string()),
        (
            "tasks",
            format!(
                "{} run, {} of them stolen",
                count(metrics.tasks_run()),
                count(metrics.tasks_stolen)
            ),
        ),
        (
            "steals",
            format!("{} tried, {} won", count(metrics.steals_tried), count(metrics.steals_won)),
        ),
        (
            "sleep",
            format!("{} parks, {} wake-ups", count(metrics.parks), count(metrics.wakes_sent)),
        ),
    ];
    rows.iter().map(|(name, value)| format!("{name:<10}{value}\n")).collect()
}
