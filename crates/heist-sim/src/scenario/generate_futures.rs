//! Adds random futures to a scenario that has none.
//!
//! Every correct pool still finishes the scenario: an actor that does nothing else opens each gate
//! that a future waits at, futures await only later ones, and a future that holds a permit does not
//! wait afterwards.

use super::{Act, FutureStep, Handle, Lifo, Scenario, Step, To, Use};
use heist::rng::XorShift64;

/// The gates that futures wait at. Tasks use others.
const GATES: std::ops::Range<usize> = 1..4;

/// Adds futures to the scenario.
pub(super) fn add_futures(scenario: &mut Scenario, rng: &mut XorShift64) {
    // The program that futures spawn is the last one, so it spawns nothing itself.
    let leaf = scenario.programs.len();
    scenario.programs.push(vec![Step::Run { ns: 10 + u64::from(rng.below(500)) }]);
    scenario.pool.lifo =
        [Lifo::Off, Lifo::Private, Lifo::Stealable, Lifo::Stealable][rng.below_usize(4)];
    let count = 1 + rng.below_usize(4);
    scenario.futures =
        (0..count).map(|number| future(scenario, rng, (number, count), leaf)).collect();
    // Futures may push items, so programs that handle items must not spawn futures.
    for number in 0..leaf - usize::from(!scenario.queues.is_empty()) {
        for _ in 0..rng.below_usize(3) {
            let place = rng.below_usize(scenario.programs[number].len() + 1);
            scenario.programs[number].insert(place, step(rng, count));
        }
    }
    for actor in &mut scenario.actors {
        // An actor that opens a gate does nothing that may keep it from that.
        if actor.iter().any(|act| matches!(act, Act::Open { .. })) {
            continue;
        }
        for _ in 0..1 + rng.below_usize(3) {
            // Insert at the front, where the actor does not hold anything that a future may wait
            // for.
            actor.insert(0, act(scenario.futures.as_slice(), rng));
        }
    }
    let opener = GATES.flat_map(|gate| {
        let sleep = Act::Sleep { ns: 10 + u64::from(rng.below(2_000)) };
        [sleep, Act::Wake { gate }, Act::Open { gate }]
    });
    scenario.actors.push(opener.collect());
}

fn gate(rng: &mut XorShift64) -> usize {
    GATES.start + rng.below_usize(GATES.len())
}

fn handle(rng: &mut XorShift64) -> Handle {
    [Handle::Kept, Handle::Detached][rng.below_usize(2)]
}

fn future(
    scenario: &Scenario,
    rng: &mut XorShift64,
    (number, count): (usize, usize),
    leaf: usize,
) -> Vec<FutureStep> {
    let later = count - number - 1;
    let mut steps = Vec::new();
    for _ in 0..rng.below_usize(5) {
        let future = number + 1 + rng.below_usize(later.max(1));
        steps.push(match rng.below(20) {
            0..=3 => FutureStep::Wait { gate: gate(rng) },
            4 => FutureStep::Open { gate: gate(rng) },
            5 => FutureStep::Wake { gate: gate(rng) },
            6 | 7 => FutureStep::Yield { times: 1 + rng.below(3) },
            8 => FutureStep::Operate { count: 100 + rng.below(100) },
            9 if rng.below(3) == 0 => FutureStep::Panic,
            10 if rng.below(3) == 0 => FutureStep::PanicOnDrop,
            11 if rng.below(2) == 0 && later > 0 => FutureStep::SpawnOnDrop { future },
            12 | 13 if later > 0 => {
                FutureStep::Spawn { future, count: 1 + rng.below_usize(2), handle: handle(rng) }
            }
            14 | 15 if later > 0 => FutureStep::UseHandle { future, how: how(rng) },
            16 => FutureStep::SpawnTask { program: leaf },
            17 => FutureStep::Run { ns: 10_000 },
            _ => FutureStep::Run { ns: 10 + u64::from(rng.below(2_000)) },
        });
    }
    if !scenario.queues.is_empty() && rng.below(3) == 0 {
        steps.push(FutureStep::Push { to: To::Queue(rng.below_usize(scenario.queues.len())) });
    }
    if !scenario.budgets.is_empty() && rng.below(3) == 0 {
        let budget = rng.below_usize(scenario.budgets.len());
        steps.push(FutureStep::Acquire { budget, count: 1 + u64::from(rng.below(3)) });
        steps.push(FutureStep::Run { ns: 10 + u64::from(rng.below(500)) });
    }
    steps
}

