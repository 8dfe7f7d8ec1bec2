//! The output of `--stats`.

use super::engine::Scanned;
use super::summary::Summary;
use crate::units::{Unit, grouped};

/// Formats the lines of `--stats`.
pub(super) fn stats(scanned: &Scanned, summary: &Summary, reported: u64) -> String {
    let seconds = scanned.elapsed.as_secs_f64();
    let rate = (summary.bytes as f64 / seconds.max(1e-9)) as u64;
    let count = |number: u64| grouped(number);
    let (unreported, skipped) = (&summary.unreported, &summary.skipped);
    let mut rows = vec![
        ("files", format!("{} ({})", count(summary.files), Unit::HUMAN.show(summary.bytes))),
        (
            "skipped",
            format!(
                "{} binary, {} too large, {} special, {} symbolic links, {} pseudo file systems, {} excluded",
                count(skipped.binary),
                count(skipped.too_large),
                count(skipped.special),
                count(skipped.symlinks),
                count(skipped.pseudo),
                count(skipped.excluded)
            ),
        ),
        ("incomplete", count(summary.gap_count())),
        (
            "findings",
            format!(
                "{} reported, {} below the confidence, {} allowed, {} in the baseline, {} ignored, \
                 {} in own files, {} over the limit",
                count(reported),
                count(unreported.below_confidence),
                count(unreported.allowed),
                count(unreported.in_baseline),
                count(unreported.in_gitleaksignore),
                count(unreported.in_own_files),
                count(unreported.over_limit)
            ),
        ),
        ("scan", format!("{seconds:.3} s, {}/s", Unit::HUMAN.show(rate))),
    ];
    for report in &scanned.reports {
        let metrics = &report.metrics;
        rows.push((
            "tasks",
            format!(
                "{} run, {} of them stolen",
                count(metrics.tasks_run()),
                count(metrics.tasks_stolen)
            ),
        ));
        rows.push((
            "steals",
            format!("{} tried, {} won", count(metrics.steals_tried), count(metrics.steals_won)),
        ));
        rows.push((
            "sleep",
            format!("{} parks, {} wake-ups", count(metrics.parks), count(metrics.wakes_sent)),
        ));
    }
    rows.iter().map(|(name, value)| format!("{name:<12}{value}\n")).collect()
}
