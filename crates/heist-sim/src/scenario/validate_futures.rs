//! Checks that the futures of a scenario can be played.
//!
//! Like `validate` for tasks, this guarantees that every index exists and that futures start only
//! finitely many others: futures spawn and await only later ones, and the tasks that they spawn do
//! not spawn futures.

use super::validate::{check_count, check_gate};
use super::{FutureStep, Scenario, Step, Use};

impl Scenario {
    pub(super) fn validate_futures(&self) -> Result<(), String> {
        for (number, future) in self.futures.iter().enumerate() {
            for (place, step) in future.iter().enumerate() {
                self.validate_future_step(number, step)
                    .map_err(|problem| format!("futures[{number}][{place}] {problem}"))?;
            }
        }
        Ok(())
    }

    fn validate_future_step(&self, number: usize, step: &FutureStep) -> Result<(), String> {
        match step {
            FutureStep::Wait { gate } | FutureStep::Open { gate } | FutureStep::Wake { gate } => {
                check_gate(*gate)
            }
            FutureStep::Yield { times: count } | FutureStep::Operate { count } => {
                check_count(*count as usize)
            }
            FutureStep::Spawn { future, .. }
            | FutureStep::SpawnOnDrop { future }
            | FutureStep::UseHandle { future, .. }
                if *future <= number || *future >= self.futures.len() =>
            {
                Err(format!("names future {future}, which is not a later one"))
            }
            FutureStep::Spawn { count, .. } => check_count(*count),
            FutureStep::SpawnTask { program } => self.check_spawns_no_future(*program),
            FutureStep::Push { to } => self.check_spawns_no_future(self.program_of(*to)?),
            FutureStep::Acquire { budget, .. } => self.check_budget(*budget),
            FutureStep::SpawnOnDrop { .. }
            | FutureStep::UseHandle { .. }
            | FutureStep::Run { .. }
            | FutureStep::Panic
            | FutureStep::PanicOnDrop => Ok(()),
        }
    }

    pub(super) fn check_future(&self, future: usize) -> Result<(), String> {
        if future < self.futures.len() {
            return Ok(());
        }
        Err(format!("names future {future}, which does not exist"))
    }

    /// Checks the use of a handle by a task. A task must not await, because it would hold the
    /// worker that the future may need.
    pub(super) fn check_task_uses(&self, future: usize, how: Use) -> Result<(), String> {
        if how == Use::Await {
            return Err("awaits, but a task must not await".to_owned());
        }
        self.check_future(future)
    }

    /// Checks that a future that an actor polls ends in its first poll.
    pub(super) fn check_never_waits(&self, future: usize) -> Result<(), String> {
        self.check_future(future)?;
        let waits = |step: &FutureStep| {
            matches!(
                step,
                FutureStep::Wait { .. }
                    | FutureStep::Yield { .. }
                    | FutureStep::Operate { .. }
                    | FutureStep::Acquire { .. }
                    | FutureStep::UseHandle { how: Use::Await, .. }
            )
        };
        if self.futures[future].iter().any(waits) {
            return Err(format!(
                "polls future {future} on its own thread, but that future may wait"
            ));
        }
        Ok(())
    }

    /// Checks that a program does not lead to futures. Programs lead only to later ones, so
    /// checking those is enough.
    fn check_spawns_no_future(&self, program: usize) -> Result<(), String> {
        self.check_program(program)?;
        let spawns = |step: &Step| matches!(step, Step::SpawnFuture { .. });
        if self.programs[program..].iter().flatten().any(spawns) {
            return Err(format!("leads to program {program}, which may spawn futures"));
        }
        Ok(())
    }

    /// Returns the gates that futures wait at.
    pub(super) fn gates_awaited(&self) -> impl Iterator<Item = usize> {
        self.futures.iter().flatten().filter_map(|step| match step {
            FutureStep::Wait { gate } => Some(*gate),
            _ => None,
        })
    }

    /// Returns the gates that futures open.
    pub(super) fn gates_opened_by_futures(&self) -> impl Iterator<Item = usize> {
        self.futures.iter().flatten().filter_map(|step| match step {
            FutureStep::Open { gate } => Some(*gate),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Act, FutureStep, Handle, Scenario, Step, Use};

    fn problem(change: impl FnOnce(&mut Scenario)) -> String {
        let mut scenario = Scenario {
            programs: vec![vec![], vec![]],
            futures: vec![vec![], vec![]],
            actors: vec![vec![]],
            ..Scenario::default()
        };
        assert_eq!(scenario.validate(), Ok(()));
        change(&mut scenario);
        scenario.validate().unwrap_err()
    }

    #[test]
    fn errors_name_the_invalid_future() {
        let handle = Handle::Detached;
        let spawn = |future| FutureStep::Spawn { future, count: 1, handle };
        let wait = FutureStep::Wait { gate: 3 };
        let await_it = |future| Step::UseHandle { future, how: Use::Await };
        let problems = [
            (problem(|scenario| scenario.futures[1].push(spawn(1))), "not a later one"),
            (problem(|scenario| scenario.futures[0].push(spawn(2))), "future 2"),
            (problem(|scenario| scenario.futures[0].push(wait.clone())), "gate 3"),
            (problem(|scenario| scenario.programs[0].push(await_it(0))), "awaits"),
            (
                problem(|scenario| scenario.actors[0].push(Act::SpawnFuture { future: 2, handle })),
                "future 2",
            ),
            (
                problem(|scenario| {
                    scenario.futures[0].push(FutureStep::Yield { times: 1 });
                    scenario.actors[0].push(Act::RunFuture { future: 0, handle });
                }),
                "may wait",
            ),
            (
                problem(|scenario| {
                    scenario.programs[1].push(Step::SpawnFuture { future: 0, count: 1, handle });
                    scenario.futures[0].push(FutureStep::SpawnTask { program: 0 });
                }),
                "may spawn futures",
            ),
        ];
        for (problem, named) in problems {
            assert!(problem.contains(named), "{problem}");
        }
    }
}
