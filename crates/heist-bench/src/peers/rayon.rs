//! rayon: a pool of its own, `scope` and `spawn`.

use ::rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use super::{Completed, Peer, Pool};
use crate::clock::Span;
use crate::workload::{Load, SpawnChild, Task, perform};

pub(crate) struct Rayon {
    pub(crate) workers: usize,
}

impl Peer for Rayon {
    fn name(&self) -> &str {
        "rayon"
    }

    fn start(&self) -> Box<dyn Pool> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.workers)
            .build()
            .expect("the system has threads for the benchmark");
        Box::new(RayonPool { pool })
    }
}

struct RayonPool {
    pool: ThreadPool,
}

impl Pool for RayonPool {
    fn spawn(&self, task: Task) {
        self.pool.spawn(move || perform(task, &mut Detached));
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let span = Span::of(|| match *load {
            Load::Root(root) => self.pool.scope(|scope| perform(root, &mut Scoped(scope))),
            // `scope` would move this loop onto a worker; in place, it stays outside the pool.
            Load::Inject { .. } => self.pool.in_place_scope(|scope| {
                load.feed(|task| Scoped(scope).spawn_child(task));
            }),
        });
        Completed { span, pool: Some(self) }
    }
}

struct Scoped<'a, 'scope>(&'a Scope<'scope>);

impl SpawnChild for Scoped<'_, '_> {
    #[inline(always)]
    fn spawn_child(&mut self, task: Task) {
        self.0.spawn(move |scope| perform(task, &mut Scoped(scope)));
    }
}

/// Spawns into the pool of the current worker, with nobody to wait.
struct Detached;

impl SpawnChild for Detached {
    fn spawn_child(&mut self, task: Task) {
        ::rayon::spawn(move || perform(task, &mut Self));
    }
}
