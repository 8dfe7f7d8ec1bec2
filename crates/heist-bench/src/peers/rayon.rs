//! rayon, in a pool of its own: with `scope` and `spawn`, and with `join`.
//!
//! rayon boxes a spawned closure, and the scope counts it. The two halves of a `join` stay on the
//! worker's stack, and unless another worker steals the second one, both are plain calls. That is
//! rayon's cheapest operation, for problems that divide and wait for their parts.

use ::rayon::{Scope, ThreadPool, ThreadPoolBuilder, join};

use super::{Completed, Peer, Pool};
use crate::clock::Span;
use crate::workload::{Board, Load, Puzzle, SpawnChild, Squares, Task, compute, perform};

/// Spawns every task as a closure into a scope.
pub(crate) struct RayonScope {
    pub(crate) workers: usize,
}

impl Peer for RayonScope {
    fn name(&self) -> &str {
        "rayon scope"
    }

    fn start(&self) -> Box<dyn Pool> {
        Box::new(ScopePool(start(self.workers)))
    }
}

/// Runs a divide-and-conquer task as a function that joins its parts; spawns other tasks as
/// [`RayonScope`] does.
pub(crate) struct RayonJoin {
    pub(crate) workers: usize,
}

impl Peer for RayonJoin {
    fn name(&self) -> &str {
        "rayon join"
    }

    fn start(&self) -> Box<dyn Pool> {
        Box::new(JoinPool(start(self.workers)))
    }
}

fn start(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("the system has threads for the benchmark")
}

struct ScopePool(ThreadPool);

impl Pool for ScopePool {
    fn spawn(&self, task: Task) {
        spawn_detached(&self.0, task);
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let span = Span::of(|| run_in_scope(&self.0, load));
        Completed { span, pool: Some(self) }
    }
}

struct JoinPool(ThreadPool);

impl Pool for JoinPool {
    fn spawn(&self, task: Task) {
        spawn_detached(&self.0, task);
    }

    fn run(self: Box<Self>, load: &Load) -> Completed {
        let span = Span::of(|| match *load {
            Load::Root(Task::Branch { value, levels }) => self.0.install(|| branch(value, levels)),
            Load::Root(Task::Queens { puzzle, board }) => {
                puzzle.report_solutions(self.0.install(|| solutions(puzzle, board)));
            }
            _ => run_in_scope(&self.0, load),
        });
        Completed { span, pool: Some(self) }
    }
}

fn run_in_scope(pool: &ThreadPool, load: &Load) {
    match *load {
        Load::Root(root) => pool.scope(|scope| perform(root, &mut Scoped(scope))),
        // `scope` would move this loop onto a worker; `in_place_scope` keeps it outside the pool.
        Load::Inject { .. } => pool.in_place_scope(|scope| {
            load.feed(|task| Scoped(scope).spawn_child(task));
        }),
    }
}

struct Scoped<'a, 'scope>(&'a Scope<'scope>);

impl SpawnChild for Scoped<'_, '_> {
    #[inline(always)]
    fn spawn_child(&mut self, task: Task) {
        self.0.spawn(move |scope| perform(task, &mut Scoped(scope)));
    }
}

fn spawn_detached(pool: &ThreadPool, task: Task) {
    pool.spawn(move || perform(task, &mut Detached));
}

/// Spawns into the pool of the current worker; no thread waits for the task.
struct Detached;

impl SpawnChild for Detached {
    fn spawn_child(&mut self, task: Task) {
        ::rayon::spawn(move || perform(task, &mut Self));
    }
}

/// Runs [`Task::Branch`].
fn branch(value: u32, levels: u32) {
    compute(value, 1);
    if levels > 0 {
        join(|| branch(2 * value, levels - 1), || branch(2 * value + 1, levels - 1));
    }
}

/// Runs [`Task::Queens`] and returns the number of solutions that begin with this board.
fn solutions(puzzle: &Puzzle, board: Board) -> u64 {
    if board.is_complete(puzzle) {
        1
    } else {
        solutions_on(puzzle, board, board.free_squares(puzzle))
    }
}

/// Returns the number of solutions with a queen on one of these squares of the next row. `join`
/// takes two closures: the first square is one half, all other squares are the other.
fn solutions_on(puzzle: &Puzzle, board: Board, mut squares: Squares) -> u64 {
    let Some(first) = squares.next() else {
        return 0;
    };
    let on_first = || solutions(puzzle, board.with(first));
    if squares.is_empty() {
        return on_first();
    }
    let (on_first, on_others) = join(on_first, || solutions_on(puzzle, board, squares));
    on_first + on_others
}
