//! A scenario is data: a pool, what its tasks do, and who uses it from outside.

mod generate;
mod library;

pub use generate::{generate, shrink};
pub use library::{by_name, names, standard};

use serde::{Deserialize, Serialize};

/// More than this do not come to their end within the steps that a schedule may have.
const WORKERS_MAX: usize = 256;
const ACTORS_MAX: usize = 64;
const COUNT_MAX: usize = 100_000;

/// As the executor's own configuration has it.
const STEAL_TRIES_MAX: u32 = 64;

/// Gates that a scenario can name. Those who meet wait at the one beyond.
pub const GATES_MAX: usize = 64;

/// Everything about one run but its schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is about.
    pub name: String,
    /// The pool.
    #[serde(default)]
    pub pool: Pool,
    /// What tasks do: a task is the number of its program.
    pub programs: Vec<Vec<Step>>,
    /// What happens outside, on a thread each. The first one owns the pool.
    pub actors: Vec<Vec<Act>>,
    /// How the owner ends the pool when it has done its part.
    #[serde(default)]
    pub end: End,
    /// How many tasks may hold a permit at a time; see [`Act::Spawn`].
    #[serde(default)]
    pub permits: usize,
    /// A task from outside is run before any worker has begun this many others. Only for scenarios in which no worker
    /// runs dry: what was moved to a worker's own queue has no such promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation_bound: Option<u64>,
}

/// The pool's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// How many workers.
    pub workers: usize,
    /// Whether they steal.
    pub stealing: bool,
    /// Rounds of stealing in one search.
    pub steal_tries: u32,
    /// Tasks that one steal takes at most.
    pub steal_batch: usize,
    /// Tasks taken from the injector at a time, at most.
    pub injector_batch: usize,
    /// How often a worker looks again before it parks.
    pub looks: u32,
    /// The park backstop, if there is one.
    pub backstop_ns: Option<u64>,
    /// Whether a panic ends its task alone.
    pub isolate_panics: bool,
    /// The seed of the workers' random numbers.
    pub seed: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            workers: 2,
            stealing: true,
            steal_tries: 1,
            steal_batch: 64,
            injector_batch: 64,
            looks: 0,
            backstop_ns: None,
            isolate_panics: false,
            seed: 1,
        }
    }
}

/// How a task spawns another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Into its worker's own queue, one by one.
    Local,
    /// Into its worker's own queue, all in one call.
    Batch,
    /// Into the injector.
    Global,
    /// So that everything that is queued goes first.
    Yielded,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Computes for a while.
    Run {
        /// For how long.
        ns: u64,
    },
    /// Spawns tasks of a later program.
    Spawn {
        /// Which program.
        program: usize,
        /// How many.
        count: usize,
        /// How.
        how: How,
    },
    /// Spawns itself again, so many times in all.
    Again {
        /// How many times.
        times: u32,
        /// How.
        how: How,
    },
    /// Waits until this many tasks wait here, or the pool is stopped. They need a worker each.
    Meet {
        /// How many.
        parties: usize,
    },
    /// Waits until somebody opens the gate, or the pool is stopped. Holds its worker meanwhile.
    Block {
        /// Which gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// Which gate.
        gate: usize,
    },
    /// Panics.
    Panic,
    /// Panics in the middle of handing over a batch of tasks of a later program.
    PanicInBatch {
        /// Which program.
        program: usize,
        /// After how many.
        after: usize,
    },
    /// The task's value panics when it is dropped, run or not, but for a task that was refused.
    PanicOnDrop,
}

/// What somebody outside of the pool does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// Spawns one task.
    Spawn {
        /// Which program.
        program: usize,
        /// Whether to wait for a permit first, which the task holds until it has ended or is dropped.
        #[serde(default)]
        hold: bool,
    },
    /// Spawns tasks in one call.
    Batch {
        /// Which program.
        program: usize,
        /// How many.
        count: usize,
    },
    /// Does something else for a while.
    Run {
        /// For how long.
        ns: u64,
    },
    /// Sleeps: most drivers let everybody else come to rest first.
    Sleep {
        /// For how long.
        ns: u64,
    },
    /// Waits until somebody opens the gate, or the pool is stopped.
    Block {
        /// Which gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// Which gate.
        gate: usize,
    },
    /// Shuts the pool down.
    Shutdown,
    /// Cancels the pool.
    Cancel,
    /// Is never heard of again: between two calls, not inside one.
    Vanish,
}

/// How the owner ends the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum End {
    /// Runs everything to the end.
    #[default]
    Join,
    /// Closes the pool, waits for a while, then runs everything to the end.
    JoinTimeout {
        /// For how long.
        ns: u64,
    },
    /// Drops it.
    Drop,
    /// Shuts it down, then waits for what runs.
    ShutdownAndJoin,
}

impl Scenario {
    /// Says what is wrong with a scenario that cannot be run.
    ///
    /// # Errors
    /// Names the part, and what is wrong with it.
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
        }
        match self.gates_waited_for().find(|gate| !self.gates_opened().any(|open| open == *gate)) {
            Some(gate) => Err(format!("somebody waits for gate {gate}, and nobody opens it")),
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
                Err(format!("spawns program {program}, which is no later one"))
            }
            Step::Spawn { count, .. } | Step::PanicInBatch { after: count, .. } => {
                check_count(*count)
            }
            Step::Again { times, .. } => check_count(*times as usize),
            Step::Meet { parties } if *parties == 0 || *parties > self.pool.workers => {
                Err(format!("meets {parties}, but there are {} workers", self.pool.workers))
            }
            Step::Block { gate } | Step::Open { gate } => check_gate(*gate),
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
            Act::Block { gate } | Act::Open { gate } => check_gate(*gate),
            _ => Ok(()),
        }
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
        steps.chain(acts)
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
        steps.chain(acts)
    }
}

fn check_gate(gate: usize) -> Result<(), String> {
    if gate < GATES_MAX {
        return Ok(());
    }
    Err(format!("names gate {gate}, but gates are 0 to {}", GATES_MAX - 1))
}

fn check_count(count: usize) -> Result<(), String> {
    if count <= COUNT_MAX {
        return Ok(());
    }
    Err(format!("wants {count}, but at most {COUNT_MAX} are allowed"))
}
