//! tokio's multi-thread runtime without I/O and timers: `spawn`, and awaiting the `JoinHandle`s.

use ::tokio::runtime::{Builder, Runtime};
use ::tokio::task::JoinHandle;

use super::{Completed, Peer, Pool};
use crate::clock::Span;
use crate::workload::{Load, SpawnChild, Task, perform};

pub(crate) struct Tokio {
    pub(crate) workers: usize,
}

impl Peer for Tokio {
    fn name(&self) -> &str {
        "tokio"
    }

    fn start(&self) -> Box<dyn Pool> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(self.workers)
            .build()
            .expect("the system has threads for the benchmark");
        Box::new(TokioPool { runtime })
    }
}

struct TokioPool {
    runtime: Runtime,
}

impl Pool for TokioPool {
    fn spawn(&self, task: Task) {
        self.runtime.spawn(perform_and_await_children(task));
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let span = Span::of(|| {
            let mut handles = Vec::new();
            load.feed(|task| handles.push(self.runtime.spawn(perform_and_await_children(task))));
            self.runtime.block_on(await_all(handles));
        });
        Completed { span, pool: Some(self) }
    }
}

/// Runs a task; the future completes when the task's children have completed.
///
/// The return type spells out `Send` because the future spawns futures of its own type, and the
/// compiler cannot infer `Send` through that cycle.
#[expect(clippy::manual_async_fn, reason = "an async fn cannot name `Send`, see above")]
fn perform_and_await_children(task: Task) -> impl Future<Output = ()> + Send {
    async move {
        // Does not allocate as long as there are no children.
        let mut children = Children(Vec::new());
        perform(task, &mut children);
        await_all(children.0).await;
    }
}

async fn await_all(handles: Vec<JoinHandle<()>>) {
    for handle in handles {
        handle.await.expect("the tasks neither panic nor are cancelled");
    }
}

struct Children(Vec<JoinHandle<()>>);

impl SpawnChild for Children {
    #[inline(always)]
    fn spawn_child(&mut self, task: Task) {
        self.0.push(::tokio::spawn(perform_and_await_children(task)));
    }
}
