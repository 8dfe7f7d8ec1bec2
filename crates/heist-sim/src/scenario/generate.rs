//! Generates random scenarios, and shrinks existing ones.
//!
//! `generate_gated` adds queues, budgets and lanes; `generate_futures` adds futures.

use super::generate_futures::add_futures;
use super::generate_gated::add_gated;
use super::{Act, End, FutureStep, Handle, How, Pool, Push, Scenario, Step};
use heist::rng::XorShift64;

/// Returns a random scenario that every correct pool finishes.
pub fn generate(seed: u64) -> Scenario {
    let mut rng = XorShift64::new(seed);
    let workers = 1 + rng.below_usize(4);
    let programs_count = 1 + rng.below_usize(4);
    let mut programs: Vec<_> =
        (0..programs_count).map(|number| program(&mut rng, number, programs_count)).collect();
    let mut actors: Vec<_> =
        (0..1 + rng.below_usize(3)).map(|_| actor(&mut rng, programs_count)).collect();
    for lost in &mut actors[1..] {
        if rng.below(8) == 0 {
            lost.push(Act::Vanish);
        }
    }
    if rng.below(4) == 0 {
        let blocked = rng.below_usize(programs_count);
        programs[blocked].push(Step::Block { gate: 0 });
        // This actor does nothing else, so nothing can keep it from opening the gate.
        actors.push(vec![Act::Sleep { ns: 500 }, Act::Open { gate: 0 }]);
    }
    if rng.below(4) == 0 {
        // This meeting needs all workers. Nothing else spawns this program, so either enough tasks
        // come or none.
        programs.push(vec![Step::Meet { parties: workers }]);
        let meeting = Act::Batch { program: programs_count, count: workers };
        let place = rng.below_usize(actors[0].len() + 1);
        actors[0].insert(place, meeting);
    }
    let end = match rng.below(8) {
        0 => End::Drop,
        1 => End::ShutdownAndJoin,
        2 => End::JoinTimeout { ns: u64::from(rng.below(5_000)) },
        _ => End::Join,
    };
    let mut scenario = Scenario {
        name: format!("generated-{seed}"),
        pool: pool(&mut rng, workers),
        programs,
        actors,
        end,
        permits: 1 + rng.below_usize(2),
        ..Scenario::default()
    };
    // This comes last, so that a seed gives the same pool with and without these additions.
    if rng.below(2) == 0 {
        add_gated(&mut scenario, &mut rng);
    }
    if rng.below(2) == 0 {
        add_futures(&mut scenario, &mut rng);
    }
    debug_assert_eq!(scenario.validate(), Ok(()));
    scenario
}

fn pool(rng: &mut XorShift64, workers: usize) -> Pool {
    Pool {
        workers,
        stealing: rng.below(8) != 0,
        steal_tries: 1 + rng.below(2),
        steal_batch: [1, 2, 64][rng.below_usize(3)],
        injector_batch: [1, 2, 64][rng.below_usize(3)],
        looks: [0, 0, 1, 3][rng.below_usize(4)],
        backstop_ns: (rng.below(8) == 0).then_some(1_000),
        isolate_panics: rng.below(2) == 0,
        seed: rng.next_u64(),
        ..Pool::default()
    }
}

fn how(rng: &mut XorShift64) -> How {
    [How::Local, How::Local, How::Batch, How::Global, How::Yielded][rng.below_usize(5)]
}

fn program(rng: &mut XorShift64, number: usize, programs: usize) -> Vec<Step> {
    let later = programs - number - 1;
    let mut steps = Vec::new();
    for _ in 0..rng.below_usize(4) {
        let step = match rng.below(12) {
            0 => Step::Again { times: 1 + rng.below(2), how: how(rng) },
            1 if rng.below(3) == 0 => Step::PanicOnDrop,
            2 if rng.below(3) == 0 => Step::Panic,
            3 if rng.below(3) == 0 && later > 0 => Step::PanicInBatch {
                program: number + 1 + rng.below_usize(later),
                after: rng.below_usize(3),
            },
            4..=7 if later > 0 => Step::Spawn {
                program: number + 1 + rng.below_usize(later),
                count: 1 + rng.below_usize(2),
                how: how(rng),
            },
            _ => Step::Run { ns: 10 + u64::from(rng.below(2_000)) },
        };
        steps.push(step);
    }
    steps
}

fn actor(rng: &mut XorShift64, programs: usize) -> Vec<Act> {
    let act = |rng: &mut XorShift64| match rng.below(16) {
        0 => Act::Shutdown,
        1 => Act::Cancel,
        2 => Act::Run { ns: 10 + u64::from(rng.below(2_000)) },
        3 => Act::Sleep { ns: 10 + u64::from(rng.below(2_000)) },
        4..=6 => Act::Batch { program: rng.below_usize(programs), count: rng.below_usize(5) },
        _ => Act::Spawn { program: rng.below_usize(programs), hold: rng.below(4) == 0 },
    };
    (0..rng.below_usize(5)).map(|_| act(rng)).collect()
}

