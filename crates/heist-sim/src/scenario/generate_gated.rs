//! Adds random queues, budgets and lanes to a scenario that has none.
//!
//! Every correct pool still finishes the scenario: a holder of something that others may wait for
//! does not wait for them and gives it back; and the programs of items and of granted tasks do not
//! wait.

use super::{Act, Device, End, Push, Queue, Scenario, Step, To};
use heist::rng::XorShift64;

/// Adds some of everything.
pub(super) fn add_gated(scenario: &mut Scenario, rng: &mut XorShift64) {
    // The program of items and of granted tasks is the last one, so that all other programs may
    // lead to it.
    let leaf = scenario.programs.len();
    scenario.programs.push(leaf_program(rng, &scenario.pool));
    scenario.queues = (0..rng.below_usize(3)).map(|_| queue(rng, leaf)).collect();
    scenario.budgets = (0..rng.below_usize(3)).map(|_| 1 + u64::from(rng.below(3))).collect();
    scenario.devices = (0..rng.below_usize(3))
        .map(|_| Device { program: leaf, slots: 1 + rng.below_usize(2) })
        .collect();
    scenario.lane_capacity = (rng.below(2) == 0).then(|| 1 + u64::from(rng.below(3)));
    for number in 0..leaf {
        for _ in 0..rng.below_usize(3) {
            if let Some(step) = step(scenario, rng, leaf) {
                let place = rng.below_usize(scenario.programs[number].len() + 1);
                scenario.programs[number].insert(place, step);
            }
        }
    }
    for number in 0..scenario.actors.len() {
        // An actor that opens a gate does nothing that may keep it from that.
        if scenario.actors[number].iter().any(|act| matches!(act, Act::Open { .. })) {
            continue;
        }
        for _ in 0..rng.below_usize(4) {
            let acts = acts(scenario, rng, leaf);
            let actor = &mut scenario.actors[number];
            // Sometimes insert at the front, so that actors that vanish or stop the pool do
            // something before.
            let place = if rng.below(2) == 0 { 0 } else { actor.len() };
            let place = if actor.last() == Some(&Act::Vanish) { 0 } else { place };
            actor.splice(place..place, acts);
        }
    }
    if matches!(scenario.end, End::Drop | End::ShutdownAndJoin) && !scenario.budgets.is_empty() {
        // The permit is held until the pool has ended, so waiting requests are dropped.
        let (budget, count) = (rng.below_usize(scenario.budgets.len()), 1);
        scenario.actors[0].push(Act::TryAcquire { budget, count });
    }
}

fn leaf_program(rng: &mut XorShift64, pool: &super::Pool) -> Vec<Step> {
    let mut steps = vec![Step::Run { ns: 10 + u64::from(rng.below(500)) }];
    if pool.isolate_panics && rng.below(4) == 0 {
        steps.push(Step::Panic);
    }
    steps
}

fn queue(rng: &mut XorShift64, program: usize) -> Queue {
    Queue {
        program,
        capacity: (rng.below(2) == 0).then(|| 1 + u64::from(rng.below(3))),
        batch: [1, 2, 64][rng.below_usize(3)],
        takes: (rng.below(3) == 0).then_some(1),
    }
}

fn to(scenario: &Scenario, rng: &mut XorShift64) -> Option<To> {
    let (queues, devices) = (scenario.queues.len(), scenario.devices.len());
    let number = (queues + devices > 0).then(|| rng.below_usize(queues + devices))?;
    Some(if number < queues { To::Queue(number) } else { To::Lane(number - queues) })
}

fn push(rng: &mut XorShift64, leaf: usize) -> Push {
    [Push::Try, Push::Wait, Push::Then(leaf)][rng.below_usize(3)]
}

fn budget(scenario: &Scenario, rng: &mut XorShift64) -> Option<(usize, u64)> {
    let budgets = scenario.budgets.len();
    let budget = (budgets > 0).then(|| rng.below_usize(budgets))?;
    Some((budget, 1 + u64::from(rng.below(3))))
}

