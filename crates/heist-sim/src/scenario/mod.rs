//! A scenario is data: a pool, what its tasks do, and who uses it from outside.

mod generate;
mod library;

pub use generate::{generate, shrink};
pub use library::{by_name, names, standard};

use serde::{Deserialize, Serialize};

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
#[serde(rename_all = "kebab-case")]
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
    /// From now on the task's value panics when it is dropped, run or not.
    PanicOnDrop,
}

/// What somebody outside of the pool does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[serde(rename_all = "kebab-case")]
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
        if self.pool.workers == 0 || self.pool.workers > 1024 {
            return Err(format!("pool.workers must be 1 to 1024, but is {}", self.pool.workers));
        }
        if self.actors.is_empty() {
            return Err("actors must not be empty: the first one owns the pool".to_owned());
        }
        if self.actors[0].contains(&Act::Vanish) {
            return Err("actors[0] owns the pool and must not vanish".to_owned());
        }
        let mut gates_opened = Vec::new();
        let mut gates_waited_for = Vec::new();
        for (number, program) in self.programs.iter().enumerate() {
            for step in program {
                let problem = match step {
                    Step::Spawn { program, .. } | Step::PanicInBatch { program, .. }
                        if *program <= number || *program >= self.programs.len() =>
                    {
                        "spawns a program that does not come after it, or does not exist"
                    }
                    Step::Meet { parties } if *parties == 0 || *parties > self.pool.workers => {
                        "meets more parties than there are workers, or none"
                    }
                    Step::Block { gate } => {
                        gates_waited_for.push(*gate);
                        continue;
                    }
                    Step::Open { gate } => {
                        gates_opened.push(*gate);
                        continue;
                    }
                    _ => continue,
                };
                return Err(format!("programs[{number}] {problem}"));
            }
        }
        for (number, actor) in self.actors.iter().enumerate() {
            for act in actor {
                match act {
                    Act::Spawn { program, .. } | Act::Batch { program, .. }
                        if *program >= self.programs.len() =>
                    {
                        return Err(format!(
                            "actors[{number}] spawns program {program}, which does not exist"
                        ));
                    }
                    Act::Spawn { hold: true, .. } if self.permits == 0 => {
                        return Err(format!("actors[{number}] wants a permit, but permits is 0"));
                    }
                    Act::Block { gate } => gates_waited_for.push(*gate),
                    Act::Open { gate } => gates_opened.push(*gate),
                    _ => {}
                }
            }
        }
        match gates_waited_for.iter().find(|gate| !gates_opened.contains(gate)) {
            Some(gate) => Err(format!("somebody waits for gate {gate}, and nobody opens it")),
            None => Ok(()),
        }
    }

    /// Whether a task may be dropped unrun: somebody stops the pool, or may.
    pub fn may_stop(&self) -> bool {
        let acts = self.actors.iter().flatten();
        let stopped = acts.into_iter().any(|act| matches!(act, Act::Shutdown | Act::Cancel));
        stopped || !matches!(self.end, End::Join | End::JoinTimeout { .. })
    }
}
