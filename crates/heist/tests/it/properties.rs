//! Random configurations and random programs over the public API, checked against rules and models
//! that are slow and obvious.
//!
//! Whatever is spawned, from any thread, and however the pool ends: each value ends once, is run at
//! most once, and the metrics say which. `PROPTEST_CASES` sets the number of cases. A failure is
//! printed as the smallest program that still shows it. Every pool has a time limit.

use crate::support::{cases, check_all_run, check_finished, watched};
use heist::{
    CancelToken, Executor, ExecutorConfig, ExecutorHandle, OnPanic, SpawnErrorKind, WorkerCtx,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How a task spawns a child.
#[derive(Clone, Copy, Debug)]
enum How {
    Local,
    Batch,
    Global,
    Yielded,
    /// Through a handle, which may refuse the task.
    Handle,
}

/// A task that spawns its children, each in its own way, and then possibly panics.
#[derive(Clone, Debug)]
struct Tree {
    panics: bool,
    value: u32,
    children: Vec<(How, Tree)>,
}

impl Tree {
    fn size(&self) -> usize {
        1 + self.children.iter().map(|(_, child)| child.size()).sum::<usize>()
    }

    fn sum(&self) -> u64 {
        u64::from(self.value) + self.children.iter().map(|(_, child)| child.sum()).sum::<u64>()
    }
}

fn how() -> impl Strategy<Value = How> {
    use How::{Batch, Global, Handle, Local, Yielded};
    prop_oneof![Just(Local), Just(Batch), Just(Global), Just(Yielded), Just(Handle)]
}

/// Generates trees in which `panics` percent of the tasks panic.
fn tree(panics: u32) -> impl Strategy<Value = Tree> {
    let panics = move || (0..100_u32).prop_map(move |percent| percent < panics);
    let leaf = (panics(), any::<u32>());
    leaf.prop_map(|(panics, value)| Tree { panics, value, children: Vec::new() }).prop_recursive(
        5,
        40,
        4,
        move |tree| {
            (panics(), any::<u32>(), vec((how(), tree), 0..4))
                .prop_map(|(panics, value, children)| Tree { panics, value, children })
        },
    )
}

fn config() -> impl Strategy<Value = ExecutorConfig> {
    let knobs = (1..7_usize, any::<u64>(), 1..5_u32, prop_oneof![Just(0), Just(3), Just(200)]);
    let batches = (1..80_usize, 1..80_usize, prop::bool::weighted(0.8), any::<bool>());
    (knobs, batches).prop_map(|((workers, seed, steal_tries, spin_iters), batches)| {
        let (steal_batch, injector_batch, stealing, isolate) = batches;
        ExecutorConfig::new(workers)
            .seed(seed)
            .steal_tries(steal_tries)
            .spin_iters(spin_iters)
            .steal_batch(steal_batch)
            .injector_batch(injector_batch)
            .stealing(stealing)
            .on_panic(if isolate { OnPanic::Isolate } else { OnPanic::StopPool })
    })
}

/// What happened to the values of a program.
#[derive(Default)]
struct Ledger {
    made: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    run: AtomicU64,
    panicked: AtomicU64,
    /// The number of panicking tasks among those that were made, and among those that were refused.
    would_panic: AtomicU64,
    spared: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The task of a program: a tree, and a value that records its end.
struct Task {
    tree: Tree,
    runs: AtomicU32,
    ledger: Arc<Ledger>,
}

impl Task {
    fn new(tree: Tree, ledger: &Arc<Ledger>) -> Self {
        add(&ledger.made, 1);
        add(&ledger.would_panic, usize::from(tree.panics));
        Self { tree, runs: AtomicU32::new(0), ledger: Arc::clone(ledger) }
    }

    fn all(trees: &[Tree], ledger: &Arc<Ledger>) -> Vec<Self> {
        trees.iter().map(|tree| Self::new(tree.clone(), ledger)).collect()
    }

    fn run(self, ctx: &mut WorkerCtx<'_, Self, u64>) {
        add(&self.ledger.run, 1);
        self.runs.fetch_add(1, Ordering::Relaxed);
        *ctx.scratch += 1;
        for (how, child) in &self.tree.children {
            let child = Self::new(child.clone(), &self.ledger);
            match how {
                How::Local => ctx.spawn_local(child),
                How::Batch => ctx.spawn_local_batch([child]),
                How::Global => ctx.spawn_global(child),
                How::Yielded => ctx.spawn_yielded(child),
                How::Handle => send(&ctx.handle(), child),
            }
        }
        if self.tree.panics {
            add(&self.ledger.panicked, 1);
            resume_unwind(Box::new("deliberate panic"));
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        add(&self.ledger.dropped, 1);
        assert!(*self.runs.get_mut() <= 1, "a task was run twice");
    }
}

/// Checks the tasks that a refusal returned, and counts them.
fn came_back(refused: &[Task], trees: &[Tree]) {
    assert_eq!(refused.len(), trees.len(), "all of them or none came back");
    for (task, tree) in refused.iter().zip(trees) {
        assert_eq!(task.tree.value, tree.value, "they came back in order");
        assert_eq!(task.runs.load(Ordering::Relaxed), 0, "a refused task was run");
        add(&task.ledger.refused, 1);
        add(&task.ledger.spared, usize::from(task.tree.panics));
    }
}

fn send(handle: &ExecutorHandle<Task>, task: Task) {
    let tree = task.tree.clone();
    if let Err(error) = handle.spawn(task) {
        came_back(&[error.into_inner()], &[tree]);
    }
}

/// What an outside thread does with a pool.
#[derive(Clone, Debug)]
enum Action {
    Spawn(Tree),
    Batch(Vec<Tree>),
    Drain(Vec<Tree>),
    Sleep(u64),
    Shutdown,
    Cancel,
}

impl Action {
    fn act(&self, handle: &ExecutorHandle<Task>, cancel: &CancelToken, ledger: &Arc<Ledger>) {
        match self {
            Self::Spawn(tree) => send(handle, Task::new(tree.clone(), ledger)),
            Self::Batch(trees) => {
                if let Err(error) = handle.spawn_batch(Task::all(trees, ledger)) {
                    came_back(&error.into_inner(), trees);
                }
            }
            Self::Drain(trees) => {
                let mut tasks = Task::all(trees, ledger);
                match handle.spawn_drain(&mut tasks) {
                    Ok(()) => assert!(tasks.is_empty(), "accepted tasks have been moved out"),
                    Err(_) => came_back(&tasks, trees),
                }
            }
            Self::Sleep(micros) => thread::sleep(Duration::from_micros(*micros)),
            Self::Shutdown => handle.shutdown(),
            Self::Cancel => cancel.cancel(),
        }
    }
}

/// How a pool ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Join,
    JoinTimeout,
    Drop,
}

#[derive(Clone, Debug)]
struct Program {
    config: ExecutorConfig,
    actions: Vec<Action>,
    producers: Vec<Vec<Action>>,
    end: End,
}

fn program() -> impl Strategy<Value = Program> {
    let panics = prop_oneof![2 => Just(0_u32), 1 => Just(5), 1 => Just(40)];
    // Most programs run to completion.
    let stops = prop_oneof![2 => Just(false), 1 => Just(true)];
    (panics, stops).prop_flat_map(|(panics, stops)| {
        let stop = u32::from(stops);
        let action = prop_oneof![
            6 => tree(panics).prop_map(Action::Spawn),
            3 => vec(tree(panics), 0..6).prop_map(Action::Batch),
            3 => vec(tree(panics), 0..6).prop_map(Action::Drain),
            4 => (0..200_u64).prop_map(Action::Sleep),
            stop => Just(Action::Shutdown),
            stop => Just(Action::Cancel),
        ];
        let actions = vec(action, 0..8);
        let end =
            prop_oneof![2 => Just(End::Join), 1 => Just(End::JoinTimeout), stop => Just(End::Drop)];
        (config(), actions.clone(), vec(actions, 0..3), end).prop_map(
            |(config, actions, producers, end)| Program { config, actions, producers, end },
        )
    })
}

impl Program {
    fn does(&self, what: impl Fn(&Action) -> bool) -> bool {
        self.actions.iter().chain(self.producers.iter().flatten()).any(what)
    }

    /// Returns `true` if queued tasks may be dropped for a reason other than a panic.
    fn may_drop(&self) -> bool {
        self.end == End::Drop || self.does(|a| matches!(a, Action::Shutdown | Action::Cancel))
    }

    fn check(&self) {
        // All clones of a configuration share the token, and this program may be tried again.
        let cancel = CancelToken::new();
        let config = self.config.clone().cancel(cancel.clone());
        let ledger = Arc::new(Ledger::default());
        let executor = Executor::new(config, |_worker| 0, Task::run).unwrap();
        let handle = executor.handle();
        let producers: Vec<_> = self
            .producers
            .iter()
            .cloned()
            .map(|actions| {
                let (handle, cancel, ledger) =
                    (handle.clone(), cancel.clone(), Arc::clone(&ledger));
                thread::spawn(move || {
                    actions.iter().for_each(|action| action.act(&handle, &cancel, &ledger));
                })
            })
            .collect();
        self.actions.iter().for_each(|action| action.act(&handle, &cancel, &ledger));
        let ended = catch_unwind(AssertUnwindSafe(|| match self.end {
            End::Join => drop(executor.join()),
            End::JoinTimeout => {
                if let Err(timeout) = executor.join_timeout(Duration::from_micros(50)) {
                    timeout.into_executor().join();
                }
            }
            End::Drop => drop(executor),
        }));
        for producer in producers {
            producer.join().unwrap();
        }
        self.check_end(&handle, &ledger, ended.is_err());
    }

    /// Checks what must be true when everything has ended.
    fn check_end(&self, handle: &ExecutorHandle<Task>, ledger: &Arc<Ledger>, rethrown: bool) {
        let metrics = handle.metrics();
        let accepted = read(&ledger.made) - read(&ledger.refused);
        let panicked = read(&ledger.panicked);
        let aborted = self.config.on_panic == OnPanic::StopPool && panicked > 0;
        assert_eq!(read(&ledger.dropped), read(&ledger.made), "each value ends once");
        check_finished(&metrics, accepted);
        assert_eq!(metrics.tasks_run(), read(&ledger.run));
        assert_eq!(metrics.tasks_dropped, accepted - read(&ledger.run));
        assert_eq!(metrics.panics, panicked);
        assert_eq!(metrics.threads, self.config.threads);
        assert!(metrics.tasks_stolen <= metrics.tasks_moved, "{metrics}");
        assert_eq!(rethrown, aborted && self.end != End::Drop, "join rethrows a fatal panic");
        if !self.may_drop() && !aborted {
            assert_eq!(metrics.tasks_dropped, 0, "nothing stopped the pool: {metrics}");
            assert_eq!(metrics.panics, read(&ledger.would_panic) - read(&ledger.spared));
        }
        let kept = handle.panics();
        assert!(kept.iter().all(|panic| panic.message == "deliberate panic"));
        let expected = if aborted { 1 } else { panicked };
        assert_eq!(kept.len() as u64, expected, "at most 1,000 reports are kept");
        self.check_refusal(handle, ledger, aborted);
    }

    /// Checks that an ended pool accepts nothing, and gives the reason.
    fn check_refusal(&self, handle: &ExecutorHandle<Task>, ledger: &Arc<Ledger>, aborted: bool) {
        assert!(!handle.is_accepting());
        let last = Tree { panics: false, value: 77, children: Vec::new() };
        let error = handle.spawn(Task::new(last.clone(), ledger)).unwrap_err();
        let expected = if aborted {
            SpawnErrorKind::Panicked
        } else if self.does(|action| matches!(action, Action::Cancel)) {
            SpawnErrorKind::Cancelled
        } else if self.may_drop() {
            SpawnErrorKind::ShutDown
        } else {
            SpawnErrorKind::Closed
        };
        assert_eq!(error.kind(), expected);
        came_back(&[error.into_inner()], &[last]);
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn every_task_ends_once_and_is_counted(program in program()) {
        watched(move || program.check());
    }
}

/// Spawns the children of a borrowed tree. (In a run, a handle accepts nothing.)
fn spawn_children<'t, S>(tree: &'t Tree, ctx: &mut WorkerCtx<'_, &'t Tree, S>) {
    for (how, child) in &tree.children {
        match how {
            How::Local | How::Handle => ctx.spawn_local(child),
            How::Batch => ctx.spawn_local_batch([child]),
            How::Global => ctx.spawn_global(child),
            How::Yielded => ctx.spawn_yielded(child),
        }
    }
}

fn tasks_of(roots: &[Tree]) -> usize {
    roots.iter().map(Tree::size).sum()
}

/// Returns the sum of the values of all tasks, computed by a run.
fn run_sum(config: ExecutorConfig, roots: &[Tree]) -> u64 {
    let output = heist::run(
        config,
        roots,
        |_worker| 0,
        |tree: &Tree, ctx| {
            *ctx.scratch += u64::from(tree.value);
            spawn_children(tree, ctx);
        },
    )
    .unwrap();
    assert!(!output.cancelled);
    check_all_run(&output.metrics, tasks_of(roots) as u64);
    output.scratch.iter().sum()
}

/// Returns what a lone worker runs, in order: the value of each task and one of the worker's random
/// numbers.
fn run_order(config: ExecutorConfig, roots: &[Tree]) -> Vec<(u32, u64)> {
    let output = heist::run(
        config,
        roots,
        |_worker| Vec::new(),
        |tree: &Tree, ctx| {
            let random = ctx.rng().next_u64();
            ctx.scratch.push((tree.value, random));
            spawn_children(tree, ctx);
        },
    );
    output.unwrap().scratch.remove(0)
}

/// The obvious model of a lone worker whose tasks spawn only locally: a stack.
fn stack_order(roots: &[Tree]) -> Vec<u32> {
    let mut stack: Vec<&Tree> = roots.iter().rev().collect();
    let mut order = Vec::new();
    while let Some(tree) = stack.pop() {
        order.push(tree.value);
        stack.extend(tree.children.iter().map(|(_, child)| child));
    }
    order
}

/// Makes every spawn a local one.
fn all_local(tree: &mut Tree) {
    for (how, child) in &mut tree.children {
        *how = How::Local;
        all_local(child);
    }
}

/// The queued tasks of a lone worker by number, to check which of them run before a yielded one.
#[derive(Default)]
struct Passing {
    next: usize,
    queued: Vec<usize>,
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_parallel_sum_is_the_serial_one(config in config(), roots in vec(tree(0), 0..20)) {
        watched(move || {
            assert_eq!(run_sum(config, &roots), roots.iter().map(Tree::sum).sum::<u64>());
        });
    }

    #[test]
    fn one_worker_repeats_itself(config in config(), roots in vec(tree(0), 0..20)) {
        watched(move || {
            let config = config.threads(1);
            let first = run_order(config.clone(), &roots);
            assert_eq!(first.len(), tasks_of(&roots));
            assert_eq!(first, run_order(config.clone(), &roots));
            // Settings that concern other workers do not matter either.
            let others = config.spin_iters(7).steal_batch(1).steal_tries(9);
            assert_eq!(first, run_order(others, &roots));
        });
    }

    #[test]
    fn one_worker_with_local_tasks_is_a_stack(
        config in config(), mut roots in vec(tree(0), 0..20),
    ) {
        watched(move || {
            roots.iter_mut().for_each(all_local);
            // So that all roots come in one batch.
            let config = config.threads(1).injector_batch(64).stealing(true);
            let order = run_order(config, &roots);
            let values: Vec<u32> = order.into_iter().map(|(value, _random)| value).collect();
            assert_eq!(values, stack_order(&roots));
        });
    }

    /// A lone worker runs a yielded task only after everything that was queued when it was spawned.
    #[test]
    fn a_yielded_task_runs_after_the_queued_ones(config in config(), roots in vec(tree(0), 1..20)) {
        watched(move || {
            let config = config.threads(1);
            let tasks = tasks_of(&roots);
            // A task consists of a tree, its number, and the numbers of the tasks that must run
            // before it.
            let numbered =
                roots.iter().enumerate().map(|(number, tree)| (tree, number, Vec::new()));
            let start = Passing { next: roots.len(), queued: (0..roots.len()).collect() };
            let start = std::sync::Mutex::new(Some(start));
            let output = heist::run(
                config,
                numbered,
                |_worker| start.lock().unwrap().take().unwrap(),
                |(tree, number, waits_for): (&Tree, usize, Vec<usize>), ctx| {
                    ctx.scratch.queued.retain(|&queued| queued != number);
                    let early = waits_for.iter().any(|other| ctx.scratch.queued.contains(other));
                    assert!(!early, "a yielded task ran before tasks that were queued");
                    for (how, child) in &tree.children {
                        let number = ctx.scratch.next;
                        ctx.scratch.next += 1;
                        match how {
                            How::Local => ctx.spawn_local((child, number, Vec::new())),
                            How::Batch => ctx.spawn_local_batch([(child, number, Vec::new())]),
                            How::Global => ctx.spawn_global((child, number, Vec::new())),
                            How::Yielded | How::Handle => {
                                let waits_for = ctx.scratch.queued.clone();
                                ctx.spawn_yielded((child, number, waits_for));
                            }
                        }
                        ctx.scratch.queued.push(number);
                    }
                },
            );
            check_all_run(&output.unwrap().metrics, tasks as u64);
        });
    }
}
