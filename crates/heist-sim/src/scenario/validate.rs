//! Checks that a scenario can be played.
//!
//! A valid scenario names only things that exist, and its tasks spawn only finitely many others.
//! Validation does not guarantee that the whole scenario ends: an owner that holds a permit while
//! it joins waits forever for the tasks that wait for that permit, unless an actor stops the pool.

use heist::signal::QUEUES_MAX;

use super::{Act, End, GATES_MAX, Push, Scenario, Step, To};

/// Larger pools do not finish within the step limit of a schedule.
const WORKERS_MAX: usize = 256;
const ACTORS_MAX: usize = 64;
const COUNT_MAX: usize = 100_000;

/// Small enough that sums of budgets do not overflow.
const BUDGET_MAX: u64 = 1 << 32;

/// The limit of the executor's own configuration.
const STEAL_TRIES_MAX: u32 = 64;

impl Scenario {
    /// Checks that the scenario can be played.
    ///
    /// # Errors
    /// Returns an error that names the part that is invalid, and why.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_pool()?;
        if self.actors.is_empty() || self.actors.len() > ACTORS_MAX {
            return Err(format!(
                "actors must be 1 to {ACTORS_MAX}, but there are {}; the first one owns the pool",
                self.actors.len()
            ));
        }
        if self.actors[0].contains(&Act::Vanish) {
            return Err("actors[0] owns the pool and must not vanish".to_owned());
        }
        self.validate_gated()?;
        self.validate_futures()?;
        for (number, program) in self.programs.iter().enumerate() {
            for (place, step) in program.iter().enumerate() {
                self.validate_step(number, step)
                    .map_err(|problem| format!("programs[{number}][{place}] {problem}"))?;
            }
        }
        for (number, actor) in self.actors.iter().enumerate() {
            for (place, act) in actor.iter().enumerate() {
                self.validate_act(act)
                    .map_err(|problem| format!("actors[{number}][{place}] {problem}"))?;
            }
            if actor.contains(&Act::Vanish) && holds_at_the_end(actor) && !self.end.stops() {
                return Err(format!(
                    "actors[{number}] vanishes while it holds something that others may wait for"
                ));
            }
        }
        match self.gates_waited_for().find(|gate| !self.gates_opened().any(|open| open == *gate)) {
            Some(gate) => Err(format!("gate {gate} is waited for but never opened")),
            None => Ok(()),
        }
    }

    fn validate_pool(&self) -> Result<(), String> {
        let pool = &self.pool;
        if pool.workers == 0 || pool.workers > WORKERS_MAX {
            return Err(format!(
                "pool.workers must be 1 to {WORKERS_MAX}, but is {}",
                pool.workers
            ));
        }
        let at_least_1 = [
            ("steal_tries", u64::from(pool.steal_tries)),
            ("steal_batch", pool.steal_batch as u64),
            ("injector_batch", pool.injector_batch as u64),
            ("backstop_ns", pool.backstop_ns.unwrap_or(1)),
        ];
        if let Some((field, _)) = at_least_1.iter().find(|(_, value)| *value == 0) {
            return Err(format!("pool.{field} must be at least 1"));
        }
        if pool.steal_tries > STEAL_TRIES_MAX {
            let tries = pool.steal_tries;
            return Err(format!(
                "pool.steal_tries must be at most {STEAL_TRIES_MAX}, but is {tries}"
            ));
        }
        Ok(())
    }

    fn validate_step(&self, number: usize, step: &Step) -> Result<(), String> {
        match step {
            Step::Spawn { program, .. } | Step::PanicInBatch { program, .. }
                if *program <= number || *program >= self.programs.len() =>
            {
                Err(format!("spawns program {program}, which is not a later program"))
            }
            Step::Spawn { count, .. } | Step::PanicInBatch { after: count, .. } => {
                check_count(*count)
            }
            Step::Again { times, .. } => check_count(*times as usize),
            Step::Push { to, push } => {
                let program = self.program_of(*to)?;
                let then = match push {
                    Push::Then(then) => Some(*then),
                    Push::Try | Push::Wait => None,
                };
                match [Some(program), then].into_iter().flatten().find(|later| *later <= number) {
                    Some(program) => {
                        Err(format!("leads to program {program}, which is not a later program"))
                    }
                    None => then.map_or(Ok(()), |then| self.check_program(then)),
                }
            }
            Step::AcquireThen { program, .. } if *program <= number => {
                Err(format!("spawns program {program}, which is not a later program"))
            }
            Step::AcquireThen { budget, program, .. } => {
                self.check_program(*program)?;
                self.check_budget(*budget)
            }
            Step::TryAcquire { budget, .. } => self.check_budget(*budget),
            Step::Meet { parties } if *parties == 0 || *parties > self.pool.workers => {
                Err(format!("meets {parties}, but there are {} workers", self.pool.workers))
            }
            Step::Block { gate } | Step::Open { gate } | Step::Wake { gate } => check_gate(*gate),
            Step::SpawnFuture { future, count, .. } => {
                self.check_future(*future)?;
                check_count(*count)
            }
            Step::UseHandle { future, how } => self.check_task_uses(*future, *how),
            _ => Ok(()),
        }
    }

    fn validate_act(&self, act: &Act) -> Result<(), String> {
        match act {
            Act::Spawn { program, .. } | Act::Batch { program, .. }
                if *program >= self.programs.len() =>
            {
                Err(format!("spawns program {program}, which does not exist"))
            }
            Act::Spawn { hold: true, .. } if self.permits == 0 => {
                Err("wants a permit, but permits is 0".to_owned())
            }
            Act::Batch { count, .. } => check_count(*count),
            Act::Block { gate } | Act::Open { gate } | Act::Wake { gate } => check_gate(*gate),
            Act::SpawnFuture { future, .. } | Act::UseHandle { future, .. } => {
                self.check_future(*future)
            }
            Act::RunFuture { future, .. } => self.check_never_waits(*future),
            Act::Push { to, count, push } => {
                self.program_of(*to)?;
                check_count(*count)?;
                match push {
                    Push::Then(then) => self.check_program(*then),
                    Push::Try | Push::Wait => Ok(()),
                }
            }
            Act::CloseQueue { queue, .. } => self.program_of(To::Queue(*queue)).map(|_| ()),
            Act::AcquireThen { budget, program, .. } => {
                self.check_program(*program)?;
                self.check_budget(*budget)
            }
            Act::Acquire { budget, .. }
            | Act::Await { budget, .. }
            | Act::TryAcquire { budget, .. }
            | Act::Resize { budget, .. }
            | Act::CloseBudget { budget } => self.check_budget(*budget),
            Act::Publish { queue, count } => {
                if *queue >= self.signals.len() {
                    return Err(format!("publishes in queue {queue}, which does not exist"));
                }
                check_count(*count)
            }
            Act::Consume { batch: 0, .. } => Err("consumes 0 at a time".to_owned()),
            Act::SetSlots { slots: 0, .. } => {
                Err("sets 0 slots; at least 1 is required".to_owned())
            }
            Act::AcquireSlot { device } | Act::SetSlots { device, .. } => {
                self.program_of(To::Lane(*device)).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn validate_gated(&self) -> Result<(), String> {
        for (number, queue) in self.queues.iter().enumerate() {
            self.check_program(queue.program)
                .map_err(|problem| format!("queues[{number}] {problem}"))?;
            if queue.batch == 0 || queue.capacity == Some(0) || queue.takes == Some(0) {
                return Err(format!(
                    "queues[{number}] contains a 0; all its numbers must be at least 1"
                ));
            }
        }
        for (number, device) in self.devices.iter().enumerate() {
            self.check_program(device.program)
                .map_err(|problem| format!("devices[{number}] {problem}"))?;
            if device.slots == 0 {
                return Err(format!("devices[{number}] has 0 slots; its jobs would wait forever"));
            }
        }
        if let Some(place) = self.signals.iter().find(|place| **place >= QUEUES_MAX) {
            return Err(format!(
                "signals contains {place}, but positions are 0 to {}",
                QUEUES_MAX - 1
            ));
        }
        let published = |act: &Act| matches!(act, Act::Publish { count: 1.., .. });
        let consumes = |act: &Act| matches!(act, Act::Consume { .. });
        if self.has_act(published) != self.has_act(consumes) {
            return Err("items are published but never consumed, or consumed but never published"
                .to_owned());
        }
        if self.lane_capacity == Some(0) {
            return Err("lane_capacity must be at least 1".to_owned());
        }
        match self.budgets.iter().position(|total| *total > BUDGET_MAX) {
            Some(budget) => Err(format!("budgets[{budget}] is above {BUDGET_MAX}")),
            None => Ok(()),
        }
    }

    fn has_act(&self, which: impl Fn(&Act) -> bool) -> bool {
        self.actors.iter().flatten().any(which)
    }

    /// Returns the program that handles the items of a queue or lane.
    pub(super) fn program_of(&self, to: To) -> Result<usize, String> {
        let program = match to {
            To::Queue(queue) => self.queues.get(queue).map(|queue| queue.program),
            To::Lane(device) => self.devices.get(device).map(|device| device.program),
        };
        program.ok_or_else(|| format!("names {to:?}, which does not exist"))
    }

    pub(super) fn check_program(&self, program: usize) -> Result<(), String> {
        if program < self.programs.len() {
            return Ok(());
        }
        Err(format!("names program {program}, which does not exist"))
    }

    pub(super) fn check_budget(&self, budget: usize) -> Result<(), String> {
        if budget < self.budgets.len() {
            return Ok(());
        }
        Err(format!("names budget {budget}, which does not exist"))
    }

    fn gates_waited_for(&self) -> impl Iterator<Item = usize> {
        let steps = self.programs.iter().flatten().filter_map(|step| match step {
            Step::Block { gate } => Some(*gate),
            _ => None,
        });
        let acts = self.actors.iter().flatten().filter_map(|act| match act {
            Act::Block { gate } => Some(*gate),
            _ => None,
        });
        steps.chain(acts).chain(self.gates_awaited())
    }

    fn gates_opened(&self) -> impl Iterator<Item = usize> {
        let steps = self.programs.iter().flatten().filter_map(|step| match step {
            Step::Open { gate } => Some(*gate),
            _ => None,
        });
        let acts = self.actors.iter().flatten().filter_map(|act| match act {
            Act::Open { gate } => Some(*gate),
            _ => None,
        });
        steps.chain(acts).chain(self.gates_opened_by_futures())
    }
}

impl End {
    /// Returns whether this way to end the pool drops waiting tasks.
    fn stops(self) -> bool {
        matches!(self, Self::Drop | Self::ShutdownAndJoin)
    }
}

/// Returns whether an actor may hold something after its last act.
fn holds_at_the_end(acts: &[Act]) -> bool {
    let takes = |act: &&Act| {
        matches!(
            act,
            Act::Acquire { .. }
                | Act::Await { .. }
                | Act::TryAcquire { .. }
                | Act::AcquireSlot { .. }
        )
    };
    let releases = acts.iter().filter(|act| **act == Act::Release).count();
    acts.iter().filter(takes).count() > releases
}

pub(super) fn check_gate(gate: usize) -> Result<(), String> {
    if gate < GATES_MAX {
        return Ok(());
    }
    Err(format!("names gate {gate}, but gates are 0 to {}", GATES_MAX - 1))
}

pub(super) fn check_count(count: usize) -> Result<(), String> {
    if count <= COUNT_MAX {
        return Ok(());
    }
    Err(format!("wants {count}, but at most {COUNT_MAX} are allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Device, Queue, by_name, names};

    fn problem(change: impl FnOnce(&mut Scenario)) -> String {
        let queue = Queue { program: 1, capacity: None, batch: 1, takes: None };
        let mut scenario = Scenario {
            programs: vec![vec![], vec![]],
            actors: vec![vec![], vec![]],
            queues: vec![queue],
            budgets: vec![1],
            devices: vec![Device { program: 1, slots: 1 }],
            signals: vec![0],
            ..Scenario::default()
        };
        assert_eq!(scenario.validate(), Ok(()));
        change(&mut scenario);
        scenario.validate().unwrap_err()
    }

    #[test]
    fn every_library_scenario_is_valid() {
        for name in names() {
            let scenario = by_name(name).unwrap();
            assert_eq!((scenario.name.as_str(), scenario.validate()), (name, Ok(())));
        }
    }

    #[test]
    fn errors_name_the_invalid_part() {
        let to_queue = |queue| Act::Push { to: To::Queue(queue), count: 1, push: Push::Wait };
        let hold = || Act::Acquire { budget: 0, count: 1, timeout_ns: None };
        let problems = [
            (problem(|scenario| scenario.queues[0].batch = 0), "queues[0]"),
            (problem(|scenario| scenario.queues[0].program = 2), "program 2"),
            (problem(|scenario| scenario.devices[0].slots = 0), "devices[0]"),
            (problem(|scenario| scenario.lane_capacity = Some(0)), "lane_capacity"),
            (problem(|scenario| scenario.signals[0] = QUEUES_MAX), "4096"),
            (problem(|scenario| scenario.actors[1].push(to_queue(1))), "Queue(1)"),
            (problem(|scenario| scenario.actors[1].extend([hold(), Act::Vanish])), "vanishes"),
            (
                problem(|scenario| scenario.actors[1].push(Act::CloseBudget { budget: 1 })),
                "budget 1",
            ),
            (
                problem(|scenario| {
                    scenario.actors[1].push(Act::Publish { queue: 0, count: 1 });
                }),
                "published",
            ),
            (
                problem(|scenario| {
                    let push = Step::Push { to: To::Lane(0), push: Push::Try };
                    scenario.programs[1].push(push);
                }),
                "not a later program",
            ),
        ];
        for (problem, named) in problems {
            assert!(problem.contains(named), "{problem}");
        }
    }
}
