//! Draws a run as SVG: what each worker did, for the whole run and for one busy moment of it.
//!
//! Written by hand, without a library. All numbers come from the trace of the run. What a worker did is told apart by
//! the lane that it is drawn in, which has a name; the colours only help. They change with the viewer's scheme; where a
//! viewer knows no schemes the picture is light.

use crate::material::Material;
use crate::scan::WORKERS;
use crate::slices::{Kind, Slice, Slices};
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
/// Where a panel's time begins and ends.
const LEFT: f64 = 130.0;
const RIGHT: f64 = WIDTH - 120.0;
const LANE: f64 = 17.0;
const LANES: [(Kind, &str, &str); 4] = [
    (Kind::File, "file", "files"),
    (Kind::Object, "object", "objects"),
    (Kind::Poll, "poll", "polls"),
    (Kind::Turn, "turn", "queue turns"),
];
/// A worker's lanes, and the space below them.
const WORKER: f64 = LANES.len() as f64 * LANE + 14.0;
/// From the top of a panel to its first lane: its title.
const PANEL_HEAD: f64 = 40.0;
const AXIS: f64 = 34.0;
const PANEL: f64 = PANEL_HEAD + WORKERS as f64 * WORKER + AXIS;
const PANELS_TOP: f64 = 118.0;
/// Between the panels: the lines that lead from one to the other.
const GAP: f64 = 22.0;
const FOOT: f64 = 30.0;

/// How much of the run the second panel shows, in milliseconds.
const MOMENT_MS: f64 = 2.0;

