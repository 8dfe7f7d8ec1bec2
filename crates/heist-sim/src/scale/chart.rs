//! Draws the report as a chart: small panels with one line per protocol.

use super::{Figures, Protocol, Report, Workload};
use std::fmt::Write as _;

const PANEL_WIDTH: f64 = 330.0;
const PANEL_HEIGHT: f64 = 250.0;
const COLUMNS: usize = 3;
/// The margins around the area in which the lines are drawn.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 40.0;
const HEADER: f64 = 84.0;

struct Panel {
    title: &'static str,
    unit: &'static str,
    workload: Workload,
    figure: fn(&Figures) -> f64,
    /// Whether the axis is logarithmic.
    log: bool,
}

const PANELS: [Panel; 6] = [
    Panel {
        title: "tree: time spent in tasks",
        unit: "% of all workers' time; more is better",
        workload: Workload::Tree,
        figure: |figures| 100.0 * figures.efficiency,
        log: false,
    },
    Panel {
        title: "tree: shared writes",
        unit: "per task: lines that another wrote last",
        workload: Workload::Tree,
        figure: |figures| figures.shared_writes,
        log: false,
    },
    Panel {
        title: "tree: awake, but in no task",
        unit: "ns per task",
        workload: Workload::Tree,
        figure: |figures| figures.overhead_ns,
        log: true,
    },
    Panel {
        title: "flat: time spent in tasks",
        unit: "% of all workers' time; more is better",
        workload: Workload::Flat,
        figure: |figures| 100.0 * figures.efficiency,
        log: false,
    },
    Panel {
        title: "bursts: wake-ups and timeouts",
        unit: "per task",
        workload: Workload::Bursts,
        figure: |figures| figures.wakes + figures.timeouts,
        log: false,
    },
    Panel {
        title: "straggler: from the last task to join",
        unit: "µs",
        workload: Workload::Straggler,
        figure: |figures| figures.joined_us,
        log: true,
    },
];

/// Colours that colour-blind readers can distinguish. Lines that may cover each other also differ
/// in their dashes.
fn stroke(protocol: Protocol) -> (&'static str, f64, &'static str) {
    match protocol {
        Protocol::Heist => ("#0072b2", 4.0, ""),
        Protocol::CountBeforeLooking => ("#009e73", 2.2, ""),
        Protocol::QuietTree => ("#000000", 1.4, "5 4"),
        Protocol::InFlightWord => ("#d55e00", 2.2, ""),
        Protocol::BatchedDeltaWhenIdle => ("#cc79a7", 2.2, "2 4"),
        Protocol::RoundRobinWake => ("#e69f00", 2.2, "9 3"),
    }
}

