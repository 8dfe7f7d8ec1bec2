//! The simulator's command line.

#[cfg(heist_sim)]
fn main() {
    use heist::sync::plant::{self, Plant};
    use heist_sim::*;
    let which = std::env::args().nth(1).unwrap_or_default();
    if which == "none" {
        let t = std::time::Instant::now();
        let c = explore::Campaign {
            schedules_max: 2_000_000,
            stop_at_failure: false,
            seed: std::env::args().nth(2).unwrap().parse().unwrap(),
            ..Default::default()
        };
        let tally = c.run(&|_, _| {});
        println!(
            "{} schedules {:.1}s: {} failures",
            tally.schedules,
            t.elapsed().as_secs_f64(),
            tally.failures
        );
        for f in tally.found.iter().take(5) {
            println!("{} {}", f.plan, f.failure);
        }
        return;
    }
    if which.contains('/') {
        let plan: plan::Plan = which.parse().unwrap();
        let o = play::play(&plan.scenario().unwrap(), plan.driver(), true);
        println!("{:#?}\n{}", plan.scenario(), report::interleaving(&o));
        println!("{:?}", o.failure);
        return;
    }
    for p in Plant::ALL {
        if !which.is_empty() && format!("{p:?}") != which {
            continue;
        }
        let t = std::time::Instant::now();
        let c = explore::Campaign { plant: Some(*p), schedules_max: 300_000, ..Default::default() };
        let tally = c.run(&|_, _| {});
        println!(
            "{p:?}: {} schedules {:.1}s: {:?}",
            tally.schedules,
            t.elapsed().as_secs_f64(),
            tally.found.first().map(|f| (f.plan.to_string(), &f.failure))
        );
        for (s, bound, max) in
            [("close-against-run", 2, 200_000u64), ("push-against-park", 3, 100_000)]
        {
            if tally.found.is_empty() {
                plant::set(Some(*p));
                let t = std::time::Instant::now();
                let e = explore::explore(
                    &std::rc::Rc::new(scenario::by_name(s).unwrap()),
                    bound,
                    max,
                    None,
                    |_| (),
                );
                println!(
                    "    {s} {bound}: {} complete {} {:.1} {:?}",
                    e.schedules,
                    e.complete,
                    t.elapsed().as_secs_f64(),
                    e.found.map(|f| f.0)
                );
            }
        }
    }
}

#[cfg(not(heist_sim))]
fn main() {
    eprintln!("heist-sim: built without the simulated machine; run `bash ci/sim.sh 60`");
    std::process::exit(2);
}