fn step(scenario: &Scenario, rng: &mut XorShift64, leaf: usize) -> Option<Step> {
    if rng.below(2) == 0 {
        return Some(Step::Push { to: to(scenario, rng)?, push: push(rng, leaf) });
    }
    let (budget, count) = budget(scenario, rng)?;
    Some(match rng.below(2) {
        0 => Step::TryAcquire { budget, count },
        _ => Step::AcquireThen { budget, count, program: leaf },
    })
}

/// Returns acts of an actor that belong together, such as taking a permit and giving it back.
fn acts(scenario: &Scenario, rng: &mut XorShift64, leaf: usize) -> Vec<Act> {
    let made = match rng.below(12) {
        0..=4 => to(scenario, rng).map(|to| {
            let (count, push) = (1 + rng.below_usize(3), push(rng, leaf));
            vec![Act::Push { to, count, push }]
        }),
        5 if !scenario.queues.is_empty() && rng.below(3) == 0 => {
            let (queue, drops) = (rng.below_usize(scenario.queues.len()), rng.below(2) == 0);
            Some(vec![Act::CloseQueue { queue, drops }])
        }
        6 if rng.below(3) == 0 => Some(vec![Act::CloseLanes { drops: rng.below(2) == 0 }]),
        7 if !scenario.devices.is_empty() => {
            let device = rng.below_usize(scenario.devices.len());
            Some(match rng.below(2) {
                0 => vec![Act::SetSlots { device, slots: 1 + rng.below_usize(3) }],
                _ => vec![Act::AcquireSlot { device }, Act::Run { ns: 100 }, Act::Release],
            })
        }
        8 => budget(scenario, rng).map(|(budget, count)| {
            let panics = scenario.pool.isolate_panics && rng.below(4) == 0;
            vec![Act::AcquireThen { budget, count, program: leaf, panics }]
        }),
        9 if rng.below(2) == 0 => budget(scenario, rng).map(|(budget, total)| match rng.below(3) {
            0 => vec![Act::CloseBudget { budget }],
            _ => vec![Act::Resize { budget, total }],
        }),
        _ => budget(scenario, rng).map(|(budget, count)| {
            vec![hold(rng, budget, count), Act::Run { ns: 100 }, Act::Release]
        }),
    };
    made.unwrap_or_default()
}

fn hold(rng: &mut XorShift64, budget: usize, count: u64) -> Act {
    let some_ns = (rng.below(2) == 0).then(|| 10 + u64::from(rng.below(1_000)));
    match rng.below(3) {
        0 => Act::Acquire { budget, count, timeout_ns: some_ns },
        1 => Act::Await { budget, count, patience_ns: some_ns },
        _ => Act::TryAcquire { budget, count },
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Act, generate};

    #[test]
    fn generated_scenarios_are_valid_and_use_everything() {
        let scenarios: Vec<_> = (0..500).map(generate).collect();
        for scenario in &scenarios {
            assert_eq!(scenario.validate(), Ok(()), "{}", scenario.name);
        }
        let has = |what: fn(&Act) -> bool| {
            scenarios.iter().filter(|scenario| scenario.actors.iter().flatten().any(what)).count()
        };
        let counts = [
            has(|act| matches!(act, Act::Push { .. })),
            has(|act| matches!(act, Act::AcquireThen { .. })),
            has(|act| matches!(act, Act::Acquire { .. })),
            has(|act| matches!(act, Act::Await { .. })),
            has(|act| matches!(act, Act::AcquireSlot { .. })),
            has(|act| matches!(act, Act::Resize { .. })),
            has(|act| matches!(act, Act::CloseQueue { .. })),
        ];
        assert!(counts.iter().all(|count| *count >= 5), "{counts:?}");
    }
}
