//! heist with its default configuration.

use ::heist::{Executor, ExecutorConfig, WorkerCtx};

use super::{Completed, Peer, Pool};
use crate::clock::Span;
use crate::workload::{Load, SpawnChild, Task, perform};

pub(crate) struct Heist {
    pub(crate) workers: usize,
}

impl Peer for Heist {
    fn name(&self) -> &str {
        "heist"
    }

    fn start(&self) -> Box<dyn Pool> {
        let config = ExecutorConfig::new(self.workers);
        let executor = Executor::new(config, |_worker| (), |task, ctx| perform(task, ctx))
            .expect("a valid configuration, and the system has threads for the benchmark");
        Box::new(HeistPool { executor })
    }
}

struct HeistPool {
    executor: Executor<Task>,
}

impl Pool for HeistPool {
    fn spawn(&self, task: Task) {
        self.executor.spawn(task).expect("open until joined");
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let executor = self.executor;
        let span = Span::of(|| {
            load.feed_batches(
                |task| executor.spawn(task).expect("open until joined"),
                |batch| executor.spawn_batch(batch).expect("open until joined"),
            );
            executor.join();
        });
        Completed { span, pool: None }
    }
}

impl SpawnChild for WorkerCtx<'_, Task, ()> {
    #[inline(always)]
    fn spawn_child(&mut self, task: Task) {
        self.spawn_local(task);
    }

    fn spawn_children(&mut self, tasks: impl ExactSizeIterator<Item = Task>) {
        self.spawn_local_batch(tasks);
    }
}
