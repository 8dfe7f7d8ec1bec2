//! Prints the scale report.

#[cfg(heist_sim)]
fn main() {
    use heist_sim::scale::{Options, Protocol, Workload, run};
    let mut args = std::env::args().skip(1);
    let max: usize = args.next().map_or(256, |text| text.parse().unwrap());
    let runs: u64 = args.next().map_or(1, |text| text.parse().unwrap());
    let mut options = Options { runs, ..Options::default() };
    options.workers.retain(|workers| *workers <= max);
    if let Some(w) = args.next() {
        options.workloads =
            Workload::ALL.into_iter().filter(|x| x.name() == w || w == "all").collect();
    }
    if let Some(p) = args.next() {
        options.protocols =
            Protocol::ALL.into_iter().filter(|x| x.name().starts_with(&p)).collect();
    }
    if let Some(w) = args.next() {
        options.workers = vec![w.parse().unwrap()];
    }
    let begin = std::time::Instant::now();
    let report = run(&options, &mut |text| eprintln!("{:.1?} {text}", begin.elapsed()));
    for row in &report.rows {
        let Some(f) = &row.figures else {
            println!(
                "{:9} {:20} {:3} WRONG {} {:?}",
                row.workload.name(),
                row.protocol.name(),
                row.workers,
                row.wrong,
                row.failure
            );
            continue;
        };
        println!(
            "{:9} {:20} {:3} sw {:6.2} rm {:7.2} steal {:.3} wake {:.4} to {:.3} ovh {:7.0} asleep {:7.1} span {:8.1} eff {:.3} queued {:5.0} lock {:5.0} term {:.2}/{:.0}/{:.2}us found {:.1} join {:.1} steps {} wrong {}",
            row.workload.name(),
            row.protocol.name(),
            row.workers,
            f.shared_writes,
            f.read_misses,
            f.steals,
            f.wakes,
            f.timeouts,
            f.overhead_ns,
            f.asleep_us,
            f.span_us,
            f.efficiency,
            f.queued_ns,
            f.locked_out_ns,
            f.termination_accesses,
            f.end_termination_accesses,
            f.end_termination_us,
            f.found_done_us,
            f.joined_us,
            row.steps,
            row.wrong
        );
    }
    println!("{}", report.table());
    if let Some(out) = std::env::var_os("OUT") {
        report.write_to(std::path::Path::new(&out)).unwrap();
    }
    if std::env::var_os("JSON").is_some() {
        println!("{}", serde_json::to_string_pretty(&report).unwrap());
    }
}

#[cfg(not(heist_sim))]
fn main() {}