const STYLE: &str = "
.paper{fill:#fff}.ink{fill:#1f2328}.faint{fill:#59636e}.lane{fill:#f1f3f5}.line{stroke:#8c959f;fill:none}
.file{fill:#0072b2}.object{fill:#008060}.poll{fill:#c04e00}.turn{fill:#9c3587}.stripe{stroke:#afb8c1}
.moment{fill:#8c959f;fill-opacity:.22}
@media (prefers-color-scheme:dark){
.paper{fill:#0d1117}.ink{fill:#e6edf3}.faint{fill:#9198a1}.lane{fill:#1a2029}.line{stroke:#6e7681}
.file{fill:#4ba3e3}.object{fill:#2fbf96}.poll{fill:#f0883e}.turn{fill:#dd8bd0}.stripe{stroke:#484f58}}
";

/// A part of the run, in milliseconds, and the panel that it is drawn in.
#[derive(Clone, Copy)]
struct View {
    start: f64,
    end: f64,
    top: f64,
}

impl View {
    fn x(&self, time: f64) -> f64 {
        let time = time.clamp(self.start, self.end);
        LEFT + (time - self.start) / (self.end - self.start) * (RIGHT - LEFT)
    }

    /// The top of a lane.
    fn y(&self, worker: usize, lane: usize) -> f64 {
        self.top + PANEL_HEAD + worker as f64 * WORKER + lane as f64 * LANE
    }

    fn axis_y(&self) -> f64 {
        self.top + PANEL - AXIS
    }

    fn shows(&self, slice: &Slice) -> bool {
        slice.end > self.start && slice.start < self.end
    }
}

/// The picture of a run.
pub(crate) fn draw(slices: &Slices, material: &Material) -> String {
    let whole = View { start: 0.0, end: slices.end, top: PANELS_TOP };
    let moment_ms = MOMENT_MS.min(slices.end);
    let start = busiest_moment(slices, moment_ms);
    let moment = View { start, end: start + moment_ms, top: PANELS_TOP + PANEL + GAP };
    let height = moment.top + PANEL + FOOT;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}" "#,
        description(slices, material)
    );
    let _ = writeln!(svg, r#"font-family="Helvetica, Arial, sans-serif" font-size="13">"#);
    let _ = writeln!(svg, "<style>{STYLE}</style>");
    let stripes =
        r#"width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)""#;
    let stripe = r#"<path class="stripe" d="M1 0v6" stroke-width="1.6"/>"#;
    let _ = writeln!(svg, r#"<defs><pattern id="parked" {stripes}>{stripe}</pattern></defs>"#);
    let _ = writeln!(svg, "{}", rectangle("paper", 0.0, 0.0, WIDTH, height));
    head(&mut svg, material);
    moment_lines(&mut svg, whole, moment);
    let title = format!("The whole run: {:.0} ms", slices.end);
    panel(&mut svg, slices, whole, &title);
    totals(&mut svg, slices, whole);
    let title = format!("A moment of it: {moment_ms:.0} ms");
    panel(&mut svg, slices, moment, &title);
    let words = "In both panels, what would be less than a pixel wide is drawn with a pixel.";
    let foot = text("faint", LEFT, height - 12.0, "start", r#" font-size="12""#, words);
    let _ = writeln!(svg, "{foot}\n</svg>");
    svg
}

/// The description for screen readers.
fn description(slices: &Slices, material: &Material) -> String {
    let (files, objects) = (material.files.len(), material.objects.len());
    let mut text = format!(
        "One executor with {WORKERS} workers searches {files} files and {objects} remote objects in {:.0} ms.",
        slices.end
    );
    for worker in 0..WORKERS {
        let _ = write!(text, " Worker {worker}:");
        for (kind, _, name) in LANES {
            let (time, count) = slices.total(worker, kind);
            let _ = write!(text, " {count} {name}, {time:.1} ms;");
        }
        let _ = write!(text, " parked for {:.1} ms.", slices.total(worker, Kind::Parked).0);
    }
    text
}

/// Where a window of this length has the most kinds of work in it, and then the most changes from one to another.
fn busiest_moment(slices: &Slices, moment_ms: f64) -> f64 {
    let work: Vec<&Slice> = slices.all.iter().filter(|slice| slice.kind != Kind::Parked).collect();
    let merit = |start: f64| {
        let starts_inside = |slice: &&&Slice| (start..start + moment_ms).contains(&slice.start);
        let (mut kinds, mut changes) = (0, Vec::new());
        for worker in 0..WORKERS {
            let own = work.iter().filter(|slice| slice.worker == worker);
            let own: Vec<Kind> = own.filter(starts_inside).map(|slice| slice.kind).collect();
            kinds += LANES.iter().filter(|(kind, ..)| own.contains(kind)).count();
            changes.push(own.windows(2).filter(|pair| pair[0] != pair[1]).count());
        }
        (kinds, changes.into_iter().min())
    };
    let starts = work.iter().map(|slice| slice.start);
    let starts = starts.filter(|start| start + moment_ms <= slices.end);
    starts.max_by_key(|start| merit(*start)).unwrap_or(0.0)
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
fn head(svg: &mut String, material: &Material) {
    let title = "Tasks, futures and a queue on one executor";
    let large = r#" font-size="19" font-weight="bold""#;
    let _ = writeln!(svg, "{}", text("ink", 20.0, 30.0, "start", large, title));
    let what = format!(
        "{} files are searched by typed tasks; {} remote objects are fetched by futures, then searched by typed tasks;",
        material.files.len(),
        material.objects.len()
    );
    let _ = writeln!(svg, "{}", text("faint", 20.0, 52.0, "start", "", &what));
    let what = format!("a queue collects the findings. {WORKERS} workers do all of it.");
    let _ = writeln!(svg, "{}", text("faint", 20.0, 69.0, "start", "", &what));
    let entries = [
        ("file", "task: a slice of a file", 168.0),
        ("object", "task: an object", 126.0),
        ("poll", "poll of a future", 128.0),
        ("turn", "turn of the queue", 138.0),
    ];
    let mut left = 20.0;
    for (class, words, width) in entries {
        let _ = writeln!(svg, "{}", rectangle(class, left, 85.0, 22.0, 12.0));
        let _ = writeln!(svg, "{}", text("ink", left + 29.0, 95.5, "start", "", words));
        left += 29.0 + width;
    }
    let _ =
        writeln!(svg, r#"<rect fill="url(#parked)" x="{left:.1}" y="85" width="22" height="12"/>"#);
    let _ = writeln!(svg, "{}", text("ink", left + 29.0, 95.5, "start", "", "worker parked"));
}

/// What shows where in the whole run the moment is.
fn moment_lines(svg: &mut String, whole: View, moment: View) {
    let (from, to) = (whole.x(moment.start), whole.x(moment.end));
    let (top, bottom) = (whole.y(0, 0) - 6.0, whole.axis_y());
    let _ = writeln!(svg, "{}", rectangle("moment", from, top, (to - from).max(2.0), bottom - top));
    // From below the numbers of the axis.
    let (above, below) = (bottom + 17.0, moment.top + 2.0);
    let path =
        format!("M{from:.1} {above:.1}L{LEFT} {below:.1}M{to:.1} {above:.1}L{RIGHT} {below:.1}");
    let _ = writeln!(svg, r#"<path class="line" stroke-dasharray="3 3" d="{path}"/>"#);
}

/// One panel: its lanes, what is in them, and the time.
fn panel(svg: &mut String, slices: &Slices, view: View, title: &str) {
    let bold = r#" font-size="15" font-weight="bold""#;
    let _ = writeln!(svg, "{}", text("ink", 20.0, view.top + 18.0, "start", bold, title));
    for worker in 0..WORKERS {
        let middle = view.y(worker, 0) + LANES.len() as f64 * LANE / 2.0;
        let name = format!("worker {worker}");
        let turned = format!(r#" transform="rotate(-90 24 {middle:.1})""#);
        let _ = writeln!(svg, "{}", text("ink", 24.0, middle, "middle", &turned, &name));
        for (lane, (kind, class, name)) in LANES.into_iter().enumerate() {
            let y = view.y(worker, lane);
            let _ = writeln!(svg, "{}", rectangle("lane", LEFT, y, RIGHT - LEFT, LANE - 2.0));
            let small = r#" font-size="12""#;
            let _ = writeln!(svg, "{}", text("faint", LEFT - 8.0, y + 12.0, "end", small, name));
            let bars = bars(slices.of(worker, kind).filter(|slice| view.shows(slice)), view);
            let _ = writeln!(svg, "{}", path(class, &bars, y, LANE - 2.0));
        }
        let parked = slices.of(worker, Kind::Parked).filter(|slice| view.shows(slice));
        for slice in parked {
            let (from, to) = (view.x(slice.start), view.x(slice.end));
            let _ = writeln!(
                svg,
                r#"<rect fill="url(#parked)" x="{from:.1}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
                view.y(worker, 0),
                to - from,
                LANES.len() as f64 * LANE - 2.0
            );
        }
    }
    axis(svg, view);
}

/// Slices as they are drawn, from and to, at least a pixel wide.
fn bars<'s>(slices: impl Iterator<Item = &'s Slice>, view: View) -> Vec<(f64, f64)> {
    let mut bars: Vec<(f64, f64)> = Vec::new();
    for slice in slices {
        let (from, to) = (view.x(slice.start), view.x(slice.end));
        let to = to.max(from + 1.0).min(RIGHT);
        match bars.last_mut() {
            // Of two long ones that meet, each is to be seen; short ones would only flicker.
            Some(last) if from <= last.1 + 0.2 && to - from < 3.0 => last.1 = last.1.max(to),
            Some(last) if from <= last.1 + 0.2 => {
                let from = from.max(last.1);
                bars.push((from + 0.6, to.max(from + 0.6)));
            }
            _ => bars.push((from, to)),
        }
    }
    bars
}

fn path(class: &str, bars: &[(f64, f64)], y: f64, height: f64) -> String {
    let mut path = format!(r#"<path class="{class}" d=""#);
    for (from, to) in bars {
        let width = to - from;
        let _ = write!(path, "M{from:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
    }
    path.push_str(r#""/>"#);
    path
}

/// How often each worker did what, and for how long in all.
fn totals(svg: &mut String, slices: &Slices, view: View) {
    for worker in 0..WORKERS {
        for (lane, (kind, ..)) in LANES.into_iter().enumerate() {
            let (time, count) = slices.total(worker, kind);
            let words = format!("{count} in {time:.1} ms");
            let small = r#" font-size="12""#;
            let y = view.y(worker, lane) + 12.0;
            let _ = writeln!(svg, "{}", text("faint", RIGHT + 8.0, y, "start", small, &words));
        }
    }
}

/// The time, below a panel.
fn axis(svg: &mut String, view: View) {
    let length = view.end - view.start;
    // The longest step that gives at least five marks.
    let steps = [100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05];
    let step = steps.into_iter().find(|step| length / step >= 5.0).unwrap_or(0.02);
    let decimals = if step < 0.1 { 2 } else { usize::from(step < 1.0) };
    let y = view.axis_y() - 6.0;
    let _ = writeln!(svg, r#"<path class="line" d="M{LEFT} {y:.1}H{RIGHT}"/>"#);
    let mut mark = (view.start / step).ceil() * step;
    while mark <= view.end {
        let x = view.x(mark);
        let _ = writeln!(svg, r#"<path class="line" d="M{x:.1} {y:.1}v5"/>"#);
        let words = format!("{mark:.decimals$}");
        let small = r#" font-size="12""#;
        let _ = writeln!(svg, "{}", text("faint", x, y + 18.0, "middle", small, &words));
        mark += step;
    }
    let _ = writeln!(svg, "{}", text("faint", RIGHT + 20.0, y + 18.0, "start", "", "ms"));
}