/// Maps a figure to a height between 0 and 1.
struct Axis {
    from: f64,
    to: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    fn new(values: &[f64], log: bool) -> Self {
        let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        if log {
            let least = values.iter().copied().fold(most, f64::min).max(1e-3);
            let from = least.log10().floor();
            let to = most.log10().ceil().max(from + 1.0);
            let ticks = (from as i32..=to as i32).map(|power| 10_f64.powi(power)).collect();
            return Self { from, to, log, ticks };
        }
        // About four steps of 1, 2 or 5 times a power of ten.
        let power = 10_f64.powf((most / 4.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power);
        let step = step.into_iter().find(|step| most / step <= 4.5).unwrap_or(10.0 * power);
        let count = (most / step).ceil();
        let ticks = (0..=count as usize).map(|tick| tick as f64 * step).collect();
        Self { from: 0.0, to: count * step, log, ticks }
    }

    fn height(&self, value: f64) -> f64 {
        let value = if self.log { value.max(1e-3).log10() } else { value };
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

fn number(value: f64) -> String {
    let digits = match value {
        _ if value.fract() == 0.0 => 0,
        _ if value >= 1.0 => 1,
        _ => (-value.log10().floor()) as usize,
    };
    let text = format!("{value:.digits$}");
    let whole = value as u64;
    if whole >= 1_000 { format!("{},{:03}", whole / 1_000, whole % 1_000) } else { text }
}

impl Report {
    /// Returns the chart as SVG.
    pub fn svg(&self) -> String {
        let rows = PANELS.len().div_ceil(COLUMNS);
        let width = COLUMNS as f64 * PANEL_WIDTH + 20.0;
        let height = HEADER + rows as f64 * PANEL_HEIGHT + 10.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"16\" y=\"26\" font-size=\"17\" font-weight=\"bold\">Scale by simulation</text>\n\
             <text x=\"16\" y=\"46\">The executor that ships, on 2 to 256 simulated cores; tasks of 1 µs, the same \
             number for each worker. Costs are a model: see SCALE.md.</text>\n"
        );
        self.draw_legend(&mut svg);
        for (number, panel) in PANELS.iter().enumerate() {
            let x = 10.0 + (number % COLUMNS) as f64 * PANEL_WIDTH;
            let y = HEADER + (number / COLUMNS) as f64 * PANEL_HEIGHT;
            let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
            self.draw_panel(&mut svg, panel);
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_legend(&self, svg: &mut String) {
        let shown = Protocol::ALL
            .into_iter()
            .filter(|protocol| self.rows.iter().any(|row| row.protocol == *protocol));
        let mut x = 16.0;
        for protocol in shown {
            let (colour, thickness, dashes) = stroke(protocol);
            let wrong = self.rows.iter().any(|row| row.protocol == protocol && row.wrong > 0);
            let name = protocol.name();
            let note = if wrong { " (wrong)" } else { "" };
            let _ = writeln!(
                svg,
                "<path d=\"M{x} 66h28\" stroke=\"{colour}\" stroke-width=\"{thickness}\" \
                 stroke-dasharray=\"{dashes}\"/><text x=\"{}\" y=\"70\">{name}{note}</text>",
                x + 34.0
            );
            // About the width of a letter in this size.
            x += 58.0 + 6.6 * (name.len() + note.len()) as f64;
        }
    }

    fn draw_panel(&self, svg: &mut String, panel: &Panel) {
        let (plot_width, plot_height) = (PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM);
        let points = |protocol: Protocol| {
            let mut points: Vec<_> = self
                .rows
                .iter()
                .filter(|row| row.workload == panel.workload && row.protocol == protocol)
                .filter_map(|row| Some((row.workers, (panel.figure)(row.figures.as_ref()?))))
                .collect();
            points.sort_by_key(|(workers, _)| *workers);
            points
        };
        let all: Vec<_> = Protocol::ALL.into_iter().flat_map(points).collect();
        let sizes = all.iter().map(|(workers, _)| *workers);
        let (Some(least), Some(most)) = (sizes.clone().min(), sizes.max()) else { return };
        let values: Vec<_> = all.iter().map(|(_, value)| *value).collect();
        let axis = Axis::new(&values, panel.log);
        let doublings = f64::from((most / least).ilog2()).max(1.0);
        let x_of =
            |workers: usize| LEFT + plot_width * f64::from((workers / least).ilog2()) / doublings;
        let y_of = |value: f64| TOP + plot_height * (1.0 - axis.height(value));

        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\" font-size=\"13\">{}</text>\
             <text x=\"{LEFT}\" y=\"37\" fill=\"#555\">{}</text>",
            panel.title, panel.unit
        );
        for tick in &axis.ticks {
            let y = y_of(*tick);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}h{plot_width}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                number(*tick)
            );
        }
        let mut workers = least;
        while workers <= most {
            let (x, y) = (x_of(workers), PANEL_HEIGHT - BOTTOM);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {y}v4\" stroke=\"#888\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{workers}</text>",
                y + 17.0
            );
            workers *= 2;
        }
        let middle = LEFT + plot_width / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">workers</text>",
            PANEL_HEIGHT - 8.0
        );
        for protocol in Protocol::ALL {
            let (colour, thickness, dashes) = stroke(protocol);
            let line: Vec<_> = points(protocol)
                .into_iter()
                .map(|(workers, value)| format!("{:.1},{:.1}", x_of(workers), y_of(value)))
                .collect();
            if !line.is_empty() {
                let _ = writeln!(
                    svg,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" \
                     stroke-width=\"{thickness}\" stroke-dasharray=\"{dashes}\" stroke-linejoin=\"round\"/>",
                    line.join(" ")
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_and_room_for_all_values() {
        let ticks = |values: &[f64], log| Axis::new(values, log).ticks;
        assert_eq!(ticks(&[0.3, 2.4], false), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(&[93.0], false), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(&[27.0, 2_300.0], true), [10.0, 100.0, 1_000.0, 10_000.0]);
        let axis = Axis::new(&[3.0, 7.0], false);
        assert!(axis.height(0.0).abs() < 1e-9 && axis.height(7.0) <= 1.0);
        let same = Axis::new(&[100.0, 100.0], true);
        assert!(same.height(100.0).is_finite());
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<_> = [0.0, 0.05, 0.2, 5.0, 100.0, 2_000.0, 20_000.0].map(number).to_vec();
        assert_eq!(shown, ["0", "0.05", "0.2", "5", "100", "2,000", "20,000"]);
    }
}
