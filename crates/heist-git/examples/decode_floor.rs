//! Decodes every object of a repository base first, and says what it cost (on Linux).
//!
//! ```sh
//! cargo run --release -p heist-git --example decode_floor -- PATH [THREADS] [all]
//! ```

use heist_git::{
    Access, Layout, Limits, ObjectKind, ObjectStore, ObjectVisitor, Sweep, Trust, Visit,
};
use std::time::Instant;

/// Looks at no byte of the contents.
#[derive(Default)]
struct Floor {
    all: bool,
    whole_bytes: u64,
    inserted_bytes: u64,
}

impl ObjectVisitor for Floor {
    type State = ();

    fn wants(&self, kind: ObjectKind) -> bool {
        self.all || kind == ObjectKind::Blob
    }

    fn visit(&mut self, visit: &Visit<'_, ()>) -> Option<()> {
        match &visit.delta {
            None => self.whole_bytes += visit.content.len() as u64,
            Some(delta) => self.inserted_bytes += delta.inserted_bytes(),
        }
        Some(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| ".".to_owned());
    let threads = arguments.next().map_or(Ok(1), |number| number.parse())?;
    let all = arguments.next().is_some();
    let start = Instant::now();
    let access = Access::new([&path], Trust::RootsOnly)?;
    let layout = Layout::open(&path, &access)?;
    let store = ObjectStore::open(&layout, &access, Limits::default())?;
    let visitor = move |_worker| Floor { all, ..Floor::default() };
    let report = Sweep::new(store).threads(threads).run(visitor)?;
    for problem in &report.problems {
        println!("{problem}");
    }
    let sum = |count: fn(&Floor) -> u64| report.visitors.iter().map(count).sum::<u64>();
    println!("{:#?}", report.counts);
    println!(
        "whole {} MB, inserted {} MB, wall {:.3} s, cpu {:.2} s, peak {} MB, large buffers {} MB",
        sum(|floor| floor.whole_bytes) / 1_000_000,
        sum(|floor| floor.inserted_bytes) / 1_000_000,
        start.elapsed().as_secs_f64(),
        cpu_seconds().unwrap_or_default(),
        peak_kilobytes().unwrap_or_default() / 1000,
        report.buffers_high_water / 1_000_000,
    );
    Ok(())
}

/// User and system time, at a resolution of 10 ms.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<_> = stat.rsplit(") ").next()?.split(' ').collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
