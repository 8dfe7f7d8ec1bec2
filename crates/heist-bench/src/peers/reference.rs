//! The classic single-counter executor, on the same deque and with the same task type as heist.

use super::{Completed, Peer, Pool};
use crate::clock::Span;
use crate::reference_executor::{Config, Executor, WorkerContext};
use crate::workload::{Load, SpawnChild, Task, perform};

pub(crate) struct Reference {
    name: String,
    config: Config,
}

impl Reference {
    pub(crate) fn new(workers: usize) -> Self {
        let config = Config { workers, ..Config::default() };
        Self { name: "reference".to_owned(), config }
    }

    /// Creates the peer; a worker wakes another one at every `wake_on_hoard`th local spawn.
    pub(crate) fn waking_every(workers: usize, wake_on_hoard: u32) -> Self {
        let config = Config { workers, wake_on_hoard, ..Config::default() };
        Self { name: format!("reference_{wake_on_hoard}"), config }
    }
}

impl Peer for Reference {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self) -> Box<dyn Pool> {
        Box::new(ReferencePool { executor: Executor::new(self.config, perform) })
    }
}

struct ReferencePool {
    executor: Executor<Task>,
}

impl Pool for ReferencePool {
    fn spawn(&self, task: Task) {
        self.executor.spawn_external(task).expect("open until joined");
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let executor = self.executor;
        let span = Span::of(|| {
            load.feed_batches(
                |task| executor.spawn_external(task).expect("open until joined"),
                |batch| executor.spawn_external_batch(batch).expect("open until joined"),
            );
            executor.join();
        });
        Completed { span, pool: None }
    }
}

impl SpawnChild for WorkerContext<Task> {
    #[inline(always)]
    fn spawn_child(&mut self, task: Task) {
        self.spawn_local(task);
    }
}