fn how(rng: &mut XorShift64) -> Use {
    [Use::Abort, Use::Await, Use::Await, Use::Detach][rng.below_usize(4)]
}

fn step(rng: &mut XorShift64, futures: usize) -> Step {
    let future = rng.below_usize(futures);
    match rng.below(8) {
        0 => Step::Wake { gate: gate(rng) },
        1 => Step::Open { gate: gate(rng) },
        2 => Step::UseHandle { future, how: [Use::Abort, Use::Detach][rng.below_usize(2)] },
        _ => Step::SpawnFuture { future, count: 1 + rng.below_usize(2), handle: handle(rng) },
    }
}

fn act(futures: &[Vec<FutureStep>], rng: &mut XorShift64) -> Act {
    let future = rng.below_usize(futures.len());
    let waits = |step: &FutureStep| {
        !matches!(
            step,
            FutureStep::Run { .. }
                | FutureStep::Open { .. }
                | FutureStep::Wake { .. }
                | FutureStep::Panic
                | FutureStep::PanicOnDrop
        )
    };
    match rng.below(12) {
        0 => Act::Wake { gate: gate(rng) },
        1 => Act::Open { gate: gate(rng) },
        2..=4 => Act::UseHandle { future, how: how(rng) },
        5 if !futures[future].iter().any(waits) => Act::RunFuture { future, handle: handle(rng) },
        _ => Act::SpawnFuture { future, handle: handle(rng) },
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Act, FutureStep, Use, generate};

    #[test]
    fn generated_scenarios_are_valid_and_use_everything() {
        let scenarios: Vec<_> = (0..500).map(generate).collect();
        for scenario in &scenarios {
            assert_eq!(scenario.validate(), Ok(()), "{}", scenario.name);
        }
        let has = |what: fn(&FutureStep) -> bool| {
            scenarios.iter().filter(|scenario| scenario.futures.iter().flatten().any(what)).count()
        };
        let counts = [
            has(|step| matches!(step, FutureStep::Wait { .. })),
            has(|step| matches!(step, FutureStep::Yield { .. })),
            has(|step| matches!(step, FutureStep::Operate { .. })),
            has(|step| matches!(step, FutureStep::Spawn { .. })),
            has(|step| matches!(step, FutureStep::SpawnOnDrop { .. })),
            has(|step| matches!(step, FutureStep::UseHandle { how: Use::Await, .. })),
            has(|step| matches!(step, FutureStep::Acquire { .. })),
            has(|step| matches!(step, FutureStep::Push { .. })),
            has(|step| matches!(step, FutureStep::Panic)),
        ];
        assert!(counts.iter().all(|count| *count >= 5), "{counts:?}");
        let has = |what: fn(&Act) -> bool| {
            scenarios.iter().filter(|scenario| scenario.actors.iter().flatten().any(what)).count()
        };
        let counts = [
            has(|act| matches!(act, Act::SpawnFuture { .. })),
            has(|act| matches!(act, Act::RunFuture { .. })),
            has(|act| matches!(act, Act::UseHandle { how: Use::Abort, .. })),
            has(|act| matches!(act, Act::UseHandle { how: Use::Await, .. })),
        ];
        assert!(counts.iter().all(|count| *count >= 5), "{counts:?}");
    }
}
