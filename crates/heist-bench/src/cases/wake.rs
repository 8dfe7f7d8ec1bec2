//! How long an idle pool takes to start a task from outside, and the CPU time per cycle.
//!
//! In each cycle the producer sleeps until the pool is idle, reads the clock, spawns one task and
//! parks. The task records its start, and only then unparks the producer. So the producer never
//! competes with the woken worker for a core, and its own wake-up is not part of the latency.
//!
//! Contenders take turns in blocks of cycles, and only the current block's pool exists. A pool that
//! polls while idle would otherwise disturb the others and be charged to their CPU time.

use std::thread;

use super::pauses::Pauses;
use crate::clock::{now_ns, process_cpu_time};
use crate::measure::{Series, interleave};
use crate::peers::PoolContender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::workload::{Probe, Task};

/// Unrecorded cycles at the start of a block.
const WARM_UP: usize = 4;

/// The result of one block.
struct CycleBlock {
    latencies_us: Series,
    cpu_per_cycle_us: f64,
}

pub(crate) fn measure(
    mut contenders: Vec<PoolContender>,
    runs: usize,
    cycles_per_run: usize,
) -> Vec<Measurement> {
    let probe = Probe::leak();
    let blocks = interleave(runs, &mut contenders, |contender| {
        sample_block(contender, cycles_per_run, probe)
    });
    let row = |case: &str, value: &dyn Fn(&CycleBlock) -> f64| {
        Measurement::ours_first(
            case,
            Unit::Microseconds,
            contenders.iter().map(PoolContender::name),
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

fn sample_block(contender: &PoolContender, cycles: usize, probe: &'static Probe) -> CycleBlock {
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
    CycleBlock { latencies_us, cpu_per_cycle_us: cpu_spent.as_secs_f64() * 1e6 / cycles as f64 }
}
