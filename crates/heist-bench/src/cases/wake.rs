//! How long an idle pool takes to start a task from outside, and what one such cycle costs.
//!
//! A cycle: the producer sleeps until the pool is surely idle, takes the time, spawns one task and
//! parks; the task stamps its start and only then unparks the producer. The producer thus never
//! competes with the waking worker for a core, and its own wake-up is in no latency.
//!
//! Contenders come in blocks of cycles, and only the pool of the current block exists: a pool that
//! polls while idle would disturb the others, and its CPU time would be charged to them.

use std::thread;

use super::pauses::Pauses;
use crate::clock::{now_ns, process_cpu_time};
use crate::measure::{Series, interleave};
use crate::peers::Contender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::workload::{Probe, Task};

/// Unrecorded cycles at the start of a block.
const WARM_UP: usize = 4;

/// The outcome of one block.
struct Block {
    latencies_us: Series,
    cpu_per_cycle_us: f64,
}

pub(crate) fn measure(
    mut contenders: Vec<Contender>,
    runs: usize,
    cycles_per_run: usize,
) -> Vec<Measurement> {
    let probe = Probe::leak();
    let blocks = interleave(runs, &mut contenders, |contender| {
        sample_block(contender, cycles_per_run, probe)
    });
    let row = |case: &str, value: &dyn Fn(&Block) -> f64| {
        Measurement::ours_first(
            case,
            Unit::Microseconds,
            contenders.iter().map(Contender::name),
            blocks.iter().map(|blocks| Series::new(blocks.iter().map(value))),
        )
    };
    vec![
        row("wake_p50", &|block| block.latencies_us.quantile(0.50)),
        row("wake_p90", &|block| block.latencies_us.quantile(0.90)),
        row("wake_p99", &|block| block.latencies_us.quantile(0.99)),
        row("wake_cpu", &|block| block.cpu_per_cycle_us),
    ]
}

fn sample_block(contender: &Contender, cycles: usize, probe: &'static Probe) -> Block {
    let pool = contender.start_fresh();
    let mut pauses = Pauses::new();
    let mut cycle = || {
        thread::sleep(pauses.next());
        probe.reset();
        let spawned_ns = now_ns();
        pool.spawn(Task::ReportStart { probe });
        (probe.wait_for_start() - spawned_ns) as f64 / 1e3
    };
    for _ in 0..WARM_UP {
        cycle();
    }
    let cpu_before = process_cpu_time();
    let latencies_us = Series::new((0..cycles).map(|_| cycle()));
    let cpu_spent = process_cpu_time() - cpu_before;
    Block { latencies_us, cpu_per_cycle_us: cpu_spent.as_secs_f64() * 1e6 / cycles as f64 }
}
