//! Draws runs as SVG: a panel for each run, a row for each worker, a bar for each job, one time axis for all.
//!
//! Written by hand, without a library. All numbers come from the runs. The colours are apart for the colour-blind too,
//! and change with the viewer's scheme; where a viewer knows no schemes the picture is light.

use crate::{FAST_JOB, FAST_JOBS_PER_SLOW, Run, SLOTS_PER_DISK, SLOW_JOB, SLOW_JOBS, WORKERS};
use std::fmt::Write as _;
use std::time::Duration;

const WIDTH: f64 = 960.0;
/// Where time 0 is, and where the longest run ends.
const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 28.0;
const ROW: f64 = 26.0;
/// From the top of a panel to its first row: a title, and the marks of what was done when.
const PANEL_HEAD: f64 = 54.0;
const PANELS_TOP: f64 = 104.0;
const PANEL: f64 = PANEL_HEAD + WORKERS as f64 * ROW + 34.0;
const AXIS: f64 = 46.0;

/// Of the disks, in their order.
const CLASSES: [&str; 2] = ["fast", "slow"];

const STYLE: &str = "
.paper{fill:#fff}.ink{fill:#1f2328}.faint{fill:#59636e}.row{fill:#f1f3f5}.grid{stroke:#d1d9e0}
.fast{fill:#0072b2}.slow{fill:#d55e00}.edge{stroke:#fff}
.fastline{stroke:#0072b2}.slowline{stroke:#d55e00}
@media (prefers-color-scheme:dark){
.paper{fill:#0d1117}.ink{fill:#e6edf3}.faint{fill:#9198a1}.row{fill:#1a2029}.grid{stroke:#3d444d}
.fast{fill:#56b4e9}.slow{fill:#f0883e}.edge{stroke:#0d1117}
.fastline{stroke:#56b4e9}.slowline{stroke:#f0883e}}
";

/// Milliseconds, as shown and as drawn.
fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The picture of these runs.
pub(crate) fn draw(runs: &[Run]) -> String {
    let longest = runs.iter().map(Run::end).max().map_or(1.0, ms).max(1.0);
    let x = |time: Duration| LEFT + ms(time) / longest * (RIGHT - LEFT);
    let height = PANELS_TOP + runs.len() as f64 * PANEL + AXIS;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}" "#,
        description(runs)
    );
    let _ = writeln!(svg, r#"font-family="Helvetica, Arial, sans-serif" font-size="13">"#);
    let _ = writeln!(svg, "<style>{STYLE}</style>\n<defs>");
    for class in CLASSES {
        let size =
            r#"width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)""#;
        let stripe = rectangle(class, 0.0, 0.0, 2.0, 6.0);
        let _ = writeln!(svg, r#"<pattern id="waits-{class}" {size}>{stripe}</pattern>"#);
    }
    let _ = writeln!(svg, "</defs>\n{}", rectangle("paper", 0.0, 0.0, WIDTH, height));
    head(&mut svg, runs);
    for (number, run) in runs.iter().enumerate() {
        panel(&mut svg, run, PANELS_TOP + number as f64 * PANEL, &x);
    }
    axis(&mut svg, PANELS_TOP + runs.len() as f64 * PANEL, longest, &x);
    svg.push_str("</svg>\n");
    svg
}

/// The description for screen readers.
fn description(runs: &[Run]) -> String {
    let mut text = String::from("Two disks on one executor.");
    for run in runs {
        let _ = write!(text, " {}:", run.title);
        for (disk, name) in run.disks.iter().enumerate() {
            let _ = write!(text, " {name} done after {:.0} ms.", ms(run.done_after(disk)));
        }
    }
    text
}

fn rectangle(class: &str, x: f64, y: f64, width: f64, height: f64) -> String {
    format!(
        r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
    )
}

fn text(class: &str, x: f64, y: f64, anchor: &str, more: &str, words: &str) -> String {
    format!(
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}"{more}>{words}</text>"#
    )
}

/// Title, what was run, legend.
fn head(svg: &mut String, runs: &[Run]) {
    let title = "A slow disk beside a fast one";
    let fast_jobs = SLOW_JOBS * FAST_JOBS_PER_SLOW;
    let what = format!(
        "{fast_jobs} jobs of {} ms for the fast disk and {SLOW_JOBS} of {} ms for the slow one, mixed; \
         {WORKERS} workers; a disk serves {SLOTS_PER_DISK} jobs at a time",
        ms(FAST_JOB),
        ms(SLOW_JOB),
    );
    let _ = writeln!(
        svg,
        "{}",
        text("ink", 20.0, 30.0, "start", r#" font-size="19" font-weight="bold""#, title)
    );
    let _ = writeln!(svg, "{}", text("faint", 20.0, 52.0, "start", "", &what));
    let Some(run) = runs.first() else { return };
    let mut left = 20.0;
    for (class, name) in CLASSES.iter().zip(run.disks) {
        let _ = writeln!(svg, "{}", rectangle(class, left, 68.0, 26.0, 13.0));
        let words = format!("a job on the {name}");
        let _ = writeln!(svg, "{}", text("ink", left + 34.0, 79.0, "start", "", &words));
        left += 192.0;
    }
    for class in CLASSES {
        let _ = writeln!(
            svg,
            r#"<rect fill="url(#waits-{class})" x="{left}" y="68" width="26" height="13"/>"#
        );
        left += 31.0;
    }
    let words = "its worker is held: the job waits at a disk that is busy";
    let _ = writeln!(svg, "{}", text("ink", left + 4.0, 79.0, "start", "", words));
}

/// One run: its jobs, and when each disk was done.
fn panel(svg: &mut String, run: &Run, top: f64, x: &impl Fn(Duration) -> f64) {
    let rows = top + PANEL_HEAD;
    let bottom = rows + WORKERS as f64 * ROW;
    let title =
        text("ink", 20.0, top + 22.0, "start", r#" font-size="15" font-weight="bold""#, run.title);
    let _ = writeln!(svg, "{title}");
    let held = format!("workers held at busy disks for {:.0} ms in all", ms(run.held()));
    let _ = writeln!(svg, "{}", text("faint", RIGHT, top + 22.0, "end", "", &held));
    for worker in 0..WORKERS {
        let y = rows + worker as f64 * ROW;
        let _ = writeln!(svg, "{}", rectangle("row", LEFT, y + 2.0, RIGHT - LEFT, ROW - 4.0));
        let _ = writeln!(
            svg,
            "{}",
            text("faint", LEFT - 10.0, y + 17.5, "end", "", &format!("worker {worker}"))
        );
    }
    for served in &run.served {
        let class = CLASSES[served.job.disk];
        let y = rows + served.worker as f64 * ROW + 4.0;
        let (started, begun, ended) = (x(served.started), x(served.served), x(served.ended));
        // Less than this is the time that it takes to look.
        if begun - started > 0.5 {
            let _ = writeln!(
                svg,
                r#"<rect fill="url(#waits-{class})" x="{started:.1}" y="{y:.1}" width="{:.1}" height="18"/>"#,
                begun - started
            );
        }
        let _ = writeln!(
            svg,
            r#"<rect class="{class} edge" x="{begun:.1}" y="{y:.1}" width="{:.1}" height="18"/>"#,
            ended - begun
        );
    }
    done_marks(svg, run, rows, bottom, x);
}

/// A line through all rows at the end of each disk's last job, with the time above it.
fn done_marks(svg: &mut String, run: &Run, rows: f64, bottom: f64, x: &impl Fn(Duration) -> f64) {
    let mut above = f64::NEG_INFINITY;
    let mut disks: Vec<usize> = (0..CLASSES.len()).collect();
    disks.sort_by_key(|disk| run.done_after(*disk));
    for disk in disks {
        let (class, name) = (CLASSES[disk], run.disks[disk]);
        let done = run.done_after(disk);
        let at = x(done);
        let _ = writeln!(
            svg,
            r#"<path class="{class}line" d="M{at:.1} {:.1}V{:.1}" stroke-width="1.6" stroke-dasharray="4 3"/>"#,
            rows - 4.0,
            bottom + 2.0
        );
        let words = format!("{name} done: {:.0} ms", ms(done));
        // Two labels that would meet: the second one goes below the rows.
        let y = if at - above < 190.0 { bottom + 17.0 } else { rows - 9.0 };
        above = at;
        let anchor = if at > RIGHT - 80.0 { "end" } else { "middle" };
        let _ = writeln!(svg, "{}", text(class, at, y, anchor, r#" font-weight="bold""#, &words));
    }
}

/// The time axis, under everything.
fn axis(svg: &mut String, top: f64, longest: f64, x: &impl Fn(Duration) -> f64) {
    let step = if longest > 400.0 { 100 } else { 20 };
    let mut tick = Duration::ZERO;
    while ms(tick) <= longest {
        let at = x(tick);
        let _ = writeln!(svg, r#"<path class="grid" d="M{at:.1} {:.1}v6"/>"#, top - 2.0);
        let _ = writeln!(
            svg,
            "{}",
            text("faint", at, top + 17.0, "middle", "", &format!("{:.0}", ms(tick)))
        );
        tick += Duration::from_millis(step);
    }
    let _ = writeln!(svg, r#"<path class="grid" d="M{LEFT} {:.1}H{RIGHT}"/>"#, top - 2.0);
    let words = "time since the jobs were handed in, ms";
    let _ = writeln!(
        svg,
        "{}",
        text("faint", f64::midpoint(LEFT, RIGHT), top + 35.0, "middle", "", words)
    );
}