/// Returns all scenarios that are one step simpler, to find out which parts of a failing one
/// matter.
pub fn shrink(scenario: &Scenario) -> Vec<Scenario> {
    let mut smaller = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut changed = scenario.clone();
        change(&mut changed);
        if changed != *scenario && changed.validate().is_ok() {
            smaller.push(changed);
        }
    };
    for actor in 1..scenario.actors.len() {
        add(&|scenario| _ = scenario.actors.remove(actor));
    }
    for (actor, acts) in scenario.actors.iter().enumerate() {
        for act in 0..acts.len() {
            add(&|scenario| _ = scenario.actors[actor].remove(act));
            add(&|scenario| halve_act(&mut scenario.actors[actor][act]));
            add(&|scenario| simplify_act(&mut scenario.actors[actor][act]));
        }
    }
    for (program, steps) in scenario.programs.iter().enumerate() {
        for step in 0..steps.len() {
            add(&|scenario| _ = scenario.programs[program].remove(step));
            add(&|scenario| halve_step(&mut scenario.programs[program][step]));
            add(&|scenario| simplify_step(&mut scenario.programs[program][step]));
        }
    }
    for (future, steps) in scenario.futures.iter().enumerate() {
        for step in 0..steps.len() {
            add(&|scenario| _ = scenario.futures[future].remove(step));
            add(&|scenario| simplify_future_step(&mut scenario.futures[future][step]));
        }
    }
    if scenario.starvation_bound.is_some() {
        // The starvation bound holds for exactly this pool, so shrinking must not change it.
        return smaller;
    }
    add(&|scenario| scenario.pool.workers /= 2);
    add(&|scenario| scenario.pool.workers -= 1);
    add(&|scenario| scenario.end = End::Join);
    let plain = Pool { workers: scenario.pool.workers, ..Pool::default() };
    add(&|scenario| scenario.pool.looks = plain.looks);
    add(&|scenario| scenario.pool.steal_tries = plain.steal_tries);
    add(&|scenario| scenario.pool.steal_batch = plain.steal_batch);
    add(&|scenario| scenario.pool.injector_batch = plain.injector_batch);
    add(&|scenario| scenario.pool.backstop_ns = None);
    add(&|scenario| scenario.pool.stealing = true);
    add(&|scenario| scenario.pool.lifo = plain.lifo);
    add(&|scenario| scenario.pool.seed = plain.seed);
    smaller
}

fn halve_act(act: &mut Act) {
    match act {
        Act::Batch { count, .. } | Act::Push { count, .. } => *count = count.div_ceil(2),
        _ => {}
    }
}

fn halve_step(step: &mut Step) {
    match step {
        Step::Spawn { count, .. } => *count = count.div_ceil(2),
        Step::Again { times, .. } => *times = times.div_ceil(2),
        Step::SpawnFuture { count, .. } => *count = count.div_ceil(2),
        _ => {}
    }
}

fn simplify_act(act: &mut Act) {
    match act {
        Act::Batch { count, .. } if *count > 1 => *count -= 1,
        Act::Batch { program, .. } => *act = Act::Spawn { program: *program, hold: false },
        Act::Spawn { hold, .. } => *hold = false,
        Act::Run { ns } => *ns = 10,
        Act::Push { count, .. } if *count > 1 => *count -= 1,
        Act::Push { push, .. } => *push = Push::Wait,
        Act::Publish { count, .. } if *count > 1 => *count -= 1,
        Act::AcquireThen { panics, .. } => *panics = false,
        Act::SpawnFuture { handle, .. } | Act::RunFuture { handle, .. } => {
            *handle = Handle::Detached;
        }
        _ => {}
    }
}

fn simplify_step(step: &mut Step) {
    match step {
        Step::Spawn { count, .. } if *count > 1 => *count -= 1,
        Step::Again { times, .. } if *times > 1 => *times -= 1,
        Step::Spawn { how, .. } | Step::Again { how, .. } => *how = How::Local,
        Step::Run { ns } => *ns = 10,
        Step::Push { push, .. } => *push = Push::Try,
        Step::SpawnFuture { count, .. } if *count > 1 => *count -= 1,
        Step::SpawnFuture { handle, .. } => *handle = Handle::Detached,
        _ => {}
    }
}

fn simplify_future_step(step: &mut FutureStep) {
    match step {
        FutureStep::Yield { times: count } | FutureStep::Operate { count } if *count > 1 => {
            *count -= 1;
        }
        FutureStep::Spawn { count, .. } if *count > 1 => *count -= 1,
        FutureStep::Spawn { handle, .. } => *handle = Handle::Detached,
        FutureStep::Run { ns } => *ns = 10,
        _ => {}
    }
}
